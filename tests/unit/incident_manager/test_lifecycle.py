"""How incidents open, heal and end."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.state import State
from alerting.verdicts.sustain import Verdict
from incident_manager.incidents.lifecycle import How, healing, reopens, resolution

NOW = datetime(2024, 3, 5, 6, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("how", "ago", "reopened"),
    [
        (None, DAY / 2, False),
        (How.AUTO, DAY, True),
        (How.AUTO, -DAY, True),
        (How.AUTO, DAY + timedelta(seconds=1), False),
        (How.FORCED, DAY / 2, False),
        (How.ACCEPTED, DAY / 2, False),
        (How.REDEFINED, DAY / 2, False),
    ],
)
def test_a_failure_soon_after_an_auto_resolve_reopens(how: How | None, ago: timedelta, reopened: bool) -> None:
    assert reopens(how, ended_at=NOW - ago, failed_at=NOW, period=DAY) is reopened


HEALINGS: dict[str, tuple[State, bool, bool, bool, How | None]] = {
    "a failure does not heal": (State.FAIL, True, True, False, None),
    "it holds again": (State.PASS, True, True, False, How.AUTO),
    "it held and broke again": (State.WARN, True, True, False, How.AUTO),
    "late results leave no failure": (State.WARN, True, False, False, How.WITHDRAWN),
    "late results leave no failure and hold": (State.PASS, True, False, False, How.WITHDRAWN),
    "it holds only by the new revision": (State.PASS, False, False, True, How.REDEFINED),
    "the new revision saw it broken and repaired": (State.PASS, True, True, True, How.AUTO),
    "the new revision has not judged it": (State.PENDING, False, False, True, None),
    "the new revision finds it broken": (State.WARN, True, False, True, None),
    "the new revision cannot tell": (State.UNKNOWN, False, False, True, None),
}


@pytest.mark.parametrize(
    ("state", "ever_broken", "ever_failed", "new_revision", "how"), HEALINGS.values(), ids=HEALINGS
)
def test_a_spoilt_window_heals_by_its_own_test(
    state: State, ever_broken: bool, ever_failed: bool, new_revision: bool, how: How | None
) -> None:
    verdict = Verdict(state=state, ever_broken=ever_broken, ever_failed=ever_failed)
    assert healing(verdict, new_revision=new_revision) is how


def test_what_holds_by_the_older_revision_too_is_repaired_and_not_redefined() -> None:
    assert healing(Verdict(state=State.PASS), new_revision=True, repaired=True) is How.AUTO


@pytest.mark.parametrize(
    ("hows", "how"),
    [
        ([], None),
        ([How.AUTO, None], None),
        ([How.AUTO, How.AUTO], How.AUTO),
        ([How.REDEFINED, How.REDEFINED], How.REDEFINED),
        ([How.REDEFINED, How.AUTO], How.AUTO),
        ([How.WITHDRAWN, How.AUTO], How.AUTO),
        ([How.WITHDRAWN, How.REDEFINED], How.REDEFINED),
        ([How.WITHDRAWN], How.WITHDRAWN),
        ([How.AUTO, How.FORCED], How.FORCED),
        ([How.AUTO, How.ACCEPTED], How.ACCEPTED),
    ],
)
def test_an_incident_ends_when_its_last_window_is_healed(hows: list[How | None], how: How | None) -> None:
    assert resolution(hows) is how
    assert resolution(hows[::-1]) is how


def test_the_words_for_how_incidents_end_are_these() -> None:
    assert [how.value for how in How] == ["forced", "accepted", "auto", "redefined", "withdrawn"]


def test_a_users_word_counts_before_what_tests_saw_and_a_repair_before_a_new_assertion() -> None:
    ordered = [How.FORCED, How.ACCEPTED, How.AUTO, How.REDEFINED, How.WITHDRAWN]
    assert [resolution(ordered[first:]) for first in range(5)] == ordered
