"""Whose scan may begin: bounds on what runs at once for one owner, one dataset and one engine (pure).

A worker looks at what runs before it claims. Several that look in the same instant may pass a bound by as many as they
are; the next to look waits until it holds again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

KINDS = ("dataset_id", "owner", "engine")


# how many scans run at once in one datacenter, by the kind of what they have in common; 0: as many as there are workers
Bounds = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Full:
    """What may begin no further scan: values of one kind in one datacenter."""

    datacenter: str
    kind: str
    values: frozenset[object]


def full(running: Iterable[Mapping[str, object]], bounds: Bounds) -> list[Full]:
    """What is at its bound; ``running``: datacenter and the KINDS of each scan under a live lease."""
    counts: dict[tuple[str, str], Counter[object]] = {}
    for scan in running:
        for kind in KINDS:
            counts.setdefault((str(scan["datacenter"]), kind), Counter())[scan[kind]] += 1
    found = [
        Full(datacenter=place, kind=kind, values=frozenset(_at_bound(counter, bounds.get(kind, 0))))
        for (place, kind), counter in counts.items()
    ]
    return [each for each in found if each.values]


def _at_bound(counter: Counter[object], most: int) -> Iterable[object]:
    return (value for value, number in counter.items() if 0 < most <= number)
