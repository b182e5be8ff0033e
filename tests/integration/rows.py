"""Rows that tests of several places write: what a user waived, and what a run has measured."""

from typing import Any

from django.db.models import Model

from alerting.models import Waiver
from alerting.state import WaiverKind
from assay.models import Dataset, DataTest
from assay.time.windows import Window
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Ask, Measurement, Run
from execution_engine.planning.planner import hash_of
from tests.factories import NOW, day

MONDAY = day("2026-03-09")
ROWS = MetricSpec(name="row_count")


def waiver(test: DataTest, window: Window = MONDAY, **more: Any) -> Waiver:
    """What was forced at noon."""
    words = {"kind": WaiverKind.FORCED, "reason": "twins", "author": "ada", "starts_at": NOW, **more}
    reach = {"window_start": window.start, "window_end": window.end}
    return Waiver.objects.create(**{"data_test": test, "revision": test.revision, **reach, **words})


def measurement(
    dataset: Dataset, window: Window, *, spec: MetricSpec = ROWS, run: Run | None = None, **more: Any
) -> Measurement:
    """What is measured of a window, and which run asked for it."""
    metric = {"spec": spec.to_json(), "spec_hash": hash_of(spec), "spec_text": spec.text, "requested_at": NOW}
    place = {"datacenter": "sea", "window_start": window.start, "window_end": window.end}
    row = Measurement.objects.create(dataset=dataset, **{**metric, **place, **more})
    if run:
        Ask.objects.create(run=run, measurement=row, operand=spec.text)
    return row


def columns(row: Model, *names: str) -> tuple[Any, ...]:
    """What the database has in these columns of a row."""
    (values,) = type(row)._default_manager.filter(pk=row.pk).values_list(*names)
    return tuple(values)
