"""Types of options: instants and lengths of time, as argparse reads them."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from assay.time.durations import UnableToReadDuration, parse_duration
from assay.time.instants import taken


def instant(text: str) -> datetime:
    """An instant in ISO 8601; without a time zone it is in UTC."""
    try:
        found = datetime.fromisoformat(text)
        return taken(found if found.tzinfo else found.replace(tzinfo=UTC))
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def length(text: str) -> timedelta:
    """A length of time, such as ``4h``."""
    try:
        return parse_duration(text)
    except UnableToReadDuration as error:
        raise ArgumentTypeError(str(error)) from None
