"""The results on one day of a dataset: every run of its tests over it, the newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.text import capfirst
from django.utils.translation import gettext

from assay.models import Dataset
from assay.time.windows import UnableToPartition
from execution_engine.models import Run, RunReason
from execution_engine.runs.shown_results import HIDDEN, Veil
from web.shown.status import ShownStatus
from web.shown.words import plain

from .day_grid import column_of

MOST_RUNS = 100
LOOKS = {"held": ShownStatus.PASS, "broken": ShownStatus.FAIL, "error": ShownStatus.UNKNOWN, "": ShownStatus.PENDING}


@dataclass(frozen=True, kw_only=True)
class ShownRun:
    """One run, as it may be shown now."""

    run: Run
    status: ShownStatus
    word: str
    value: float | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class DayResults:
    """The runs over one day, of one category or of all."""

    label: str
    category: str
    runs: Sequence[ShownRun]
    has_more: bool


def day_results(dataset: Dataset, label: str, category: str, veil: Veil, *, now: datetime) -> DayResults | None:
    """Of the partition (the day, where partitions are hours) with this key; None where there can be none."""
    try:
        column = column_of(dataset.partitioning, label)
    except UnableToPartition:
        return None
    if column is None:
        return None
    runs = Run.objects.filter(
        data_test__dataset=dataset,
        data_test__scope="partition",
        window_start__lt=column.end,
        window_end__gt=column.start,
        requested_at__lte=now,
    ).exclude(reason=RunReason.BACKTEST)
    if category:
        runs = runs.filter(data_test__category=category)
    joined = runs.select_related("revision", "data_test__dataset").order_by("-requested_at", "-pk")
    found = list(joined[: MOST_RUNS + 1])
    return DayResults(
        label=label,
        category=category,
        runs=[_shown(run, veil) for run in found[:MOST_RUNS]],
        has_more=len(found) > MOST_RUNS,
    )


def _shown(run: Run, veil: Veil) -> ShownRun:
    is_hidden = veil.hides_run(run)
    return ShownRun(
        run=run,
        status=LOOKS[run.outcome],
        word=capfirst(plain(run.outcome)) if run.outcome else gettext("Under way"),
        value=None if is_hidden else run.value,
        sentence=HIDDEN if is_hidden else run.sentence,
    )
