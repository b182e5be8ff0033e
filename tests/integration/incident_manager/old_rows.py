"""Windows of long ago, and what is known of them."""

from typing import Any

from assay.models import Dataset, DataTest
from assay.time.windows import Window
from execution_engine.models import Ask, Measurement, Run
from tests.factories import HOUR, RunFactory, StandingFactory, day

OLD, YOUNG = day("2026-01-10"), day("2026-03-08")


def judged(custom: DataTest, window: Window, *, state: str = "PASS", **more: Any) -> Run:
    """A run of a window that was measured, with its standing."""
    run: Run = RunFactory.create(data_test=custom, window=window, **more)
    measured(custom.dataset, window, run=run)
    StandingFactory.create(data_test=custom, window=window, state=state, last_run=run, last_outcome=run.outcome)
    return run


def measured(
    dataset: Dataset, window: Window, *, run: Run | None = None, metric: str = "max", **more: Any
) -> Measurement:
    """A measurement of one window, that a run asked for."""
    at = window.end + 6 * HOUR
    row = Measurement.objects.create(
        dataset=dataset,
        datacenter="sea",
        window_start=window.start,
        window_end=window.end,
        spec={"name": metric},
        spec_hash=metric,
        spec_text=f"{metric}(fare)",
        **{"requested_at": at, "measured_at": at, "value": 1.0, "fingerprint": "f", **more},
    )
    if run is not None:
        Ask.objects.create(run=run, measurement=row, operand=f"{metric}(fare)")
    return row
