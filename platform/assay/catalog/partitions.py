"""How a table is cut into partitions, by the keys that are there or by the type of its partition column (pure)."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from assay.time.windows import Granularity, parse_key

from .profile import PartitionProfile

KEY_FORMATS = (
    (Granularity.DAY, "%Y-%m-%d"),
    (Granularity.DAY, "%Y%m%d"),
    (Granularity.DAY, "%Y_%m_%d"),
    (Granularity.HOUR, "%Y-%m-%d-%H"),
    (Granularity.HOUR, "%Y-%m-%dT%H"),
    (Granularity.HOUR, "%Y%m%d%H"),
    (Granularity.HOUR, "%Y-%m-%d %H"),
    (Granularity.HOUR, "%Y-%m-%d %H:%M:%S"),
    (Granularity.MONTH, "%Y-%m"),
    (Granularity.MONTH, "%Y%m"),
    (Granularity.WEEK, "%G-W%V"),
    (Granularity.WEEK, "%GW%V"),
)
LONGER_GRANULARITIES = {
    Granularity.HOUR: (Granularity.MONTH, Granularity.WEEK, Granularity.DAY),
    Granularity.DAY: (Granularity.MONTH, Granularity.WEEK),
}
FEWEST_STARTS = 3  # of months, weeks or days, by which keys in a format of days or hours are known to name these


def partition_of(
    column: str,
    keys: Sequence[str],
    *,
    time_zone: str = "UTC",
    formats: Sequence[tuple[Granularity, str]] = KEY_FORMATS,
) -> PartitionProfile | None:
    """How keys name partitions: by the first format that reads each and writes it again; None where none does.

    Dates that are all Mondays name weeks, and those that are all a first name months.
    """
    for format_granularity, key_format in formats if keys else ():
        with suppress(ValueError):
            starts = [parse_key(key, key_format) for key in keys]
            is_whole = all(format_granularity.floor(start) == start for start in starts)
            if is_whole and all(start.strftime(key_format) == key for start, key in zip(starts, keys, strict=True)):
                granularity = _granularity_of(set(starts), format_granularity)
                return PartitionProfile(
                    column=column,
                    granularity=granularity,
                    time_zone=time_zone,
                    key_format="" if key_format == granularity.default_key_format else key_format,
                )
    return None


def _granularity_of(starts: Collection[datetime], format_granularity: Granularity) -> Granularity:
    """The longest of which each start begins one; that of their format where the starts are few."""
    candidates = LONGER_GRANULARITIES.get(format_granularity, ()) if len(starts) >= FEWEST_STARTS else ()
    return next(
        (granularity for granularity in candidates if all(granularity.floor(start) == start for start in starts)),
        format_granularity,
    )


def partition_entry(column: str, keys: Sequence[str]) -> dict[str, str] | None:
    """How keys name partitions, as a catalog file has it; None where they name no times."""
    partition = partition_of(column, keys)
    if partition is None:
        return None
    entry = {"column": column, "granularity": partition.granularity.value, "first": min(keys)}
    return {**entry, "key_format": partition.key_format} if partition.key_format else entry


def first_partition(
    types: Mapping[str, str], keys: Mapping[str, Sequence[str]], *, time_zone: str = "UTC"
) -> PartitionProfile | None:
    """The first of the partition columns (name → type) that names times: by its keys, or as it is of dates."""
    for column, type_ in types.items():
        if partition := partition_of(column, keys.get(column, ()), time_zone=time_zone):
            return partition
        if type_.lower() == "date":
            return PartitionProfile(column=column, granularity=Granularity.DAY, time_zone=time_zone)
    return None
