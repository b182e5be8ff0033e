"""The faults of the demo, each with what must come of it: the one table that the whole demo is judged by."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from .world import COPY, HOME, LAKE_FLIGHTS, MART, RAW_FLIGHTS, RAW_WEATHER, day, local


class FaultKind(StrEnum):
    """What goes wrong."""

    LATE = "late"
    ROWS_LOST = "rows lost"
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


FAULTS = (
    Fault(
        name="late-mart-recovers",
        story="The mart is late, but it is there before the test fails.",
        kind=FaultKind.LATE,
        table=MART,
        day=day("03-08"),
        category="freshness",
        expected=FaultSeen.WARN_ONLY,
        started_at=local("03-09 04:00"),
        ended_at=local("03-09 06:22"),
        repair="lands by itself",
    ),
    Fault(
        name="late-mart",
        story="The mart is late by half a day.",
        kind=FaultKind.LATE,
        table=MART,
        day=day("03-12"),
        category="freshness",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-13 04:00"),
        ended_at=local("03-13 14:22"),
        repair="lands at last",
    ),
    Fault(
        name="dropped-rows",
        story="A clean-up job drops every fifth flight, and the mart is built again from the rest.",
        kind=FaultKind.ROWS_LOST,
        table=LAKE_FLIGHTS,
        day=day("03-15"),
        category="completeness",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-16 05:10"),
        ended_at=local("03-17 15:00"),
        repair="backfilled, without telling anybody",
        rebuilt=(MART,),
    ),
    Fault(
        name="doubled-rows",
        story="Ten hours of weather are loaded twice.",
        kind=FaultKind.ROWS_DOUBLED,
        table=RAW_WEATHER,
        day=day("03-18"),
        category="duplicates",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-19 00:20"),
        ended_at=local("03-19 10:00"),
        repair="rewritten",
        on_landing=True,
    ),
    Fault(
        name="lost-in-phx",
        story="The copy in phx loses every fifth flight.",
        kind=FaultKind.ROWS_LOST,
        table=LAKE_FLIGHTS,
        day=day("03-20"),
        category="consistency",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-21 07:10"),
        ended_at=local("03-21 16:00"),
        repair="copied again",
        datacenters=(COPY,),
        spoils=COPY,
    ),
    Fault(
        name="mixed-up-delays",
        story="A tenth of the flights carry the delay of the flight after them: each value is a usual one.",
        kind=FaultKind.MIXED_UP,
        table=LAKE_FLIGHTS,
        day=day("03-21"),
        category="custom",
        expected=FaultSeen.MISSED_UNTIL_REPORTED,
        started_at=local("03-22 00:50"),
        ended_at=local("03-23 08:30"),
        repair="rewritten after a user's report",
        on_landing=True,
        rebuilt=(MART,),
    ),
    Fault(
        name="lost-in-dca",
        story="The original in dca loses every fifth hour of weather.",
        kind=FaultKind.ROWS_LOST,
        table=RAW_WEATHER,
        day=day("03-22"),
        category="consistency",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-23 07:10"),
        ended_at=local("03-23 18:02"),
        repair="loaded again",
        announced=True,
        datacenters=(HOME,),
        spoils=HOME,
    ),
    Fault(
        name="late-chain",
        story="The flights are late by ten hours, and so is all that is built from them.",
        kind=FaultKind.LATE,
        table=RAW_FLIGHTS,
        day=day("03-25"),
        category="freshness",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-26 02:00"),
        ended_at=local("03-26 10:32"),
        repair="lands at last",
    ),
    Fault(
        name="kilometres",
        story="Distances are written in kilometres instead of miles, which is in no rule.",
        kind=FaultKind.WRONG_UNIT,
        table=LAKE_FLIGHTS,
        day=day("03-27"),
        category="novelty",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-28 00:50"),
        ended_at=local("03-28 11:30"),
        repair="rewritten, once its owner was told",
        on_landing=True,
        rebuilt=(MART,),
    ),
    Fault(
        name="wrong-sla",
        story="Somebody pushes a completeness SLA that the mart cannot keep.",
        kind=FaultKind.WRONG_SLA,
        table=MART,
        day=day("03-31"),
        category="completeness",
        expected=FaultSeen.CAUGHT,
        started_at=local("03-31 12:00"),
        ended_at=local("04-01 10:00"),
        repair="resolved as a false positive, for this test's later windows too",
    ),
    Fault(
        name="lost-again",
        story="On the last evening the copy in phx loses every fifth flight again, and nobody has mended it yet.",
        kind=FaultKind.ROWS_LOST,
        table=LAKE_FLIGHTS,
        day=day("04-02"),
        category="consistency",
        expected=FaultSeen.CAUGHT,
        started_at=local("04-03 19:10"),
        ended_at=local("04-04 09:00"),
        repair="not yet: its incident is open",
        datacenters=(COPY,),
        spoils=COPY,
    ),
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
