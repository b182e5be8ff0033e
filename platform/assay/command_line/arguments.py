"""Types of options: instants and lengths of time, as argparse reads them."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from assay.time.bare_dates import EndOfRange, parse_end
from assay.time.durations import UnableToReadDuration, parse_duration
from assay.time.instants import taken

BARE_DATE = "ISO 8601; a bare date is midnight in the dataset's time zone, or in UTC where many are asked about"


def instant(text: str) -> datetime:
    """An instant in ISO 8601; without a time zone it is in UTC."""
    try:
        found = datetime.fromisoformat(text)
        return taken(found if found.tzinfo else found.replace(tzinfo=UTC))
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def end_of_range(text: str) -> EndOfRange:
    """An instant, or a bare date, which is midnight in the zone of the dataset that is asked about."""
    try:
        return parse_end(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; write it as 2026-03-09 or 2026-03-09T00:00:00Z") from None


def length(text: str) -> timedelta:
    """A length of time, such as ``4h``."""
    try:
        return parse_duration(text)
    except UnableToReadDuration as error:
        raise ArgumentTypeError(str(error)) from None
