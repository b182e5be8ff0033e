"""Profiles of small parquet files: their rows as Arrow reads them, without a job of Spark's."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv, json, orc
from pyarrow.fs import FileInfo

from assay.catalog.profile import PARQUET
from execution_engine.engines.files.footers import footer_statistics
from execution_engine.engines.files.listing import Listing, Root, UnableToListFiles, list_part
from execution_engine.engines.files.sound_footers import sound_footer
from execution_engine.engines.files.stores import store_failure
from execution_engine.engines.protocol import SMALL_BYTES, Measured, MeasurementRequest, Part, Table
from execution_engine.metrics.definitions.profile import PROFILE, profiled, start_of
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile
from execution_engine.profiles.stored import to_bytes

from .language import UnableToTell
from .local_scan import piece_of
from .measure import MOST_ROWS
from .reading import WHOLE_FILE, table_batches

# The rows of files, batch by batch, as pyarrow reads them: for profiles, which need no Spark and no SQL.

ROWS = 1 << 17  # of one batch
CSV_OPTIONS = (
    *("delimiter", "quote", "escape", "header", "encoding", "comment", "nullValue", "multiLine", "mode", "locale"),
    *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "dateFormat", "timestampFormat", "timestampNTZFormat"),
)
JSON_OPTIONS = ("multiLine", "mode")
_OF_JAVA = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}  # in its patterns of dates

Batches = Iterator[pa.RecordBatch]


def batches_of(table: Table, listing: Listing, read: Callable[[FileInfo], None] | None = None) -> Batches:
    """All rows of the files, with the columns that the names of their folders hold; ``read`` hears of each file.

    Raises UnableToListFiles for a file that cannot be read, and for an option that Arrow has no word for.
    """
    for file in listing.files:
        keys = {} if listing.snapshot else listing.folder_values(file)
        try:
            for batch in _batches_in(table, listing, file):
                for name, key in keys.items():
                    if name not in batch.schema.names:
                        rows = batch.num_rows
                        values = pa.nulls(rows, pa.string()) if key is None else pa.repeat(key, rows)
                        batch = batch.append_column(name, values)
                yield batch
        except (pa.ArrowException, OSError, ValueError, UnableToTell) as error:
            if failure := store_failure(listing.root.url(file.path), error):
                raise UnableToListFiles(failure.detail, failure.reason) from error
            raise UnableToListFiles(f"{file.path} cannot be read: {table.redact_error(error)}") from error
        if read is not None:
            read(file)


def _batches_in(table: Table, listing: Listing, file: FileInfo) -> Batches:
    root = listing.root
    if listing.snapshot:
        yield _nothing(listing.schema)
        yield from table_batches(piece_of(listing, file, WHOLE_FILE, root.open_store()), listing.schema)
        return
    match table.storage:
        case "parquet":
            with root.filesystem.open_input_file(file.path) as opened:
                parquet = pq.ParquetFile(opened)
                sound_footer(parquet.metadata, file.size)
                yield _nothing(parquet.schema_arrow)
                yield from parquet.iter_batches(ROWS)
        case "orc":
            with root.filesystem.open_input_file(file.path) as opened:
                stripes = orc.ORCFile(opened)
                yield _nothing(stripes.schema)
                for number in range(stripes.nstripes):
                    yield stripes.read_stripe(number)
        case "json":
            _check_known("JSON", table.options, JSON_OPTIONS)
            is_loose = table.options.get("multiLine", "").lower() == "true"
            with root.filesystem.open_input_stream(file.path) as opened:
                options = json.ParseOptions(newlines_in_values=is_loose)
                yield from json.read_json(opened, parse_options=options).to_batches(ROWS)
        case "csv":
            rows = _csv(root, file, table.options)
            yield _nothing(rows.schema)
            yield from rows.to_batches(ROWS)


def _csv(root: Root, file: FileInfo, options: Mapping[str, str]) -> pa.Table:
    """Types by all of the file's rows, where they agree; else every column is of texts.

    The options are Spark's. A record that does not fit is refused in both modes.
    """
    _check_known("CSV", options, CSV_OPTIONS)
    has_header = options.get("header", "true").lower() != "false"
    reading = csv.ReadOptions(encoding=options.get("encoding", "utf8"), autogenerate_column_names=not has_header)
    tabs = ".tsv" in PurePosixPath(file.base_name).suffixes[-2:]  # packed or not
    quote = options.get("quote", '"')
    escape = options.get("escape", quote)
    parsing = csv.ParseOptions(
        delimiter=options.get("delimiter", "\t" if tabs else ","),
        quote_char=quote,
        double_quote=escape == quote,
        escape_char=False if escape == quote else escape,
        newlines_in_values=True,
    )
    formats = []  # date patterns of Java's as C writes them
    for pattern in (options[name] for name in options if name.endswith("Format")):
        written = re.sub("|".join(_OF_JAVA), lambda part: _OF_JAVA[part[0]], pattern)
        if re.search(r"(?<!%)[A-Za-z]", written.replace("'T'", "")):
            raise ValueError(f"a profile reads dates of {', '.join(_OF_JAVA)}, not of {pattern!r}")
        formats.append(written.replace("'T'", "T"))
    converting = csv.ConvertOptions(
        strings_can_be_null=True,
        null_values=["", options["nullValue"]] if "nullValue" in options else None,
        timestamp_parsers=[*formats, csv.ISO8601] if formats else None,
    )
    with root.filesystem.open_input_stream(file.path) as opened:
        content = opened
        if mark := options.get("comment", "").encode():
            lines = opened.read().splitlines(keepends=True)
            content = pa.BufferReader(b"".join(line for line in lines if not line.startswith(mark)))
        table = csv.read_csv(content, reading, parsing, converting)
    # the space around texts that the options leave out
    sides = {"ignoreLeadingWhiteSpace": pc.utf8_ltrim_whitespace, "ignoreTrailingWhiteSpace": pc.utf8_rtrim_whitespace}
    for side in [trim for name, trim in sides.items() if options.get(name, "").lower() == "true"]:
        for at, column in enumerate(table.schema):
            if pa.types.is_string(column.type):
                table = table.set_column(at, column, side(table.column(at)))
    return table


def _check_known(kind: str, options: Mapping[str, str], option_names: Sequence[str]) -> None:
    if unknown := sorted(set(options) - set(option_names)):
        raise ValueError(f"a profile of {kind} takes {', '.join(option_names)}, not {unknown[0]}")


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a file that may have no rows."""
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


