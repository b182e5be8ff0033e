"""Where the tables of the engine's tests lie: ``ASSAY_TEST_STORAGE`` is folder (as it is without), or a lake or store.

Tests write folders of parquet and ask ``stored`` for the table of one: the same rows in the chosen storage.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyarrow.fs import S3FileSystem
from pyspark.sql import SparkSession

from assay.config import config
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE, Measured, Table

FOLDER, ICEBERG, DELTA, S3, S3_ICEBERG = STORAGES = ("folder", "iceberg", "delta", "s3", "s3-iceberg")
TABLE, ORC = "table", "orc"  # of Spark's catalog, and a folder of ORC: of the differential gate alone
CHOSEN = os.environ.get("ASSAY_TEST_STORAGE", FOLDER)
LAKES = (ICEBERG, DELTA, S3_ICEBERG)
EXCLUDED: Sequence[tuple[Sequence[str], str, Sequence[str]]] = (  # where tests do not run, why, how their ids begin
    (
        STORAGES,
        "it lays tables of its own, or is of what does not depend on where they lie",
        (
            "engines/test_catalogs",
            "engines/test_child",
            "engines/test_connect",
            "engines/test_doomed_tasks",
            "engines/test_frames_of_files",
            "engines/test_guarded_sql",
            "engines/test_hashes_of_spark",
            "engines/test_lakes",
            "engines/test_live_rows",
            "engines/test_logs_of_lakes",
            "engines/test_postgresql",
            "engines/test_schema_drift",
            "engines/test_spark_settings",
            "engines/test_sql",
            "engines/test_stores",
            "engines/test_warehouses",
            "kernels/test_cluster",
            "kernels/test_stores_on_a_cluster",
            "verification/test_api_examples",
            "verification/test_batches",
            "verification/test_beside_deequ",
            "verification/test_checks",
            "verification/test_content_patterns",
            "verification/test_deltas",
            "verification/test_exact_numbers",
            "verification/test_files_of_other_kinds",
            "verification/test_keys_with_nulls",
            "verification/test_profile",
            "verification/test_table_formats",
            "verification/test_verify_command",
            "verification/test_video_stream",
        ),
    ),
    (
        STORAGES,
        "it writes files of the table again",
        (
            "engines/test_incremental.py::test_a_new_partition_is_all",
            "engines/test_incremental.py::test_a_partition_rewritten_while",
            "engines/test_incremental.py::test_a_partition_without_values",
            "engines/test_incremental.py::test_a_rewritten_partition_costs",
            "engines/test_incremental.py::test_files_outside_the_folders",
            "engines/test_native_kernels.py::test_a_file_that_is_replaced_after_it_was_listed",
            "engines/test_native_keys.py::test_a_file_that_is_replaced_after_it_was_listed",
            "engines/test_spark_layouts.py::test_the_fingerprint_changes",
        ),
    ),
    (STORAGES, "what kernels leave is read alone", ("engines/test_incremental.py::test_partitions_of_one_shape",)),
    (STORAGES, "only Spark's own reading counts bytes", ("engines/test_incremental.py::test_no_byte_of_the_history",)),
    (
        LAKES,
        "jobs, and who read, are others where rows were deleted or no file is left",
        (
            "engines/test_metrics_against_references.py::test_footers_tell_what",
            "engines/test_native_keys.py::test_distinct_counts_follow_from_a_digest",
            "kernels/test_histograms.py::test_ends_that_footers_know",
            "verification/test_told_by_footers.py::test_they_tell_counts",
            "verification/test_told_by_groups.py::test_groups_beside_values",
            "verification/test_told_by_rows.py::test_the_kernels_tell_the_same_here_as_in_a_task",
            "verification/test_told_by_rows.py::test_texts_that_are_packed_stay_packed",
            "verification/test_told_by_rows.py::test_what_is_too_large_is_left_to_spark",
        ),
    ),
    (
        LAKES,
        "Spark writes the rows of a lake that break tests",
        (
            "engines/test_rows_that_break.py::test_bad_rows_say_where_they_come_from_and_hide_what_is_sensitive[kernels",
            "engines/test_rows_that_break.py::test_a_sensitive_column_of_any_name_is_hidden[kernels",
            "engines/test_rows_that_break.py::test_the_rows_are_those_that_pandas_names[kernels",
        ),
    ),
    (
        LAKES,
        "a file that is no parquet cannot be laid",
        (
            "engines/test_in_process.py::test_a_part_that_cannot_be_read",
            "engines/test_native_keys.py::test_a_file_that_is_cut_off",
            "engines/test_native_keys.py::test_keys_of_files_of_every_shape_are_the_same[damaged",
            "engines/test_native_keys.py::test_rows_that_are_written_otherwise_leave_the_key_to_spark[year",
            "engines/test_native_kernels.py::test_a_file_that_is_cut_off",
            "engines/test_native_kernels.py::test_files_of_every_shape_are_measured_alike[damaged",
            "engines/test_native_kernels.py::test_pages_that_are_damaged",
            "engines/test_native_kernels.py::test_what_the_rows_make_uncertain_is_left_to_spark[no UTF-8",
            "engines/test_spark_layouts.py::test_a_corrupt_file_is_named",
            "engines/test_spark_profiles.py::test_a_file_that_is_cut_off",
            "verification/test_told_by_footers.py::test_footers_tell_what_spark_finds_in_the_rows[damaged",
            "verification/test_told_by_groups.py::test_groups_are_told_as_spark_tells_them_however_files_are_written[dama",
            "verification/test_told_by_rows.py::test_rows_tell_what_spark_tells_however_files_are_written[damaged",
        ),
    ),
    (
        LAKES,
        "lakes have other types, and no file without a column of its table",
        (
            "engines/test_native_keys.py::test_files_that_hold_the_key_otherwise",
            "verification/test_told_by_rows.py::test_a_column_that_files_hold_otherwise",
            "verification/test_told_by_rows.py::test_what_might_mean_something_else_is_left_to_spark_with_all_that_is_asked_"
            "beside_it[distinct_count(fine)",
            "engines/test_native_kernels.py::test_files_that_hold_a_column_otherwise_are_measured_as_spark_measures_them[anot"
            "her kind",
            "engines/test_native_kernels.py::test_files_that_hold_a_column_otherwise_are_measured_as_spark_measures_them[with",
        ),
    ),
    (
        (ICEBERG, S3_ICEBERG),
        "Iceberg has no column item.one beside a field one of item",
        ("verification/test_both_forms.py::test_checks",),
    ),
)
_numbers = count()
_places: dict[tuple[str | None, ...], Table] = {}  # what was laid already
_plain: dict[str, str] = {}  # the folder of each table that was laid
_owners: list[S3FileSystem] = []
_temporary: list[TemporaryDirectory[str]] = []  # removed when the process ends


@contextmanager
def running(storage: str = CHOSEN) -> Iterator[None]:
    """The server of the storage, if it needs one, as the settings name it."""
    if not storage.startswith(S3):
        yield
        return
    from tests.integration.engines.stored import store

    with store() as owner:
        _owners.append(owner)
        yield
        _owners.remove(owner)


def leave_out(items: list[pytest.Item]) -> None:
    """Skip what needs a folder, and say why; UsageError for a storage that is none."""
    if CHOSEN not in STORAGES:
        raise pytest.UsageError(f"ASSAY_TEST_STORAGE={CHOSEN} is none of {', '.join(STORAGES)}")
    for item in items if CHOSEN != FOLDER else ():
        place = item.nodeid.removeprefix("tests/integration/")
        reasons = [why for where, why, starts in EXCLUDED if CHOSEN in where and place.startswith(tuple(starts))]
        if reasons:
            item.add_marker(pytest.mark.skip(reason=f"not over {CHOSEN}: {reasons[0]}"))


def stored(table: Table, storage: str = CHOSEN) -> Table:
    """The same rows in the storage, given a folder as it is now; without files it stays a folder."""
    listing = _listing(table) if storage != FOLDER else None
    if listing is None or not listing.files:
        return table
    laid_already = (table.location, listing.fingerprint, table.partition_column, storage)
    if laid_already not in _places:
        folder = _root() / str(next(_numbers))
        folder.mkdir()
        lay = _lay_in_store if storage == S3 else _lay_in_lake
        _places[laid_already] = lay(table, listing, folder, storage)
    place = _places[laid_already]
    return replace(table, storage=place.storage, location=place.location)


@contextmanager
def in_catalog(session: SparkSession, table: Table) -> Iterator[Table]:
    """The files of a folder as a table of the session's catalog."""
    name = f"drawn_{next(_numbers)}"
    session.sql(f"create table {name} using parquet location '{table.location}'")
    _plain[name] = table.location
    try:
        yield replace(table, storage=TABLE, location=name)
    finally:
        session.sql(f"drop table {name}")


