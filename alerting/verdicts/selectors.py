"""The verdict of a standing by all that is stored of its window, and the place that its data is in."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from alerting.models import Standing
from assay.models import Category, DataTest, Scope
from execution_engine.models import Run, RunReason
from execution_engine.selectors import period

from .evidence import Evidence, due_at, evidence_of
from .streak import with_streak
from .sustain import Verdict, fold, unknown_after


def verdict_of(standing: Standing, test: DataTest, found: Evidence, now: datetime) -> Verdict:
    """The fold of the evidence at ``now``, with what its streak adds."""
    assert test.revision is not None
    sustain = test.revision.sustain
    whole = test.scope == Scope.TABLE
    folded = fold(
        found.results,
        due_at=due_at(test, standing.window, found.runs) or standing.due_at,
        sustain=sustain,
        now=now,
        unknown_after=unknown_after(period=period(test), sustain=sustain),
        settles=test.category == Category.FRESHNESS and len(found.results) > 1 and _completeness_is_tested(test),
        last_due_at=found.last_due_at if whole else None,
    )
    return folded if whole else with_streak(folded, standing.streak_at)


def verdict(standing: Standing, test: DataTest, now: datetime) -> Verdict:
    """What all results of the newest revision say of a standing at ``now``."""
    return verdict_of(standing, test, evidence_of(test, standing.window), now)


def _completeness_is_tested(test: DataTest) -> bool:
    return DataTest.objects.filter(
        dataset=test.dataset_id, category=Category.COMPLETENESS, scope=Scope.PARTITION, retired_at__isnull=True
    ).exists()


def of_the_past(standings: Sequence[Standing]) -> set[int]:
    """The standings, by id, that only a back-fill has asked about: no schedule has come to their windows."""
    runs = Run.objects.filter(
        data_test__in={row.data_test_id for row in standings},
        window_start__in={row.window_start for row in standings},
        reason__in=(RunReason.SCHEDULE, RunReason.BACKFILL),
    )
    reasons: dict[tuple[int, datetime, datetime], set[str]] = defaultdict(set)
    for test, start, end, reason in runs.values_list("data_test_id", "window_start", "window_end", "reason").distinct():
        reasons[test, start, end].add(reason)
    return {
        row.pk
        for row in standings
        if reasons[row.data_test_id, row.window_start, row.window_end] == {RunReason.BACKFILL.value}
    }


def spoilt_place(test: DataTest, home: str) -> str:
    """Where data is spoilt when the test breaks; empty for what home's tests find, as every datacenter shares it."""
    return place_of(test.datacenter, test.spoils, home)


def place_of(runs_in: str, spoils: str, home: str) -> str:
    """``spoilt_place`` of a test that runs in one datacenter and finds what is missing in another."""
    return spoils or ("" if runs_in == home else runs_in)
