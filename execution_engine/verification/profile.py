"""The profile of a DataFrame, a table or files, for people who write Python."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.native.profiles import batches_of
from execution_engine.engines.protocol import WHOLE, Engine, MeasurementRequest, Table
from execution_engine.metrics.spec import MetricSpec
from execution_engine.profiles import profile as profiles
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.report import described, page_of, text_of
from execution_engine.profiles.stored import from_bytes

from .data import name_of, names_files, scan, table_of

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyarrow import Table as ArrowTable
    from pyspark.sql import DataFrame

_PROFILE = "profile"


class UnableToProfile(ValueError):
    """The data cannot be profiled; the message says why, and how to mend that."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What data looks like, column by column, as ``assay profile`` tells it. ``Profile.of(data)`` makes one;
    ``print`` shows a line for each column, then what looks odd.

    ``columns`` has by the name of a column what is known of it, such as ``complete``, ``distinct``, ``values``,
    ``numbers``, ``texts`` and ``lints`` (docs/profiles.md). Shares are numbers from 0 to 1, times texts in ISO 8601.
    ``profiled_rows`` is the number of rows that the columns speak of: of a large table that Spark reads, a sample.
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

        ``data`` is a DataFrame of Spark or of pandas, an Arrow table, the path or URL of a file or folder (parquet,
        ORC, CSV, JSON), the name of a table of Spark's catalog, or a ``Table`` of the engines. UnableToProfile: it
        cannot be read, or two of its columns have one name.
        """
        title = name or (name_of(data) if isinstance(data, str | Path | Table) else "data")
        profile = described(_gather(data, name or name_of(data), title, engine))
        return cls(
            name=title,
            rows=profile["rows"],
            columns={column["name"]: column for column in profile["columns"]},
            profiled_rows=profile["profiled_rows"],
        )

    def to_json(self) -> str:
        """The profile as the text of a JSON object, as ``assay profile --json`` writes it."""
        return json.dumps({"table": self.name, **self._described()}, ensure_ascii=False)

    def to_html(self) -> str:
        """One page with small plots, as ``assay profile --html`` writes it: it needs no other file and no script."""
        return page_of(self.name, self._described())

    def __str__(self) -> str:
        return text_of(self.name, self._described())

    def _described(self) -> dict[str, Any]:
        return {"rows": self.rows, "profiled_rows": self.profiled_rows, "columns": list(self.columns.values())}


def _gather(data: Any, name: str, title: str, engine: Engine | None) -> profiles.TableProfile:
    if isinstance(data, Path) or (isinstance(data, str) and names_files(data)):
        table = table_of(data, name)
        try:
            listing = list_part(table, WHOLE)
            if not listing.files:
                raise UnableToProfile(f"{table.place} has no files: write the path of a file or folder that has some")
            return gathered_profile(batches_of(table, listing))
        except UnableToListFiles as error:
            raise UnableToProfile(str(error.failure.detail)) from None
    if isinstance(data, pa.Table):
        _demand_names(data.column_names)
        return gathered_profile([data])
    if not isinstance(data, str | Table):
        _demand_names(list(data.columns))
    if type(data).__module__.split(".")[0] == "pandas":
        try:
            return gathered_profile([pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise UnableToProfile(f"{error}: give each column values of one type") from None
    requests = [MeasurementRequest(key=_PROFILE, spec=MetricSpec(name=_PROFILE))]
    measured = scan(data, name, engine, requests).measured[_PROFILE]
    if measured.failure is not None or measured.state is None:
        raise UnableToProfile(f"{title}: {measured.failure}")
    return from_bytes(measured.state)


def _demand_names(names: list[Any]) -> None:
    if wrong := next((name for name in names if not isinstance(name, str)), None):
        raise UnableToProfile(f"a column is named {wrong!r}, which is no text: rename it")
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise UnableToProfile(f"two columns are named {twice!r}: rename one of them")
