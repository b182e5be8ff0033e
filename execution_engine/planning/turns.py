"""Whose turn it is (pure): what comes first of the runs and scans that wait, and which scans may not begin yet.

Bounds are on what runs at once for one owner, one dataset and one engine. A worker looks at what runs before it claims.
Several that look in the same instant may pass a bound by as many as they are; the next to look waits until it holds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from assay.catalog.tiers import TIERS

LATER = len(TIERS)  # the first turn of what is made up for
KINDS = ("dataset_id", "owner", "engine")


def turn(tier: int, *, is_made_up_for: bool = False) -> int:
    """The place in the order of claims: critical tiers first; what an outage has left, after all that is current."""
    return tier + (LATER if is_made_up_for else 0)


def is_made_up_for(turn: int) -> bool:
    """Whether this is the turn of what an outage left behind."""
    return turn >= LATER


# how many scans run at once in one datacenter, by the kind of what they have in common; 0: as many as there are workers
Bounds = Mapping[str, int]


def at_bound(running: Iterable[Mapping[str, object]], bounds: Bounds) -> list[tuple[str, str, object]]:
    """What may begin no further scan: datacenter, kind and value.

    ``running``: datacenter and the KINDS of each scan under a live lease.
    """
    counts = Counter((str(scan["datacenter"]), kind, scan[kind]) for scan in running for kind in KINDS)
    return [place for place, number in counts.items() if 0 < bounds.get(place[1], 0) <= number]
