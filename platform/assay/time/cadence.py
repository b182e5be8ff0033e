"""How often something is done: every so long (``15m``), or by a cron line in UTC."""

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from .durations import UnableToReadDuration, parse_duration


class UnableToReadCadence(ValueError):
    """A text that is neither a length of time nor a cron line."""


def next_time(cadence: str, after: datetime) -> datetime:
    """The first time after ``after``; raises UnableToReadCadence."""
    try:
        length = parse_duration(cadence)
    except UnableToReadDuration:
        length = None
    if length is not None and length.total_seconds() >= 1:
        return after + length
    try:
        return next(CronSim(cadence, after.astimezone(UTC)))
    except (CronSimError, StopIteration):
        raise UnableToReadCadence(
            f"{cadence!r} is neither a length of time of at least a second, such as 15m, nor a cron line such as "
            "'0 * * * *'"
        ) from None
