"""Profiles of small parquet files: their rows as Arrow reads them, without a job of Spark's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from execution_engine.engines.files.footer_statistics import footer_statistics
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.limits import SMALL_BYTES
from execution_engine.engines.native.measure import MOST_ROWS
from execution_engine.engines.protocol import Measured, Part, Table, Wanted
from execution_engine.metrics.definitions.profile import PROFILE, profiled, start_of
from execution_engine.metrics.spec import MetricSpec
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import Profile
from execution_engine.profiles.stored import to_bytes

from .batches import batches_of


@dataclass(frozen=True, kw_only=True)
class ToldProfiles:
    """What Arrow has told of a part, by key, and the fingerprint of the data that it has read."""

    measured: dict[str, Measured] = field(default_factory=dict)
    fingerprint: str | None = None


def profiles_told(table: Table, part: Part, wanted: Sequence[Wanted]) -> ToldProfiles:
    """The profiles among what is wanted; none where the part is large, has no files of its own, or cannot be read."""
    asked = [item for item in wanted if item.spec.name == PROFILE.name and _is_plain(item.spec)]
    if not asked or table.storage != "parquet":
        return ToldProfiles()
    try:
        listing = list_part(table, part)
        footers = None if listing.filtered else footer_statistics(listing)
        if not listing.files or footers is None or listing.size >= SMALL_BYTES or footers.rows > MOST_ROWS:
            return ToldProfiles()
        batches = [batch for batch in batches_of(table, listing) if batch.num_rows]
        return ToldProfiles(
            measured={item.key: measured_profile(_gathered(batches, item.spec)) for item in asked},
            fingerprint=listing.fingerprint,
        )
    except (UnableToListFiles, pa.ArrowException, OSError):  # the engine says what is wrong with them
        return ToldProfiles()


def measured_profile(profile: Profile) -> Measured:
    """The number of rows, with the profile as state."""
    return Measured(value=float(profile.all_rows), state=to_bytes(profile))


def _is_plain(spec: MetricSpec) -> bool:
    """Whether the rows need no SQL."""
    return spec.where is None and not spec.columns


def _gathered(batches: Iterable[pa.RecordBatch], spec: MetricSpec) -> Profile:
    kept = (batch.select(profiled(spec, batch.schema.names)) for batch in batches)
    return gathered_profile(kept, start_of(spec))
