"""The forty checks of ten slices of the table each: four hundred, under ten where-clauses."""

from dataclasses import replace

from benchmarks.data.pools import DATE, STATUSES

from .suite import Check

NOON = f"timestamp '{DATE} 12:00:00'"
SLICES = (
    *(f"status = '{status}'" for status in STATUSES),
    f"started_at < {NOON}",
    f"started_at >= {NOON}",
    "distance_km > 30",
    "fare > 50",
    "tip is not null",
)
COUNTS = ("row_count", "approx_count_distinct")  # of a slice, any number will do


def of_slices(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Each check, of each slice."""
    return tuple(_of(check, where) for where in SLICES for check in checks)


def _of(check: Check, where: str) -> Check:
    low = 1 if check.spec.name in COUNTS else check.low
    return replace(check, name=f"{check.name} where {where}", low=low, spec=replace(check.spec, where=where))
