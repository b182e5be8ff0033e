"""What readers follow to published data: a manifest, a partition of a signal table, or a row of a database."""

import json
import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from .atomic_files import create_folder, replace_file
from .document import CHECKSUM, Document, UnableToReadDocument, read_document, written

SIGNAL_FILE = "signal.parquet"
KINDS = "manifest:FOLDER, signal:FOLDER or sql:VARIABLE:TABLE"


class UnableToPoint(Exception):
    """A pointer that is written wrongly, or cannot be moved; the message says how to mend it."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Whose window a pointer is of."""

    dataset: str
    partition: str


class Pointer(Protocol):
    """One kind of pointer, to one window of one dataset."""

    def says(self) -> str | None:
        """The checksum of the document that readers see now; None where there is none, or none of ours."""
        ...

    def move(self, document: Document) -> None:
        """Have readers see the document: each of them sees all of the old one, or all of this one."""
        ...


def pointer_to(text: str, place: Place) -> Pointer:
    """The pointer that ``--to`` names, for one window; raises UnableToPoint."""
    kind, _, rest = text.partition(":")
    if kind in ("manifest", "signal") and rest:
        if "://" in rest:
            raise UnableToPoint(f"{text}: only folders of this machine, or mounted on it, can be written atomically")
        folder = Path(rest).absolute()
        return Manifest(folder, place) if kind == "manifest" else Signal(folder, place)
    if kind == "sql" and rest.count(":") == 1:
        variable, _, table = rest.partition(":")
        return SqlRow(variable, table, place)
    raise UnableToPoint(f"{text!r} is no pointer: write {KINDS}")


class Manifest:
    """A JSON file ``_PUBLISHED_<partition>.json`` in a folder; engines do not read it as data."""

    def __init__(self, folder: Path, place: Place) -> None:
        self.path = folder / f"_PUBLISHED_{quote(place.partition, safe=' ')}.json"

    def says(self) -> str | None:
        """The checksum of the document in the file."""
        try:
            return str(read_document(self.path.read_text())[CHECKSUM])
        except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError, UnableToReadDocument):
            return None

    def move(self, document: Document) -> None:
        """Replace the file."""
        replace_file(self.path, written(document).encode())


class Signal:
    """A partition of a table of signals: ``dataset=…/partition=…/signal.parquet``, with one row."""

    def __init__(self, folder: Path, place: Place) -> None:
        parent = folder / f"dataset={quote(place.dataset, safe=' ')}"
        self.path = parent / f"partition={quote(place.partition, safe=' ')}"

    def says(self) -> str | None:
        """The checksum in the row."""
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            rows = ParquetFile(self.path / SIGNAL_FILE).read(["document"]).to_pylist()
            return str(read_document(rows[0]["document"])[CHECKSUM])
        except (ArrowException, OSError, LookupError, UnableToReadDocument):
            return None

    def move(self, document: Document) -> None:
        """Create the partition whole; where it is there already, replace its one file."""
        content = _signal(document)
        create_folder(self.path, {SIGNAL_FILE: lambda path: path.write_bytes(content)})
        if self.says() != document[CHECKSUM]:
            replace_file(self.path / SIGNAL_FILE, content)


def _signal(document: Document) -> bytes:
    """A parquet file with one row."""
    import pyarrow
    from pyarrow.parquet import write_table

    row = {**{name: document[name] for name in SIGNAL_COLUMNS}, "document": written(document)}
    content = BytesIO()
    write_table(pyarrow.table({name: [value] for name, value in row.items()}), content)
    return content.getvalue()


SIGNAL_COLUMNS = ("window", "location", "fingerprint", "decided_at", "published_by", "sha256")


class SqlRow:
    """The row of a window in a table that SQLAlchemy writes; an environment variable holds the database's URL."""

    def __init__(self, variable: str, table: str, place: Place) -> None:
        from sqlalchemy import Column, MetaData, String, Table, Text, create_engine
        from sqlalchemy.exc import ArgumentError

        if not (url := os.environ.get(variable, "")):
            raise UnableToPoint(f"the environment variable {variable} is to hold the database's URL; it is empty")
        try:
            self._engine = create_engine(url)
        except (ArgumentError, ImportError) as error:
            why = type(error).__name__
            raise UnableToPoint(f"the environment variable {variable} holds no URL that can be used: {why}") from None
        texts = ("window", "fingerprint", "decided_at", "published_by", "sha256")
        self._table = Table(
            table,
            MetaData(),
            Column("dataset", String(255), primary_key=True),
            Column("partition", String(100), primary_key=True),
            Column("location", Text, nullable=False),
            Column("document", Text, nullable=False),
            *(Column(name, String(200), nullable=False) for name in texts),
        )
        self._key = {"dataset": place.dataset, "partition": place.partition}

    def says(self) -> str | None:
        """The checksum of the document in the row."""
        from sqlalchemy import inspect, select
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                if not inspect(connection).has_table(self._table.name):
                    return None
                query = select(self._table.c.document).filter_by(**self._key)
                text = connection.execute(query).scalar_one_or_none()
            return None if text is None else str(read_document(text)[CHECKSUM])
        except UnableToReadDocument:
            return None
        except SQLAlchemyError as error:
            raise UnableToPoint(f"the table {self._table.name} cannot be read: {type(error).__name__}") from None

    def move(self, document: Document) -> None:
        """Write the row in place of the one before, in one transaction; the table is made where it is missing."""
        from sqlalchemy import delete, insert
        from sqlalchemy.exc import SQLAlchemyError

        row: dict[str, Any] = {**self._key, "document": json.dumps(document)}
        row |= {column.name: document[column.name] for column in self._table.columns if column.name not in row}
        try:
            self._table.create(self._engine, checkfirst=True)
            with self._engine.begin() as connection:
                connection.execute(delete(self._table).filter_by(**self._key))
                connection.execute(insert(self._table), row)
        except SQLAlchemyError as error:
            raise UnableToPoint(f"the table {self._table.name} cannot be written: {type(error).__name__}") from None
