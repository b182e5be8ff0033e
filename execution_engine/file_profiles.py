"""The profile of files as a whole: those that a path names, or those of a dataset of the catalog."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyarrow.fs import FileInfo
from rich.console import Console
from rich.progress import Progress

from assay.catalog.selectors import asked_window, sensitive_columns
from assay.command_line.command import UnableToRun, key_values
from assay.time.windows import UnableToReadWindow
from execution_engine.engines.arrow.profiles import batches_of
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE, Part, Table
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import Profile
from execution_engine.verification.data import name_of, names_files, table_of

from . import storage
from .file_windows import dataset_named, files_of


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the rows are, and the columns whose values must not be told, in lower case."""

    table: Table
    part: Part = WHOLE
    hidden: frozenset[str] = frozenset()


def place_named(name: str, window: str | None, option: Sequence[str]) -> Place:
    """A path or URL, else a dataset, of which the database must be ready; raises UnableToRun."""
    if not names_files(name):
        return _of_dataset(name, window)
    if window:
        raise UnableToRun("--window is of a dataset of the catalog: give the path of the partition instead")
    try:
        return Place(table=table_of(name, name_of(name), key_values(option)))
    except ValueError as error:
        raise UnableToRun(str(error)) from None


def profile_of_place(place: Place, start: float | None = None, *, quiet: bool) -> Profile:
    """Of all rows, with times counted from ``start``; raises UnableToRun."""
    table = place.table
    try:
        listing = list_part(table, place.part)
        if not listing.files:
            raise UnableToRun(f"{table.place} has no files")
        if listing.filtered:
            raise UnableToRun(f"{table.name} keeps its partitions inside the files: leave --window out")
        with _told(listing, quiet=quiet) as read:
            return gathered_profile(batches_of(table, listing, read), start)
    except UnableToListFiles as error:
        raise UnableToRun(str(error.failure.detail)) from None


def _of_dataset(name: str, window: str | None) -> Place:
    dataset = dataset_named(name)
    table = files_of(dataset)
    engine = storage.engine_of_storage(table.storage)
    try:
        part = storage.part_of(dataset, asked_window(dataset, window), engine, table) if window else WHOLE
    except UnableToReadWindow as error:
        raise UnableToRun(str(error)) from None
    return Place(table=table, part=part, hidden=frozenset(sensitive_columns(dataset)))


@contextmanager
def _told(listing: Listing, *, quiet: bool) -> Iterator[Any]:
    """A bar of the bytes that are read, for people who wait."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("reading", total=listing.size)

        def read(file: FileInfo) -> None:
            progress.advance(task, file.size)

        yield read
