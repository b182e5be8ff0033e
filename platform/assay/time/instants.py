"""Which instants people and pipelines may name: far from ours no data lies, and local calendars run out."""

from datetime import UTC, datetime

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


class UnableToTakeInstant(ValueError):
    """An instant that is too far from ours."""


def taken(instant: datetime) -> datetime:
    """``instant`` itself; raises UnableToTakeInstant for one outside of the years that we answer for."""
    if not EARLIEST <= instant <= LATEST:
        raise UnableToTakeInstant(
            f"{instant.isoformat()} lies outside of the years {EARLIEST.year} to {LATEST.year - 1}: name one in them."
        )
    return instant
