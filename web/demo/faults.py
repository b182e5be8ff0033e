"""The faults of the demo, each with what must come of it: the one table that the whole demo is judged by."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from .world import COPY, HOME, LAKE_FLIGHTS, MART, RAW_FLIGHTS, RAW_WEATHER, day, local


class FaultKind(StrEnum):
    """What goes wrong."""

    LATE = "late"
    ROWS_LOST = "rows lost"
    SLICE_LOST = "slice lost"
    ROWS_DOUBLED = "rows doubled"
    WRONG_UNIT = "wrong unit"
    MIXED_UP = "values mixed up"
    WRONG_SLA = "wrong SLA"


class FaultSeen(StrEnum):
    """What Assay makes of a fault."""

    CAUGHT = "caught"
    WARN_ONLY = "warn only"
    MISSED_UNTIL_REPORTED = "missed until reported"
    UNSEEN = "unseen"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault of one day's partition.

    ``started_at`` is when it could first be known: when the SLA is missed, or the bad data is written. ``ended_at`` is
    when the good data is written (or the incident is ended by force); after the demo's end, the incident is left open.
    """

    name: str
    story: str
    kind: FaultKind
    table: str
    day: date
    category: str
    expected: FaultSeen
    started_at: datetime
    ended_at: datetime
    repair: str
    announced: bool = False  # whether the repair sends a completion event
    on_landing: bool = False  # whether the partition lands with it, or is spoilt later
    datacenters: tuple[str, ...] = (HOME, COPY)
    rebuilt: tuple[str, ...] = ()  # the tables built anew from it, when it is spoilt later and when it is repaired
    spoils: str | None = None  # where its tests must find the loss, if in one datacenter


STORIES = {  # what goes wrong, and how it ends
    "late-mart-recovers": ("The mart is late, but it is there before the test fails.", "lands by itself"),
    "late-mart": ("The mart is late by half a day.", "lands at last"),
    "dropped-rows": (
        "A clean-up job drops United's flights from Newark, and the mart is built again from the rest.",
        "backfilled, without telling anybody",
    ),
    "doubled-rows": ("Ten hours of weather are loaded twice.", "rewritten"),
    "lost-in-phx": ("The copy in phx loses every fifth flight.", "copied again"),
    "mixed-up-delays": (
        "A tenth of the flights carry the delay of the flight after them: each value is a usual one.",
        "rewritten after a user's report",
    ),
    "lost-in-dca": ("The original in dca loses every fifth hour of weather.", "loaded again"),
    "late-chain": ("The flights are late by ten hours, and so is all that is built from them.", "lands at last"),
    "kilometres": (
        "Distances are written in kilometres instead of miles, which is in no rule.",
        "rewritten, once its owner was told",
    ),
    "wrong-sla": (
        "Somebody pushes a completeness SLA that the mart cannot keep.",
        "resolved as a false positive, for this test's later windows too",
    ),
    "lost-again": (
        "On the last evening the copy in phx loses United's flights from Newark, and nobody has mended it yet.",
        "not yet: its incident is open",
    ),
}


def _fault(
    name: str,
    kind: FaultKind,
    table: str,
    on: str,
    category: str,
    started_at: str,
    ended_at: str,
    *,
    expected: FaultSeen = FaultSeen.CAUGHT,
    **more: Any,
) -> Fault:
    story, repair = STORIES[name]
    return Fault(
        name=name,
        story=story,
        kind=kind,
        table=table,
        day=day(on),
        category=category,
        expected=expected,
        started_at=local(started_at),
        ended_at=local(ended_at),
        repair=repair,
        **more,
    )


LATE, LOST, SLICE_LOST, DOUBLED = FaultKind.LATE, FaultKind.ROWS_LOST, FaultKind.SLICE_LOST, FaultKind.ROWS_DOUBLED
REBUILT: dict[str, Any] = {"on_landing": True, "rebuilt": (MART,)}
IN_PHX: dict[str, Any] = {"datacenters": (COPY,), "spoils": COPY}
IN_DCA: dict[str, Any] = {"datacenters": (HOME,), "spoils": HOME, "announced": True}
MISSED, WARNS = FaultSeen.MISSED_UNTIL_REPORTED, FaultSeen.WARN_ONLY
FAULTS = (
    _fault("late-mart-recovers", LATE, MART, "03-08", "freshness", "03-09 04:00", "03-09 06:22", expected=WARNS),
    _fault("late-mart", LATE, MART, "03-12", "freshness", "03-13 04:00", "03-13 14:22"),
    _fault(
        "dropped-rows", SLICE_LOST, LAKE_FLIGHTS, "03-15", "completeness", "03-16 05:10", "03-17 15:00", rebuilt=(MART,)
    ),
    _fault("doubled-rows", DOUBLED, RAW_WEATHER, "03-18", "duplicates", "03-19 00:20", "03-19 10:00", on_landing=True),
    _fault("lost-in-phx", LOST, LAKE_FLIGHTS, "03-20", "consistency", "03-21 07:10", "03-21 16:00", **IN_PHX),
    _fault(
        *("mixed-up-delays", FaultKind.MIXED_UP, LAKE_FLIGHTS, "03-21", "custom", "03-22 00:50", "03-23 08:30"),
        expected=MISSED,
        **REBUILT,
    ),
    _fault("lost-in-dca", LOST, RAW_WEATHER, "03-22", "consistency", "03-23 07:10", "03-23 18:02", **IN_DCA),
    _fault("late-chain", LATE, RAW_FLIGHTS, "03-25", "freshness", "03-26 02:00", "03-26 10:32"),
    _fault(
        "kilometres", FaultKind.WRONG_UNIT, LAKE_FLIGHTS, "03-27", "novelty", "03-28 00:50", "03-28 11:30", **REBUILT
    ),
    _fault("wrong-sla", FaultKind.WRONG_SLA, MART, "03-31", "completeness", "03-31 12:00", "04-01 10:00"),
    _fault("lost-again", SLICE_LOST, LAKE_FLIGHTS, "04-02", "consistency", "04-03 19:10", "04-04 09:00", **IN_PHX),
)


def fault_named(name: str) -> Fault:
    """The fault of this name."""
    return next(fault for fault in FAULTS if fault.name == name)


def late(table: str, of: date) -> Fault | None:
    """The fault that makes this partition late, if one does."""
    return next((f for f in FAULTS if (f.kind, f.table, f.day) == (FaultKind.LATE, table, of)), None)


def landing_with(table: str, of: date) -> Fault | None:
    """The fault that this partition lands with, if any."""
    return next((f for f in FAULTS if f.on_landing and (f.table, f.day) == (table, of)), None)
