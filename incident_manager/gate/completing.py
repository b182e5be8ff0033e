"""What a pipeline has written: recorded, and answered once it is judged; for the API and the command alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from assay.catalog.selectors import home
from assay.catalog.services import UnableToComplete, record_completion
from assay.models import DataChange, Dataset
from assay.time.windows import Window
from execution_engine.models import Run, RunReason

from .rules import GateAnswer
from .services import ToRead, gate_of

MOST_OUTPUTS = 50  # of one completion
LONGEST_NAME = 200  # characters, of a pipeline


class UnableToName(UnableToComplete):
    """A pipeline whose name cannot be kept."""


@dataclass(frozen=True, kw_only=True)
class WrittenWindow:
    """A window that a pipeline has written, in a datacenter or at home; ``rows`` and ``mode`` as it tells them."""

    dataset: Dataset
    window: Window
    datacenter: str = ""
    rows: int | None = None
    mode: str = ""


@transaction.atomic
def complete(pipeline: str, written: Sequence[WrittenWindow], *, run: str = "", now: datetime) -> list[DataChange]:
    """All that a pipeline has written, recorded together; raises UnableToComplete. Its live tests are triggered."""
    if not pipeline or len(pipeline) > LONGEST_NAME or "\0" in pipeline:
        raise UnableToName(f"A pipeline's name has 1 to {LONGEST_NAME} characters, and no NUL.")
    if len(written) > MOST_OUTPUTS:
        raise UnableToComplete(f"One completion has at most {MOST_OUTPUTS} outputs: tell of them in parts.")
    return [
        record_completion(
            dataset=each.dataset,
            datacenter=each.datacenter or home(each.dataset).datacenter,
            window=each.window,
            pipeline=pipeline,
            run=run,
            rows=each.rows,
            mode=each.mode,
            now=now,
        )
        for each in written
    ]


def are_judged(changes: Iterable[DataChange]) -> bool:
    """Whether every run that the completions trigger was judged."""
    return all(_is_judged(change) for change in changes)


def answer_on(changes: Iterable[DataChange], *, pipeline: str, now: datetime) -> GateAnswer:
    """The gate's answer on what was completed."""
    to_read = [ToRead(dataset=each.dataset, window=each.window, datacenter=each.datacenter) for each in changes]
    return gate_of(to_read, pipeline=pipeline, now=now)


def _is_judged(change: DataChange) -> bool:
    if DataChange.objects.filter(pk=change.pk, followed_at=None).exists():
        return False
    left = Run.objects.filter(  # also those that were requested before it: one that waits serves it too
        data_test__dataset=change.dataset,
        window_start__lt=change.window_end,
        window_end__gt=change.window_start,
        reason=RunReason.TRIGGER,
        judged_at=None,
    )
    return not left.exists()
