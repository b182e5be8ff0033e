"""Where a dataset's data lies, and the engine that reads it there."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2s

from assay.catalog.limits import closed_to, limited_datasets
from assay.catalog.locations import PUSHED, LocationClaim, UnableToUseLocation, find, rules_of
from assay.catalog.place_limits import PlacedDataset
from assay.catalog.profile import FILES, LOGGED
from assay.catalog.tellings import CORRECTION
from assay.config import config
from assay.iceberg_catalogs import CATALOGS
from assay.models import Dataset, Replica
from assay.time.windows import Partitioning, UnableToPartition, Window
from execution_engine.engines.protocol import HIVE_NULL, WHOLE, Engine, Limits, Part, SparkOptions, Table

MANY_PARTITIONS = 1000  # from here on a window is read by the partitions that are there, not by all that could be
_substitutes: list[Engine] = []


def engine_of(replica: Replica) -> Engine:
    """The engine that reads a replica."""
    return engine_of_storage(replica.storage)


def engine_name(replica: Replica) -> str:
    """What is busy while a replica is read: Spark, or one database server outside the lake."""
    if replica.storage != "sql":
        return "spark"
    server = replica.location.rpartition("@")[2].partition("/")[0] or replica.location
    return f"sql {blake2s(server.encode(), digest_size=8).hexdigest()}"


def engine_of_storage(storage: str) -> Engine:
    """The engine that reads one kind of storage, as the settings say."""
    if _substitutes:
        return _substitutes[-1]
    from execution_engine.engines.registry import engine_for  # with it pyarrow, for what reads data

    settings = config()
    spark = SparkOptions(
        master=settings.spark_master,
        remote=settings.spark_remote or None,
        conf=settings.spark_settings,
        native=settings.spark_native,
        in_process_bytes=settings.spark_in_process_bytes,
    )
    limits = Limits(
        deadline_seconds=settings.scan_deadline_seconds,
        memory=settings.spark_memory,
        scans_per_child=settings.spark_scans,
        variables=tuple(settings.spark_variables),
        isolated=settings.spark_isolation == "child",
        shows_log=settings.spark_log,
    )
    return engine_for(storage, spark, limits)


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Read everything with ``engine`` for a while, whatever its storage."""
    _substitutes.append(engine)
    try:
        yield
    finally:
        _substitutes.remove(engine)


def table_of(dataset: Dataset, replica: Replica, limited: Sequence[PlacedDataset] | None = None) -> Table:
    """The table behind a replica; raises UnableToUseLocation where it may not be read.

    ``limited`` are the datasets with limits, where the caller has read them for several tables.
    """
    if dataset.business_metric is not None:
        raise UnableToUseLocation(f"{dataset} is a business metric: its values are computed, so it has no rows")
    place = LocationClaim(
        storage=replica.storage,
        location=replica.location,
        options=replica.options,
        is_trusted={PUSHED, CORRECTION}.isdisjoint((dataset.source, dataset.origins.get("replicas", [""])[0])),
    )
    rules, limited = rules_of(config()), limited_datasets() if limited is None else limited
    location = find(place, rules, os.environ)
    closed = closed_to(dataset, replica, limited)
    if location.location.startswith(CATALOGS):  # what the catalog says is a location as any other
        from execution_engine.engines.catalogs.locate import metadata_location

        place_there = replace(place, location=metadata_location(location.location))
        replica = Replica(storage=place.storage, location=place_there.location, options=place.options)
        location = find(place_there, rules, os.environ)
        closed = closed_to(dataset, replica, limited)
    return Table(
        name=dataset.full_name,
        storage=replica.storage,
        location=location.location,
        location_label=place.location if place.variable is not None else "",
        within=location.within,
        never=(*rules.own_paths, *closed),
        options=place.options,
        partition_column=dataset.partition_column or None,
        stored_times=dataset.stored_times,
        columns={column["name"]: column["type"] for column in dataset.columns},
    )


