"""Partition keys as text: which formats name a partition, and how a key is read."""

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from .granularity import Granularity

_ODD = datetime(2012, 2, 29, 22)  # no part of it is what strptime takes for one that a format leaves out


class UnableToPartition(ValueError):
    """A time zone, key format or key that names no partitions."""


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The time zone of an IANA name; raises UnableToPartition."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnableToPartition(f"There is no time zone {name!r}: write an IANA name such as Europe/Berlin.") from None


def parse_key(key: str, key_format: str) -> datetime:
    """The local start that a key says; raises ValueError."""
    if "%V" in key_format and "%u" not in key_format:
        return datetime.strptime(f"{key} 1", f"{key_format} %u")  # a week alone is no date: take its Monday
    return datetime.strptime(key, key_format)


@lru_cache(maxsize=1024)
def check_key_format(granularity: Granularity, key_format: str) -> None:
    """Raise UnableToPartition unless every period has a key of its own that can be read back."""
    wall = granularity.floor(_ODD)
    key = wall.replace(tzinfo=UTC).strftime(key_format)
    try:
        read = parse_key(key, key_format).replace(tzinfo=None)
    except ValueError as error:
        raise UnableToPartition(f"The key format {key_format!r} cannot be read back: {error}.") from None
    if read != wall:
        raise UnableToPartition(
            f"The key format {key_format!r} does not tell one {granularity.value} from another: {wall} becomes "
            f"{key!r}, which reads as {read}. Try {granularity.default_key_format!r}."
        )
