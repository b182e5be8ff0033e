"""What the kernels are given to read of a part: its plain columns, and its files by their row groups."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import pyarrow as pa

from execution_engine.engines.files.footer_statistics import FooterStatistics
from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.files.listing import Listing
from execution_engine.engines.native.reading import Piece, Stored
from execution_engine.engines.native.values import family_of
from execution_engine.metrics.columns import written


def stored_columns(listing: Listing, columns: Mapping[str, str]) -> dict[str, Stored]:
    """The plain columns, as they are stored in the newest file, and those that the names of folders hold.

    ``columns``: as assertions write them → Spark's type.
    """
    found = dict(_plain_columns(listing.schema, tuple(columns.items())))
    return found | {name.lower(): Stored(spark="string", arrow=pa.string()) for name in listing.folder_columns}


@lru_cache(maxsize=64)  # many tables and windows are alike
def _plain_columns(schema: pa.Schema, columns: tuple[tuple[str, str], ...]) -> Mapping[str, Stored]:
    found: dict[str, Stored] = {}
    names = Counter(name.lower() for name in schema.names)
    types = {name.lower(): type_ for name, type_ in columns}
    for name, type_ in zip(schema.names, schema.types, strict=True):
        spark = spark_type_of(type_)
        if spark is None or family_of(spark) is None or types.get(written(name).lower()) != spark:
            continue
        if names[name.lower()] == 1 and "." not in name:
            found[name.lower()] = Stored(spark=spark, arrow=type_)
    return found


def pieces_of(listing: Listing, footers: FooterStatistics) -> Iterator[tuple[Piece, Sequence[int]]]:
    """Each file with the row groups that have rows, and how many."""
    for file in listing.files:
        rows = footers.groups[file.path]
        folders = {name.lower(): value for name, value in listing.folder_values(file).items()}
        groups = tuple(at for at, count in enumerate(rows) if count)
        piece = Piece(path=file.path, groups=groups, size=file.size, mtime_ns=file.mtime_ns, folders=folders)
        yield piece, [rows[at] for at in groups]
