"""Waivers: which of the rows covers a result, which windows a new one has judged again, and when one has served."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db.models import Q

from alerting.models import Flip, Standing, Waiver
from alerting.standings.judge_runs import end_waivers, judge_what_waivers_reach, refold_troubled, waive
from alerting.standings.refold import end_held_waivers, waiver_of, waiver_over
from alerting.state import State, WaiverKind, WaiverScope
from alerting.verdicts.evidence import RunEvidence, evidence_of
from alerting.verdicts.sustain import Verdict
from assay.models import Category, DataTest, Revision
from assay.models import Scope as Reach
from assay.time.windows import Window
from execution_engine.outcome import Outcome
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, RunFactory, StandingFactory, day
from tests.integration import rows

pytestmark = pytest.mark.django_db

SUNDAY, MONDAY, TUESDAY = day("2026-03-08"), day("2026-03-09"), day("2026-03-10")
SECOND = timedelta(seconds=1)
NOTHING = RunEvidence(runs=(), results=())


@pytest.fixture
def test() -> DataTest:
    """A test of each partition."""
    row: DataTest = DataTestFactory.create()
    return row


waiver = partial(rows.waiver, kind=WaiverKind.ACCEPTED, excess=5.0)  # at noon


def reaching(test: DataTest, window: Window = SUNDAY, **more: Any) -> Waiver:
    """What was forced on Sunday and later, for two days."""
    return waiver(test, window, **{"kind": WaiverKind.FORCED, "ends_at": NOW + 2 * DAY, **more})


def revised(test: DataTest) -> Revision:
    """Another revision of a test, which stays at its own."""
    return Revision.objects.create(
        data_test=test, number=2, assertion="a", tree={}, severity="hard", schedule="partition", sustain=HOUR,
        catch_up="all", created_at=NOW,
    )  # fmt: skip


def covers(test: DataTest, *, excess: float | None = 5.0, **more: Any) -> Waiver | None:
    standing = StandingFactory.build(data_test=test)
    return waiver_over(standing, test, **{"measured_at": NOW + HOUR, "excess": excess, **more})


def test_a_windows_own_waiver_covers_what_is_no_worse(test: DataTest) -> None:
    own = waiver(test)
    assert covers(test) == own
    assert covers(test, excess=5.1) is None
    assert covers(test, held_at=NOW) == own
    assert covers(test, held_at=NOW + SECOND) is None


def test_what_was_forced_is_covered_however_bad_it_gets_and_so_is_what_is_late(test: DataTest) -> None:
    assert covers(test) is None
    assert covers(test, excess=9.0) != (own := waiver(test, kind=WaiverKind.FORCED))
    assert covers(test, excess=9.0) == own
    late = DataTestFactory.create(category=Category.FRESHNESS)
    of_late = waiver(late)
    assert covers(late, excess=9.0) == of_late


def test_no_waiver_of_another_test_revision_or_window_covers_it(test: DataTest) -> None:
    waiver(DataTestFactory.create(dataset=test.dataset))
    waiver(test, revision=revised(test))
    waiver(test, SUNDAY)
    waiver(test, Window(start=MONDAY.start, end=MONDAY.end + SECOND))
    waiver(test, Window(start=MONDAY.start - SECOND, end=MONDAY.end))
    assert covers(test) is None


def test_a_waiver_that_reaches_on_covers_later_windows_until_its_end(test: DataTest) -> None:
    reaching(test, TUESDAY)
    found = reaching(test)
    assert covers(test) == found
    assert covers(test, excess=5.1) is None
    assert covers(test, measured_at=NOW + 2 * DAY - SECOND) == found
    assert covers(test, measured_at=NOW + 2 * DAY) is None
    found.delete()
    waiver(test, SUNDAY, kind=WaiverKind.FORCED)
    assert covers(test) is None


def test_a_windows_own_waiver_comes_before_those_that_reach_on_and_the_oldest_before_the_others(test: DataTest) -> None:
    first = reaching(test)
    reaching(test)
    assert covers(test) == first
    own = waiver(test)
    waiver(test)
    assert covers(test) == own


def test_the_waiver_of_a_whole_table_covers_whatever_window_it_has_moved_to() -> None:
    table = DataTestFactory.create(scope=Reach.TABLE)
    assert covers(table) is None
    assert covers(table) != (found := waiver(table, SUNDAY))
    assert covers(table) == found
    assert covers(table, excess=5.1) is None


@pytest.mark.parametrize(
    ("verdict", "is_covered"),
    [
        ({"outcome": Outcome.BROKEN, "measured_at": NOW, "excess": 5.0}, True),
        ({"outcome": Outcome.BROKEN, "measured_at": NOW, "excess": 6.0}, False),
        ({"outcome": Outcome.BROKEN, "excess": 5.0}, False),
        ({"outcome": Outcome.HELD, "measured_at": NOW, "excess": 5.0}, False),
        ({"measured_at": NOW, "excess": 5.0}, False),
    ],
)
def test_only_what_broke_needs_a_waiver(test: DataTest, verdict: dict[str, Any], is_covered: bool) -> None:
    own = waiver(test)
    standing = StandingFactory.build(data_test=test)
    found = waiver_of(standing, test, Verdict(state=State.WARN, **verdict), NOTHING)
    assert found == (own if is_covered else None)


def test_a_window_that_has_held_since_its_waiver_needs_a_new_one(test: DataTest) -> None:
    waiver(test)
    RunFactory.create(data_test=test, measured_at=NOW + SECOND)
    standing = StandingFactory.build(data_test=test)
    verdict = Verdict(state=State.WARN, outcome=Outcome.BROKEN, measured_at=NOW + HOUR, excess=5.0)
    assert waiver_of(standing, test, verdict, evidence_of(test, MONDAY)) is None
    assert waiver_of(standing, test, verdict, NOTHING) is not None


@pytest.mark.parametrize(
    ("of_standing", "more", "outcome", "ended_at"),
    [
        (True, {}, Outcome.HELD, NOW + HOUR),
        (True, {"starts_at": NOW + SECOND}, Outcome.HELD, None),
        (True, {"ends_at": NOW + DAY}, Outcome.HELD, None),
        (True, {}, Outcome.BROKEN, None),
        (True, {}, None, None),
        (False, {}, Outcome.HELD, None),
    ],
)
def test_a_windows_own_waiver_has_served_once_the_window_has_held_after_it(
    test: DataTest, of_standing: bool, more: dict[str, Any], outcome: Outcome | None, ended_at: datetime | None
) -> None:
    RunFactory.create(data_test=test, measured_at=NOW + SECOND)
    own, other = waiver(test, **more), waiver(test)
    standing = StandingFactory.create(data_test=test, waiver=own if of_standing else None)
    verdict = Verdict(state=State.PASS, outcome=outcome, measured_at=NOW + HOUR)
    end_held_waivers(test, standing, verdict, evidence_of(test, MONDAY))
    own.refresh_from_db()
    other.refresh_from_db()
    assert (own.ended_at, other.ended_at) == (ended_at, None)


def test_a_new_revision_ends_all_waivers_of_older_ones_that_have_not_ended(test: DataTest) -> None:
    older, newer = test.revision, revised(test)
    rows = {
        "older": waiver(test, revision=older),
        "newest": waiver(test, revision=newer),
        "ended": waiver(test, revision=older, ended_at=NOW - DAY),
        "other test": waiver(DataTestFactory.create(dataset=test.dataset)),
    }
    test.revision = newer
    end_waivers(test, now=NOW + HOUR)
    ended = {name: Waiver.objects.get(pk=row.pk).ended_at for name, row in rows.items()}
    assert ended == {"older": NOW + HOUR, "newest": None, "ended": NOW - DAY, "other test": None}


def stands(test: DataTest, state: str = "FAIL", **more: Any) -> Standing:
    """A standing without any run: judged again it is UNKNOWN."""
    row: Standing = StandingFactory.create(data_test=test, state=state, **more)
    return row


def judged_again(rows: dict[str, Standing]) -> set[str]:
    """Those of the standings that were."""
    return {name for name, row in rows.items() if Standing.objects.get(pk=row.pk).state == "UNKNOWN"}


def test_what_is_in_trouble_or_waived_is_judged_again_and_nothing_else(test: DataTest) -> None:
    windows = iter(day(f"2026-02-{n:02d}") for n in range(1, 9))
    rows = {
        "failed": stands(test, "FAIL", window=next(windows)),
        "warned": stands(test, "WARN", window=next(windows)),
        "waived": stands(test, "PASS", window=next(windows), waiver=waiver(test)),
        "sound": stands(test, "PASS", window=next(windows)),
        "pending": stands(test, "PENDING", window=next(windows)),
        "other test": stands(DataTestFactory.create(dataset=test.dataset), window=next(windows)),
    }
    refold_troubled(test, NOW, Q(state="WARN"))
    assert judged_again(rows) == {"warned"}
    refold_troubled(test, NOW)
    assert judged_again(rows) == {"warned", "failed", "waived"}
    (flip,) = Flip.objects.filter(old="FAIL")
    assert (flip.new, flip.at) == ("UNKNOWN", NOW)


def test_a_waiver_is_written_of_each_window_as_bad_as_it_is_and_the_window_is_judged_anew(test: DataTest) -> None:
    run = RunFactory.create(data_test=test, outcome="broken", excess=7.0, measured_at=NOW - DAY)
    RunFactory.create(data_test=test, window=SUNDAY, outcome="broken", excess=8.0, measured_at=NOW - DAY)
    rows = [stands(test, excess=7.0, last_run=run), stands(test, excess=8.0, window=SUNDAY)]
    beside = stands(test, window=TUESDAY)
    unrevised = stands(DataTestFactory.create())
    unrevised.data_test.revision = None
    made = waive(
        [*rows, unrevised], kind=WaiverKind.FORCED, scope=WaiverScope.TEST, reason="twins", author="grace", now=NOW
    )
    written = list(Waiver.objects.order_by("pk"))
    assert len(made) == len(written) == 2
    assert [(row.data_test, row.revision, row.window, row.excess) for row in written] == [
        (test, test.revision, MONDAY, 7.0),
        (test, test.revision, SUNDAY, 8.0),
    ]
    said = {(row.kind, row.reason, row.author, row.starts_at, row.ends_at, row.ended_at) for row in written}
    assert said == {("forced", "twins", "grace", NOW, NOW + 14 * DAY, None)}
    assert {(flip.window_start, flip.waived, flip.at) for flip in Flip.objects.all()} == {
        (MONDAY.start, True, NOW),
        (SUNDAY.start, True, NOW),
    }
    assert judged_again({"beside": beside, "unrevised": unrevised}) == set()


@pytest.mark.parametrize(("tier", "lasts"), [(1, 3 * DAY), (2, 14 * DAY)])
def test_a_waiver_that_reaches_on_ends_sooner_on_critical_tiers_and_one_of_a_window_never(
    tier: int, lasts: timedelta
) -> None:
    row = stands(DataTestFactory.create(dataset=DatasetFactory.create(tier=tier)))
    for scope, ends_at in ((WaiverScope.TEST, NOW + lasts), (WaiverScope.WINDOW, None)):
        (made,) = waive([row], kind=WaiverKind.FORCED, scope=scope, reason="twins", author="ada", now=NOW)
        assert made.ends_at == ends_at


@pytest.mark.parametrize(
    ("scope", "reached"),
    [(WaiverScope.TEST, {"own", "table", "waived table"}), (WaiverScope.WINDOW, {"table", "waived table"})],
)
def test_a_waiver_has_other_windows_and_the_whole_tables_beside_it_judged_again(
    test: DataTest, scope: WaiverScope, reached: set[str]
) -> None:
    trips = test.dataset
    table, waived, retired, other_kind = (
        DataTestFactory.create(**{"dataset": trips, "category": test.category, "scope": Reach.TABLE, **more})
        for more in ({}, {}, {"retired_at": NOW}, {"category": Category.DUPLICATES})
    )
    rows = {
        "own": stands(test),
        "waived": stands(test, window=SUNDAY, waiver=waiver(test)),
        "table": stands(table),
        "waived table": stands(waived, waiver=waiver(waived)),
        "retired table": stands(retired),
        "table of another kind": stands(other_kind),
        "other table": stands(DataTestFactory.create(scope=Reach.TABLE, category=test.category)),
        "beside": stands(DataTestFactory.create(dataset=trips)),
    }
    unrevised = DataTestFactory.create(category=Category.DUPLICATES, dataset=trips)
    unrevised.revision = None
    judge_what_waivers_reach([test, unrevised], scope=scope, now=NOW)
    assert judged_again(rows) == reached


def test_a_whole_table_is_judged_again_as_a_whole_table_only(test: DataTest) -> None:
    table = DataTestFactory.create(scope=Reach.TABLE)
    row = stands(table)
    judge_what_waivers_reach([table], scope=WaiverScope.TEST, now=NOW)
    assert judged_again({"table": row}) == {"table"}
    assert Flip.objects.count() == 1