def as_orc(session: SparkSession, table: Table, folder: Path, *, by_spark: bool) -> Table:
    """The rows of a folder of parquet as ORC: those of each file by Arrow, or those that are as the newest by Spark."""
    from tests.integration.engines.laid import storable_rows

    listing = list_part(table, WHOLE)
    rows = storable_rows(listing, lake=DELTA)
    if by_spark:
        newest = rows[listing.files.index(listing.newest)]
        together = pa.concat_tables([part for part in rows if part.schema == newest.schema])
        session.createDataFrame(together).repartition(2).write.orc(str(folder))
    else:
        folder.mkdir()
        for at, (part, file) in enumerate(zip(rows, listing.files, strict=True)):
            orc.write_table(part, folder / f"{at}.orc", compression="zstd" if at % 2 else "snappy", stripe_size=1024)
            os.utime(folder / f"{at}.orc", ns=(file.mtime_ns, file.mtime_ns))
    return replace(table, storage=ORC, location=str(folder))


def plain(table: Table) -> Table:
    """A folder of parquet with just the rows and the types of a table that ``stored`` gave."""
    place = _plain.get(table.location)
    return table if place is None else replace(table, storage="parquet", location=place)


def without_places(measured: Mapping[str, Measured]) -> dict[str, Measured]:
    """What was measured, with no more of failures than their reasons where ``plain`` lies elsewhere than ``stored``."""
    if CHOSEN == FOLDER:
        return dict(measured)
    return {
        key: replace(item, failure=replace(item.failure, detail="")) if item.failure else item
        for key, item in measured.items()
    }


