"""The profile of a DataFrame, a table or files, for people who write Python."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from execution_engine.engines.arrow.profiles import batches_of
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE, Engine, Table, Wanted
from execution_engine.metrics.spec import MetricSpec
from execution_engine.profiles import profile as profiles
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.report import described, page_of, text_of
from execution_engine.profiles.stored import from_bytes

from .data import name_of, names_files, reader_of, table_of

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyarrow import Table as ArrowTable
    from pyspark.sql import DataFrame

_PROFILE = "profile"


class UnableToProfile(ValueError):
    """The data cannot be profiled; the message says why, and how to mend that.

    Example:
        >>> Profile.of("nowhere/rides.parquet")
        Traceback (most recent call last):
        ...
        execution_engine.verification.profile.UnableToProfile: ...nowhere/rides.parquet...
    """


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What data looks like, column by column, as ``assay profile`` tells it. ``Profile.of(data)`` makes one;
    ``print`` shows a line for each column, then what looks odd.

    Fields:
        name: what the data is called.
        rows: the number of rows.
        columns: by the name of a column what is known of it, such as ``complete``, ``distinct``, ``values``,
            ``numbers``, ``texts`` and ``lints`` (docs/profiles.md). Shares are numbers from 0 to 1, times texts in ISO
            8601.
        profiled_rows: the number of rows that the columns speak of: of a large table that Spark reads, a sample.

    Errors: none.

    Example:
        >>> empty = Profile(name="rides", rows=0, columns={}, profiled_rows=0)
        >>> empty.rows
        0
    """

    name: str
    rows: int
    columns: Mapping[str, Mapping[str, Any]]
    profiled_rows: int

    @classmethod
    def of(
        cls,
        data: "DataFrame | PandasFrame | ArrowTable | Table | str | Path",
        name: str = "",
        *,
        engine: Engine | None = None,
    ) -> "Profile":
        """Read the data once, and describe each of its columns.

        Parameters:
            data: a DataFrame of Spark or of pandas, an Arrow table, the path or URL of a file or folder (parquet, ORC,
                CSV, JSON), the name of a table of Spark's catalog, or a ``Table`` of the engines.
            name: what the data is called. Without one, the name of its file or table.
            engine: what reads a table of Spark's catalog. Without one, a process of its own does.

        Errors:
            UnableToProfile: the data cannot be read, or two of its columns have one name.

        Example:
            >>> import pyarrow as pa
            >>> found = Profile.of(pa.table({"city": ["rome", "oslo", None], "fare": [4.0, 8.0, 12.0]}), "rides")
            >>> found.rows, found.columns["city"]["complete"], found.columns["fare"]["numbers"]["mean"]
            (3, 0.6666666666666666, 8)
        """
        gathered = _gathered(data, name, engine)
        told = described(gathered)
        return cls(
            name=name or _name(data),
            rows=told["rows"],
            columns={each["name"]: each for each in told["columns"]},
            profiled_rows=told["profiled_rows"],
        )

    def to_json(self) -> str:
        """The profile as the text of a JSON object, as ``assay profile --json`` writes it.

        Errors: none.

        Example:
            >>> Profile(name="rides", rows=0, columns={}, profiled_rows=0).to_json()
            '{"table": "rides", "rows": 0, "profiled_rows": 0, "columns": []}'
        """
        return json.dumps({"table": self.name, **self._told()}, ensure_ascii=False)

    def to_html(self) -> str:
        """One page with small plots, as ``assay profile --html`` writes it: it needs no other file and no script.

        Errors: none.

        Example:
            >>> empty = Profile(name="rides", rows=0, columns={}, profiled_rows=0)
            >>> "<title>rides</title>" in empty.to_html()
            True
        """
        return page_of(self.name, self._told())

    def __str__(self) -> str:
        return text_of(self.name, self._told())

    def _told(self) -> dict[str, Any]:
        """As ``described`` tells it."""
        return {"rows": self.rows, "profiled_rows": self.profiled_rows, "columns": list(self.columns.values())}


def _gathered(data: Any, name: str, engine: Engine | None) -> profiles.Profile:
    if isinstance(data, str | Path) and (isinstance(data, Path) or names_files(data)):
        return _of_files(table_of(data, name or name_of(data)))
    if isinstance(data, pa.Table):
        return _of_arrow(data)
    if type(data).__module__.split(".")[0] == "pandas":
        return _of_arrow(_from_pandas(data))
    if not isinstance(data, str | Table):
        _demand_names(data.columns)
    wanted = [Wanted(key=_PROFILE, spec=MetricSpec(name=_PROFILE))]
    found = reader_of(data, name or name_of(data), engine).scan(wanted).measured[_PROFILE]
    if found.failure is not None or found.state is None:
        raise UnableToProfile(f"{name or _name(data)}: {found.failure}")
    return from_bytes(found.state)


def _of_files(table: Table) -> profiles.Profile:
    try:
        listing = list_part(table, WHOLE)
        if not listing.files:
            raise UnableToProfile(f"{table.place} has no files: write the path of a file or folder that has some")
        return gathered_profile(batches_of(table, listing))
    except UnableToListFiles as error:
        raise UnableToProfile(str(error.failure.detail)) from None


def _of_arrow(table: pa.Table) -> profiles.Profile:
    _demand_names(table.column_names)
    return gathered_profile([table])


def _from_pandas(frame: "PandasFrame") -> pa.Table:
    _demand_names(list(frame.columns))
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UnableToProfile(f"{error}: give each column values of one type") from None


def _demand_names(names: list[Any]) -> None:
    """Raises UnableToProfile unless they are texts, each once."""
    if wrong := next((name for name in names if not isinstance(name, str)), None):
        raise UnableToProfile(f"a column is named {wrong!r}, which is no text: rename it")
    if twice := next(_repeated(names), None):
        raise UnableToProfile(f"two columns are named {twice!r}: rename one of them")


def _repeated(names: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def _name(data: Any) -> str:
    return name_of(data) if isinstance(data, str | Path | Table) else "data"