def pinned(table: Table, as_of: str = "") -> tuple[Table, str]:
    """A table at one snapshot, whoever commits to its log later, and what that is called; empty without a log.

    It is the newest, or that of ``as_of``: a snapshot, or an instant in ISO 8601. Raises UnableToUseLocation where
    there is none such. A newest one that cannot be read leaves the table as it was: who reads it says why.
    """
    if table.storage not in LOGGED:
        if as_of:
            raise UnableToUseLocation(f"{table.name} is kept as {table.storage}, of which there are no snapshots")
        return table, ""
    from execution_engine.engines.files.listing import UnableToListFiles, pin_snapshot

    try:
        return pin_snapshot(table, as_of)
    except UnableToListFiles as error:
        if as_of:
            raise UnableToUseLocation(error.failure.detail) from None
        return table, ""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """What the measurements of one window read: its partitions, and for a test of the whole table all that lie in none.

    ``strays`` are the keys of the rows in no partition: ``HIVE_NULL``, and those that the dataset's key format gives to
    no partition. None where nobody knows the keys, or nobody asked.
    """

    part: Part
    strays: tuple[str, ...] | None = None

    @property
    def whole(self) -> Part:
        """The part with the rows that lie in no partition."""
        if self.part == WHOLE or not self.strays:
            return self.part
        return replace(self.part, keys=(*(self.part.keys or ()), *self.strays))


def part_of(dataset: Dataset, window: Window, engine: Engine, table: Table) -> Part:
    """The part of a table that a window covers."""
    return extent_of(dataset, window, engine, table).part


def extent_of(dataset: Dataset, window: Window, engine: Engine, table: Table, *, with_strays: bool = False) -> Extent:
    """The part of a table that a window covers, and the keys of the rows in no partition where they are asked for.

    The keys that are there are looked up once at most, as of some tables they cost a Spark job.
    """
    partitioning = dataset.partitioning
    if partitioning is None:
        return Extent(part=WHOLE)
    if table.stored_times is not None:
        return Extent(part=Part(range=window), strays=(HIVE_NULL,))  # every other time is one of a partition
    is_long = window.duration >= MANY_PARTITIONS * partitioning.at(window.start).duration
    present = engine.partitions(table) if is_long or with_strays else None
    if not is_long:
        part = Part(keys=_keys(partitioning, window))
    elif present is None:
        part = WHOLE
    else:
        # folders whose names are no keys belong to no window
        keys = (key for key in present if not _is_stray(partitioning, key))
        part = Part(keys=tuple(key for key in keys if window.contains(partitioning.window(key))))
    strays = None if present is None else tuple(key for key in present if _is_stray(partitioning, key))
    return Extent(part=part, strays=strays)


@lru_cache(maxsize=100_000)
def _is_stray(partitioning: Partitioning, key: str) -> bool:
    """Whether no partition has this key: it is that of null, or not of the key format."""
    if key == HIVE_NULL:
        return True
    try:
        partitioning.window(key)
    except UnableToPartition:
        return True
    return False


_keys = lru_cache(maxsize=10_000)(Partitioning.keys)


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file of a window: its path below the table's location, its size in bytes, and when it was written."""

    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True, kw_only=True)
class StoredWindow:
    """The files that hold a window and no other, below a folder, and their fingerprint; or why there are none."""

    location: str = ""
    files: tuple[StoredFile, ...] = ()
    fingerprint: str = ""
    unreadable: str = ""


def stored_window(dataset: Dataset, replica: Replica, window: Window) -> StoredWindow:
    """The files of a window as they lie there now, found without reading them."""
    from execution_engine.engines.files.listing import UnableToListFiles, list_part

    try:
        table = table_of(dataset, replica)
        if table.storage not in FILES or table.location_label:
            return StoredWindow(unreadable=f"it is of the storage {table.storage}: only files are published")
        listing = list_part(table, part_of(dataset, window, engine_of(replica), table))
    except (UnableToListFiles, UnableToUseLocation) as error:
        return StoredWindow(unreadable=str(error))
    if listing.snapshot:
        return StoredWindow(
            unreadable=f"it is of the storage {table.storage}, whose log says which rows of files count"
        )
    if listing.filtered:
        return StoredWindow(unreadable="its files hold other windows too: its partitions have no folders of their own")
    if not listing.files:
        return StoredWindow(unreadable="it has no files")
    root = listing.root.path.rstrip("/") + "/"
    files = tuple(
        StoredFile(path=file.path.removeprefix(root), size=file.size, modified_ns=file.mtime_ns)
        for file in listing.files
    )
    return StoredWindow(location=table.location, files=files, fingerprint=listing.fingerprint)