def _listing(table: Table) -> Listing | None:
    try:
        return list_part(table, WHOLE)
    except UnableToListFiles:
        return None


@cache
def _root() -> Path:
    _temporary.append(TemporaryDirectory(prefix="assay-tables-"))
    return Path(_temporary[0].name)


def _lay_in_store(table: Table, listing: Listing, folder: Path, storage: str) -> Table:
    from tests.integration.engines.stored import put

    place = f"lake/{folder.name}"
    put(_owners[-1], Path(table.location), place)
    _plain[f"s3://{place}"] = table.location
    return replace(table, location=f"s3://{place}")


def _lay_in_lake(table: Table, listing: Listing, folder: Path, storage: str) -> Table:
    from tests.integration.engines.laid import lay_delta, lay_iceberg, storable_rows
    from tests.integration.engines.stored import SECRET

    lake = DELTA if storage == DELTA else ICEBERG
    rows = storable_rows(listing, lake=lake)
    newest = rows[listing.files.index(listing.newest)].schema
    keys = list(listing.folder_columns)
    if not keys and all(table.partition_column in part.column_names for part in rows):
        keys = [str(table.partition_column)]
    if lake == DELTA:
        location = lay_delta(rows, newest, keys, folder / "delta")
    elif storage == ICEBERG:
        location = lay_iceberg(rows, newest, keys, f"file://{folder}/warehouse", folder, {})
    else:
        properties = {"s3.endpoint": config().object_stores[0].endpoint, "s3.region": "us-east-1"}
        properties |= {"s3.access-key-id": "k", "s3.secret-access-key": SECRET}
        location = lay_iceberg(rows, newest, keys, f"s3://lake/{folder.name}", folder, properties)
    location = location.removeprefix("file://")
    _plain[location] = str(folder / "plain")
    _write_plain(rows, listing, folder / "plain")
    return replace(table, storage=lake, location=location)


def _write_plain(rows: Sequence[pa.Table], listing: Listing, folder: Path) -> None:
    """A file for each of the listing's, of which the same is the newest; what folders named is a column."""
    folder.mkdir()
    for at, (part, file) in enumerate(zip(rows, listing.files, strict=True)):
        path = folder / f"{at:06}.parquet"
        pq.write_table(part, path)
        os.utime(path, ns=(file.mtime_ns, file.mtime_ns))
