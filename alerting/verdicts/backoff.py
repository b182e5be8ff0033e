"""When a window in trouble is checked again: exponential back-off whose jitter a replay repeats."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2s

from assay.time.durations import doubled

INITIAL_INTERVAL = timedelta(minutes=5)
MAXIMUM_INTERVAL = timedelta(hours=6)
LONG_STANDING = timedelta(days=14)
LONG_STANDING_INTERVAL = timedelta(hours=24)
JITTER = 0.1
COST_FACTOR = 4  # a whole-table check takes at most a fifth of the time


@dataclass(frozen=True, kw_only=True)
class CheckKey:
    """What a window's checks are spread by."""

    dataset: str
    test: str
    window: str


def next_check(
    attempt: int,
    *,
    after: datetime,
    t0: datetime,
    sustain: timedelta,
    key: CheckKey,
    cost: timedelta = timedelta(0),
) -> datetime:
    """When to check after check number ``attempt`` (0: none yet), which ended at ``after``.

    One check is at t0 + sustain exactly. ``cost`` is what the last check of a whole table took; leave it out for a
    partition. ``t0`` is the first broken result, or the first error where nothing has broken.
    """
    # a share in [-JITTER, JITTER), the same in every process
    text = "\n".join((key.dataset, key.test, key.window, str(attempt)))
    number = int.from_bytes(blake2s(text.encode(), digest_size=6).digest())
    at = after + _interval(attempt, after - t0) * (1 + JITTER * (2 * number / 2**48 - 1))
    sustained_at = t0 + sustain
    if after < sustained_at < at:
        at = sustained_at
    return max(at, after + COST_FACTOR * cost)


def _interval(attempt: int, age: timedelta) -> timedelta:
    if age >= LONG_STANDING:
        return LONG_STANDING_INTERVAL
    return doubled(INITIAL_INTERVAL, attempt, most=MAXIMUM_INTERVAL)