@dataclass(frozen=True, kw_only=True)
class MeasuredProfiles:
    """What Arrow has told of a part, by key, and the fingerprint of the data that it has read."""

    measured: dict[str, Measured] = field(default_factory=dict)
    fingerprint: str | None = None


def profiles_told(table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> MeasuredProfiles:
    """The profiles among what is wanted; none where the part is large, has no files of its own, or cannot be read."""
    profile_requests = [  # of rows that need no SQL
        item
        for item in requests
        if item.spec.name == PROFILE.name and item.spec.where is None and not item.spec.columns
    ]
    if not profile_requests or table.storage not in PARQUET:
        return MeasuredProfiles()
    try:
        listing = list_part(table, part)
        footers = None if listing.filtered else footer_statistics(listing)
        if not listing.files or footers is None or listing.size >= SMALL_BYTES or footers.rows > MOST_ROWS:
            return MeasuredProfiles()
        batches = [batch for batch in batches_of(table, listing) if batch.num_rows]
        measured = {}
        for item in profile_requests:
            own = [batch.select(profiled(item.spec, batch.schema.names)) for batch in batches]
            measured[item.key] = measured_profile(gathered_profile(own, start_of(item.spec)))
        return MeasuredProfiles(measured=measured, fingerprint=listing.fingerprint)
    except (UnableToListFiles, pa.ArrowException, OSError):  # the engine says what is wrong with them
        return MeasuredProfiles()


def measured_profile(profile: TableProfile) -> Measured:
    """The number of rows, with the profile as state."""
    return Measured(value=float(profile.all_rows), state=to_bytes(profile))
