"""Read the cells of a broken part of a table and of past ones by its engine, and explain the one by the others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import pyarrow as pa
import pyarrow.compute as pc

from assay.catalog.profile import FILES
from execution_engine.attribution import FEWEST_DAYS, MOST_COLUMNS, Explanation, cells_of, explain
from execution_engine.engines.files.footers import read_columns
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.protocol import Engine, MeasurementRequest, Part, Table, Unit
from execution_engine.metrics.definitions.uniqueness import APPROX_COUNT_DISTINCT, COUNT_DISTINCT
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues

from .rules import (
    MANY_VALUES,
    MOST_VALUES,
    NEW_VALUES,
    Subject,
    columns_worth_counting,
    recurs,
    single_score,
    too_many,
)

NO_COLUMN = f"no column has {MOST_VALUES} values or fewer"
WEAKER = "its values alone explain less"


class UnableToSearch(Exception):
    """There is nothing to search; the message goes on after "Not looked into:"."""

    def __init__(self, reason: str, left_out: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.left_out = left_out or {}


@dataclass(kw_only=True)
class CellReader:
    """Counts cells of one table; what cannot be searched is noted in ``left_out``, with the reason."""

    engine: Engine
    table: Table
    subject: Subject
    types: Mapping[str, str]
    left_out: dict[str, str] = field(default_factory=dict)

    def few_valued(self, part: Part, columns: Sequence[str]) -> list[str]:
        """Those of the columns that have few values in the part, by a count that may be off by some."""
        name = (COUNT_DISTINCT if self.table.storage == "sql" else APPROX_COUNT_DISTINCT).signature.name
        requests = [
            MeasurementRequest(key=column, spec=MetricSpec(name=name, columns=(written(column),))) for column in columns
        ]
        measured = self.engine.scan(self.table, part, requests).measured
        few = []
        for column in columns:
            result = measured[column]
            if result.failure is not None:
                self.left_out[column] = f"cannot be counted: {result.failure.reason}"
            elif (result.value or 0) > 1.2 * MOST_VALUES:  # the sketch is off by less
                self.left_out[column] = MANY_VALUES
            else:
                few.append(column)
        return few

    def tables(self, parts: Sequence[Part], sets: Sequence[Sequence[str]]) -> list[list[pa.Table | None]]:
        """For each set of columns its cells in each part; None where it cannot be counted.

        Each part is read once, all of them together.
        """
        specs = {f"{at} {name}": spec for at, by in enumerate(sets) for name, spec in self.subject.requests(by).items()}
        requests = tuple(MeasurementRequest(key=key, spec=spec, keep_state=True) for key, spec in specs.items())
        reports = self.engine.scan_all([Unit(table=self.table, part=part, requests=requests) for part in parts])
        tables: list[list[pa.Table | None]] = [[None] * len(parts) for _ in sets]
        for nth, report in enumerate(reports):
            for at, by in enumerate(sets):
                results = {name: report.measured[f"{at} {name}"] for name in self.subject.requests(by)}
                if failure := next((result.failure for result in results.values() if result.failure), None):
                    self.left_out.update(dict.fromkeys(by, f"cannot be counted: {failure.reason}"))
                    continue
                groups = {name: GroupValues.from_bytes(result.state or b"").groups for name, result in results.items()}
                try:
                    tables[at][nth] = self.subject.cells(by, self.types, groups)
                except pa.ArrowInvalid:  # a text, where the newest window has whole numbers
                    self.left_out.update(dict.fromkeys(by, "its type is another on some of the windows"))
        return tables


def explain_part(
    engine: Engine, table: Table, part: Part, past: Sequence[Part], subject: Subject, *, sensitive: Collection[str] = ()
) -> Explanation:
    """What explains the part beside past ones, the oldest first. Raises UnableToSearch."""
    types = column_types(table, part)
    columns, left_out = columns_worth_counting(
        types, partition_column=table.partition_column, sensitive=sensitive, subject=subject
    )
    reader = CellReader(engine=engine, table=table, subject=subject, types=types, left_out=left_out)
    searched = _with_few_values(reader, part, columns)
    if not searched:
        raise UnableToSearch(NO_COLUMN, reader.left_out)
    cells = reader.tables([*past, part], [searched])[0] if len(searched) <= MOST_COLUMNS else [None]
    if any(day is None for day in cells):
        searched, parts = _best(reader, [*past, part], searched)
        cells = reader.tables(parts, [searched])[0] if searched else [None]
    days = [day for day in cells if day is not None]
    if len(days) < len(cells):
        raise UnableToSearch("the cells of its columns cannot be counted on some of the windows", reader.left_out)
    cells = with_rows(days)
    if len(cells) <= FEWEST_DAYS:
        raise UnableToSearch(
            f"{len(cells) - 1} windows of the past have rows, fewer than {FEWEST_DAYS}", reader.left_out
        )
    searched = _with_a_past(reader, searched, cells)
    if not searched:
        raise UnableToSearch("no column has values that come back", reader.left_out)
    return explain(cells_of(subject.measure, searched, cells, left_out=reader.left_out))


def _with_a_past(reader: CellReader, columns: Sequence[str], days: Sequence[pa.Table]) -> list[str]:
    """Those of the columns whose values come back; the others are noted."""
    recurring = [column for column in columns if recurs(column, days[:-1])]
    reader.left_out.update((column, NEW_VALUES) for column in columns if column not in recurring)
    return recurring


def with_rows(days: Sequence[pa.Table]) -> list[pa.Table]:
    """The past days that have any, and the last day: where no files tell it, a day that is not there has none."""
    return [*(day for day in days[:-1] if len(day)), days[-1]]


def _with_few_values(reader: CellReader, part: Part, columns: Sequence[str]) -> list[str]:
    """Those of the columns that have few values in the part; the others are noted with the reason."""
    few = reader.few_valued(part, columns) if columns else []
    if not few:
        return []
    searched = []
    for column, tables in zip(few, reader.tables([part], [[column] for column in few]), strict=True):
        (cells,) = tables
        if cells is None:
            continue
        if reason := too_many(cells[column].to_pylist()):
            reader.left_out[column] = reason
        else:
            searched.append(column)
    return searched


def _best(reader: CellReader, parts: Sequence[Part], columns: Sequence[str]) -> tuple[list[str], list[Part]]:
    """The columns whose single values explain the last day best, in the order of the table; and the parts to read.

    A part in which none can be counted, as its file is damaged, is left out; so is a column that another part lacks.
    """
    measure = reader.subject.measure
    tables = reader.tables(parts, [[column] for column in columns])
    is_readable = [any(day is not None for day in days) for days in zip(*tables, strict=True)]
    if not is_readable[-1]:  # it was a moment ago
        return [], []
    scores = {}
    for column, cells in zip(columns, tables, strict=True):
        days = [day for day in cells if day is not None]
        if len(days) < sum(is_readable):
            continue
        if len(pc.unique(pa.concat_tables(days)[column])) < 2:
            reader.left_out[column] = "it has one value"
        elif _with_a_past(reader, [column], days):
            scores[column] = single_score(measure, column, with_rows(days))
    best = sorted(scores, key=lambda column: -scores[column])[:MOST_COLUMNS]
    for column in scores:
        if column in best:
            reader.left_out.pop(column, None)
        else:
            reader.left_out[column] = WEAKER
    return [column for column in columns if column in best], list(compress(parts, is_readable))


def column_types(table: Table, part: Part) -> dict[str, str]:
    """The columns of the newest file of the part with the types of Spark; where no file says it, the declared ones."""
    if table.storage in FILES:
        try:
            return read_columns(list_part(table, part))
        except UnableToListFiles:
            pass
    return {name: type_.lower() for name, type_ in table.columns.items()}
