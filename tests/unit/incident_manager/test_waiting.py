"""Is it worth waiting for the gate?"""

from datetime import UTC, datetime, timedelta

import pytest

from assay.time.windows import Window
from incident_manager.gate.rules import Because, GateAnswer, GateDecision, gathered, in_the_way
from incident_manager.quality.rules import ReasonKind

NOW = datetime(2024, 3, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
BLOCK = GateDecision.BLOCK


def because(kind: ReasonKind, *, decision: GateDecision = BLOCK, report: int | None = None, ends: int = 0) -> Because:
    window = Window(start=NOW - 24 * HOUR, end=NOW + ends * HOUR)
    return Because(decision=decision, dataset="a.b", windows=(window,), text=kind, kind=kind, report_id=report)


def answer(*reasons: Because) -> GateAnswer:
    return gathered(reasons)


@pytest.mark.parametrize(
    "kind", [ReasonKind.BROKEN, ReasonKind.SPOILT, ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET]
)
def test_what_is_run_again_is_worth_waiting_for(kind: ReasonKind) -> None:
    assert in_the_way(answer(because(kind)), until=NOW) is None


def test_a_confirmed_report_waits_for_a_person() -> None:
    report = because(ReasonKind.SPOILT, report=3)
    assert in_the_way(answer(because(ReasonKind.BROKEN), report), until=NOW) == report
    assert in_the_way(answer(because(ReasonKind.SPOILT, report=3, decision=GateDecision.WARN)), until=NOW) is None


@pytest.mark.parametrize(("wait", "is_worth_it"), [(1, False), (2, True), (3, True)])
def test_a_window_that_is_not_over_is_worth_waiting_for_if_it_ends_in_time(wait: int, is_worth_it: bool) -> None:
    running = because(ReasonKind.NOT_OVER, ends=2)
    assert (in_the_way(answer(running), until=NOW + wait * HOUR) is None) is is_worth_it
