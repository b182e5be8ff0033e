"""Poison: a metric that ends its scan abnormally is measured apart, and not at all after the third time (pure).

A scan shares its passes, and with them its end: one condition that hangs costs every test of the table its result. So
what was in such a scan is measured apart from the rest next time: what is ours in one pass and each piece of users'
SQL by itself, after the second time everything by itself, the worst last. Only what ended so by itself, as its third
time, is quarantined; its neighbours are cleared by the values that they give.
"""

from collections.abc import Mapping, Sequence

from execution_engine.engines.protocol import Wanted
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

MOST_ENDS = 3
ONE_BY_ONE = 2  # ends after which everything is measured by itself
MOST_ENDS_OF_A_SCAN = 3  # then the rest of the scan waits for another: its deadline comes with each
Group = tuple[Wanted, ...]


def groups(wanted: Sequence[Wanted], ends: Mapping[str, int]) -> tuple[Group, ...]:
    """What to scan together, in order; ``ends``: how often each, by its key, has ended abnormally of late."""
    times = {item.key: ends.get(item.key, 0) for item in wanted}
    clear = tuple(item for item in wanted if not times[item.key])
    ours = tuple(item for item in wanted if 0 < times[item.key] < ONE_BY_ONE and not has_user_sql(item.spec))
    together = {item.key for item in (*clear, *ours)}
    alone = sorted((item for item in wanted if item.key not in together), key=lambda item: times[item.key])
    return tuple(group for group in (clear, ours, *((item,) for item in alone)) if group)


def has_user_sql(spec: MetricSpec) -> bool:
    """Whether somebody wrote a part of what Spark is to run."""
    return spec.where is not None or any(isinstance(argument, str) for argument in spec.arguments)


def is_quarantined(ends: int, *, alone: bool) -> bool:
    """Whether that many abnormal ends, the last of them by itself or not, are enough."""
    return alone and ends >= MOST_ENDS


def quarantine_failure(spec_text: str, ends: int, last: Failure) -> Failure:
    """What those who ask for it are told."""
    detail = (
        f"{spec_text} ended abnormally {ends} times, at last by itself ({last}); it is not tried again until the test "
        "is revised, or an operator lifts the quarantine"
    )
    return Failure(reason=Reason.QUARANTINED, detail=detail)


NOT_TRIED = Failure(
    reason=Reason.ENGINE_UNREACHABLE,
    detail=f"not tried, as {MOST_ENDS_OF_A_SCAN} others of its scan ended abnormally before it; it is tried again",
)
