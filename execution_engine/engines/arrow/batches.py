"""The rows of files, batch by batch, as pyarrow reads them: for profiles, which need no Spark and no SQL."""

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, json, orc
from pyarrow.fs import FileInfo

from execution_engine.engines.files.listing import Listing, Root, UnableToListFiles, sound_footer
from execution_engine.engines.protocol import Table
from execution_engine.outcome import Failure, Reason

ROWS = 1 << 17  # of one batch
CSV_OPTIONS = ("delimiter", "quote", "header", "encoding")

Batches = Iterator[pa.RecordBatch]


def batches_of(table: Table, listing: Listing, read: Callable[[FileInfo], None] | None = None) -> Batches:
    """All rows of the files, with the columns that the names of their folders hold; ``read`` hears of each file.

    Raises UnableToListFiles for a file that cannot be read, and for an option that Arrow has no word for.
    """
    for file in listing.files:
        keys = listing.folder_values(file)
        try:
            for batch in _READERS[table.storage](listing.root, file, table.options):
                yield _with_keys(batch, keys)
        except (pa.ArrowException, OSError, ValueError) as error:
            detail = f"{file.path} cannot be read: {table.told(error)}"
            raise UnableToListFiles(Failure(reason=Reason.UNREADABLE, detail=detail)) from error
        if read is not None:
            read(file)


def _parquet(root: Root, file: FileInfo, options: Mapping[str, str]) -> Batches:
    with root.filesystem.open_input_file(file.path) as opened:
        parquet = pq.ParquetFile(opened)
        sound_footer(parquet.metadata, file.size)
        yield _nothing(parquet.schema_arrow)
        yield from parquet.iter_batches(ROWS)


def _orc(root: Root, file: FileInfo, options: Mapping[str, str]) -> Batches:
    with root.filesystem.open_input_file(file.path) as opened:
        stripes = orc.ORCFile(opened)
        yield _nothing(stripes.schema)
        for number in range(stripes.nstripes):
            yield stripes.read_stripe(number)


def _csv(root: Root, file: FileInfo, options: Mapping[str, str]) -> Batches:
    """Types by all of the file's rows, where they agree; else every column is of texts."""
    if unknown := sorted(set(options) - set(CSV_OPTIONS)):
        raise ValueError(f"a profile of CSV takes {', '.join(CSV_OPTIONS)}, not {unknown[0]}")
    has_header = options.get("header", "true").lower() != "false"
    reading = csv.ReadOptions(encoding=options.get("encoding", "utf8"), autogenerate_column_names=not has_header)
    tabs = file.base_name.split(".")[1:2] == ["tsv"]
    parsing = csv.ParseOptions(
        delimiter=options.get("delimiter", "\t" if tabs else ","),
        quote_char=options.get("quote", '"'),
        newlines_in_values=True,
    )
    with root.filesystem.open_input_stream(file.path) as opened:
        found = csv.read_csv(opened, reading, parsing, csv.ConvertOptions(strings_can_be_null=True))
    yield _nothing(found.schema)
    yield from found.to_batches(ROWS)


def _json(root: Root, file: FileInfo, options: Mapping[str, str]) -> Batches:
    if options:
        raise ValueError(f"a profile of JSON takes no options, not {next(iter(options))}")
    with root.filesystem.open_input_stream(file.path) as opened:
        yield from json.read_json(opened).to_batches(ROWS)


_READERS: Mapping[str, Callable[[Root, FileInfo, Mapping[str, str]], Batches]] = {
    "parquet": _parquet,
    "orc": _orc,
    "csv": _csv,
    "json": _json,
}


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a file that may have no rows."""
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


def _with_keys(batch: pa.RecordBatch, keys: Mapping[str, str | None]) -> pa.RecordBatch:
    for name, key in keys.items():
        if name not in batch.schema.names:
            values = pa.nulls(batch.num_rows, pa.string()) if key is None else pa.repeat(key, batch.num_rows)
            batch = batch.append_column(name, values)
    return batch
