"""What a pipeline has written: recorded, and answered once it is judged; for the API and the command alike."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from assay.catalog.selectors import home
from assay.catalog.services import UnableToComplete, record_completion
from assay.edge.control_characters import name_fault
from assay.models import DataChange, Dataset
from assay.time.windows import Window
from execution_engine.models import Run, RunReason

from .rules import GateAnswer
from .services import ToRead, gate_of

MOST_OUTPUTS = 50  # of one completion
MOST_REASONS = 10  # of what is not judged yet, as one answer lists them
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
    if not pipeline or len(pipeline) > LONGEST_NAME:
        raise UnableToName(f"A pipeline's name has 1 to {LONGEST_NAME} characters.")
    if fault := name_fault(pipeline):
        raise UnableToName(f"The pipeline cannot be named so: {fault}.")
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


def unjudged(changes: Iterable[DataChange], *, now: datetime) -> list[str]:
    """What the completions wait for: a sentence for each window and test that is to be judged; empty: all is judged."""
    return [reason for change in changes for reason in _unjudged(change, now)]


def answer_on(changes: Iterable[DataChange], *, pipeline: str, now: datetime) -> GateAnswer:
    """The gate's answer on what was completed."""
    to_read = [ToRead(dataset=each.dataset, window=each.window, datacenter=each.datacenter) for each in changes]
    return gate_of(to_read, pipeline=pipeline, now=now)


def _unjudged(change: DataChange, now: datetime) -> Iterator[str]:
    if DataChange.objects.filter(pk=change.pk, followed_at=None).exists():
        yield f"{change.dataset.full_name} {change.window.text}: no worker has asked for its tests yet"
        return
    left = Run.objects.filter(  # also those that were requested before it: one that waits serves it too
        data_test__dataset=change.dataset,
        window_start__lt=change.window_end,
        window_end__gt=change.window_start,
        reason__in=(RunReason.TRIGGER, RunReason.REVISION),  # by another revision where the test changed meanwhile
        judged_at=None,
        due_at__lte=now,
    )
    for run in left.select_related("data_test").order_by("pk"):
        yield f"{change.dataset.full_name}/{run.data_test.name} {run.window.text}: {_stage(run)}"


def _stage(run: Run) -> str:
    """What a run that is not judged waits for."""
    if run.planned_at is None:
        return "no worker has planned its run yet"
    if run.ready_at is None:
        return f"its data in {run.data_test.datacenter} is not read yet"
    return "its result is in, and not judged yet"
