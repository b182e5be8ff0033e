from itertools import combinations

import pytest

from web.demo.faults import FAULTS, Fault, FaultKind, FaultSeen
from web.demo.world import BY_NAME, DAYS

NAMES = [fault.name for fault in FAULTS]


def test_every_way_to_see_a_fault_is_shown() -> None:
    assert {fault.expected for fault in FAULTS} == {
        FaultSeen.CAUGHT,
        FaultSeen.WARN_ONLY,
        FaultSeen.MISSED_UNTIL_REPORTED,
    }


def test_every_standard_category_has_a_fault() -> None:
    caught = {fault.category for fault in FAULTS if fault.expected is FaultSeen.CAUGHT}
    assert caught == {"freshness", "completeness", "duplicates", "consistency", "novelty"}


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_a_fault_is_of_a_day_and_table_of_the_demo_and_ends_after_it_started(fault: Fault) -> None:
    assert fault.day in DAYS
    assert fault.table in BY_NAME
    assert fault.started_at < fault.ended_at


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.on_landing], ids=lambda fault: str(fault.name))
def test_what_lands_spoilt_started_when_it_landed(fault: Fault) -> None:
    assert fault.started_at == BY_NAME[fault.table].usually_lands_at(fault.day)


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.kind is FaultKind.LATE], ids=lambda f: str(f.name)
)
def test_what_is_late_started_after_it_should_have_landed(fault: Fault) -> None:
    assert BY_NAME[fault.table].usually_lands_at(fault.day) < fault.started_at


@pytest.mark.parametrize(("one", "other"), list(combinations(FAULTS, 2)), ids=lambda fault: str(fault.name))
def test_no_two_faults_are_of_one_day(one: Fault, other: Fault) -> None:
    assert one.day != other.day
