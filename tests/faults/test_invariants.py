"""That the invariants see what violates them, and nothing else."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.facts import Change, Facts, IncidentFact, NoticeFact, Request, RunFact
from tests.faults.invariants import all_of

NOON, HOUR = datetime(2026, 3, 9, 12, tzinfo=UTC), timedelta(hours=1)
RUN = RunFact(id=1, data_test=7, window_start=NOON, reason="schedule", outcome="held", is_judged=True)
CHECK = replace(RUN, id=2, reason="check")
INCIDENT = IncidentFact(id=1, place=(3, "custom"), alert=5, opened=NOON, closed=NOON + HOUR)
OPENED = NoticeFact(key="a:opened", alert=5, event="opened", channel="webhook", sent=True, suppressed="", settled=True)
RECOVERED = replace(OPENED, key="a:recovered", event="recovered")
FIRST = Request(key="a:opened", digest="1", notices=("a:opened",), taken=True)
SECOND = Request(key="a:recovered", digest="2", notices=("a:recovered",), taken=True)


def ended(run: RunFact) -> Change:
    return Change(table="run", row=run.id, old="", new=run.outcome)


SOUND = Facts(
    due=Counter({(7, NOON): 1}),
    runs=(RUN, CHECK),
    changes=(ended(RUN), ended(CHECK), Change(table="standing", row=1, old="", new="FAIL")),
    incidents=(INCIDENT,),
    notices=(OPENED, RECOVERED),
    requests=(FIRST, SECOND),
    reads={1: 5},
    counted_runs=2,
)
UNSOUND = {
    "a slot was due and never ran": ("I1", replace(SOUND, due=Counter({(7, NOON): 1, (7, NOON + HOUR): 1}))),
    "a run came of no slot": ("I1", replace(SOUND, due=Counter())),
    "a run has no outcome": ("I1", replace(SOUND, runs=(replace(RUN, outcome=""), CHECK))),
    "a run was never judged": ("I1", replace(SOUND, runs=(RUN, replace(CHECK, is_judged=False)))),
    "a run was ended twice": ("I2", replace(SOUND, changes=(*SOUND.changes, ended(RUN)))),
    "an end was counted twice": ("I2", replace(SOUND, counted_runs=3)),
    "two incidents are open together": (
        "I3",
        replace(SOUND, incidents=(INCIDENT, replace(INCIDENT, id=2, opened=NOON + HOUR / 2))),
    ),
    "an incident opened while the one before stays open": (
        "I3",
        replace(SOUND, incidents=(replace(INCIDENT, closed=None), replace(INCIDENT, id=2, opened=NOON + 2 * HOUR))),
    ),
    "an opening was told to nobody": ("I4", replace(SOUND, notices=(RECOVERED,))),
    "an end was told to nobody": ("I4", replace(SOUND, notices=(OPENED,))),
    "a notice still waits": ("I4", replace(SOUND, notices=(OPENED, replace(RECOVERED, sent=False, settled=False)))),
    "a notice was given up": ("I4", replace(SOUND, notices=(OPENED, replace(RECOVERED, sent=False)))),
    "what counts as sent never came": ("I5", replace(SOUND, requests=(FIRST,))),
    "what was not taken counts as sent": ("I5", replace(SOUND, requests=(FIRST, replace(SECOND, taken=False)))),
    "something came that nobody told": (
        "I5",
        replace(SOUND, requests=(FIRST, SECOND, replace(FIRST, key="b", notices=("b",)))),
    ),
    "a message came again without a kill": ("I5", replace(SOUND, requests=(FIRST, FIRST, SECOND))),
    "a key came with another body": ("I5", replace(SOUND, requests=(FIRST, replace(FIRST, digest="3"), SECOND))),
    "a notice came under another key": ("I5", replace(SOUND, requests=(FIRST, replace(FIRST, key="group"), SECOND))),
    "a standing went from FAIL to WARN": (
        "I6",
        replace(SOUND, changes=(*SOUND.changes, Change(table="standing", row=1, old="FAIL", new="WARN"))),
    ),
    "an outcome changed": (
        "I6",
        replace(SOUND, changes=(*SOUND.changes, Change(table="run", row=1, old="held", new="broken"))),
    ),
    "a measurement was begun on too often": ("I7", replace(SOUND, reads={1: 6})),
}


def test_sound_facts_violate_nothing() -> None:
    violations = all_of(SOUND, repeats=0)
    assert sorted(violations) == ["I1", "I2", "I3", "I4", "I5", "I6", "I7"]
    assert not any(violations.values())


@pytest.mark.parametrize(("invariant", "facts"), UNSOUND.values(), ids=UNSOUND)
def test_what_is_wrong_is_seen(invariant: str, facts: Facts) -> None:
    assert all_of(facts, repeats=0)[invariant] != []


def test_a_kill_excuses_one_repeat_that_is_alike() -> None:
    again = replace(SOUND, requests=(FIRST, FIRST, SECOND))
    assert all_of(again, repeats=1)["I5"] == []
    twice = replace(SOUND, requests=(FIRST, FIRST, FIRST, SECOND))
    assert all_of(twice, repeats=1)["I5"] != []


def test_incidents_that_follow_each_other_or_differ_in_place_are_sound() -> None:
    later = replace(INCIDENT, id=2, opened=NOON + HOUR)
    elsewhere = replace(INCIDENT, id=3, place=(4, "custom"))
    assert all_of(replace(SOUND, incidents=(INCIDENT, later, elsewhere)), repeats=0)["I3"] == []
