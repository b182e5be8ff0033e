"""How long a dataset usually takes after its upstreams (pure)."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from statistics import median

WINDOWS_NEEDED = 3  # one or two may themselves be the late ones


def usual_delay(own: Sequence[float], upstreams: Iterable[Sequence[float]]) -> timedelta:
    """By how much the median of its seconds to complete exceeds that of its slowest upstream; zero if none is known."""
    known = [median(values) for values in upstreams if len(values) >= WINDOWS_NEEDED]
    if len(own) < WINDOWS_NEEDED or not known:
        return timedelta()
    return timedelta(seconds=max(0.0, median(own) - max(known)))
