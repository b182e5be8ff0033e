"""What a search for slices reads: what broke, as metrics of cells; like windows of the past; which columns (pure)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.attribution import (
    PAST_DAYS,
    Measure,
    cells_of,
    expectation_of,
    groups_of,
    likeliest_slice,
)
from execution_engine.engines.column_types import TypeKind, read_type
from execution_engine.exact import Number
from execution_engine.language.past import NOVEL
from execution_engine.language.tree import History, HistoryFunction, Node, metric_of, operands
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.expressions import path_of, written
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupKey
from execution_engine.novelty.statistics import STATISTICS

# What broke: a count, a sum, a mean or a share, which can be measured in each cell.

MEASURES = {ALL_ROWS.name: Measure.ROWS, "sum": Measure.SUM, "mean": Measure.MEAN, "completeness": Measure.SHARE}
UNKNOWN_SUBJECT = "its test measures no count, sum, mean or share of the table's own rows"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The metric that broke, without groups, and what kind of figure it is."""

    measure: Measure
    spec: MetricSpec

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it is of, in lower case: a value that is missing explains nothing but itself."""
        return frozenset(path_of(column)[0].casefold() for column in self.spec.columns)

    def requests(self, by: Sequence[str]) -> dict[str, MetricSpec]:
        """The metrics that tell what a cell has, by the name of the figure."""
        specs = {"rows": replace(ALL_ROWS, where=self.spec.where)}
        if self.measure is Measure.MEAN:
            names = {"mean": "mean", "present": "completeness", "deviation": "stddev"}
            specs |= {figure: replace(self.spec, name=name) for figure, name in names.items()}
        elif self.measure is not Measure.ROWS:
            specs["figure"] = self.spec
        return {name: replace(spec, by=tuple(map(written, by))) for name, spec in specs.items()}

    def cells(self, by: Sequence[str], types: Mapping[str, str], groups: Mapping[str, "Groups"]) -> pa.Table:
        """What was measured as ``attribution.cells_of`` takes it; values are of the types of their columns.

        Raises pyarrow's ArrowInvalid where a value is not of that type, as the column has been of another one.
        """
        keys = list(groups["rows"])
        figures = {
            name: np.array([float(values.get(key) or 0) for key in keys], float) for name, values in groups.items()
        }
        rows = figures["rows"]
        match self.measure:
            case Measure.ROWS:
                parts = {"part": rows}
            case Measure.SUM:
                parts = {"part": figures["figure"], "whole": rows}
            case Measure.SHARE:
                parts = {"part": figures["figure"] * rows, "whole": rows}
            case Measure.MEAN:
                present, mean = figures["present"] * rows, figures["mean"]
                squares = present * (figures["deviation"] ** 2 + mean**2)
                parts = {"part": present * mean, "whole": present, "squares": squares}
        columns = {
            name: pa.array([key[at] for key in keys], pa.string()).cast(ARROW_TYPES[kind_of(types[name])])
            for at, name in enumerate(by)
        }
        return pa.table(columns | parts)


Groups = Mapping[GroupKey, Number | None]


def subject_of(tree: Node, findings: Mapping[str, Any], *, misses_rows: bool = False) -> Subject | None:
    """What an assertion measures of its own rows; of novelty what moved most of that kind.

    ``misses_rows``: the test compares with other data, and breaks where rows are missing, which are counted here.
    """
    for operand in operands(tree):
        metric = metric_of(operand)
        if metric.dataset or metric.datacenter or "{{" in metric.spec.text:
            continue
        spec = replace(metric.spec, by=())
        if isinstance(operand, History) and operand.function is HistoryFunction.NOVELTY:
            causes = [cause for finding in findings.get(NOVEL, ()) for cause in finding.get("causes", ())]
            if subject := _moved(causes, spec.where):
                return subject
        elif spec.name in MEASURES:
            return Subject(measure=MEASURES[spec.name], spec=spec)
        elif (definition := METRICS.get(spec.name)) and definition.is_share and definition.groupable:
            return Subject(measure=Measure.SHARE, spec=spec)
    return Subject(measure=Measure.ROWS, spec=ALL_ROWS) if misses_rows else None


def _moved(causes: Iterable[Mapping[str, Any]], where: str | None) -> Subject | None:
    """Of the first statistic that can be measured in cells."""
    for cause in causes:
        column = written(cause["column"]) if cause.get("column") else ""
        columns = (column,) if column else ()
        match cause["statistic"]:
            case "rows":
                return Subject(measure=Measure.ROWS, spec=replace(ALL_ROWS, where=where))
            case words if words == STATISTICS["complete"].words:
                spec = MetricSpec(name="completeness", columns=columns, where=where)
                return Subject(measure=Measure.SHARE, spec=spec)
            case words if words == STATISTICS["mean"].words:
                return Subject(measure=Measure.MEAN, spec=MetricSpec(name="mean", columns=columns, where=where))
    return None


# Which windows of the past are like the broken one.

MOST_LOOKED_AT = 2 * PAST_DAYS  # like windows, of which those that are sound and there are taken


def like_windows(partitioning: Partitioning, window: Window) -> list[Window]:
    """The windows before it that are like it, the newest first.

    Of days those from Mondays to Fridays, the Saturdays or the Sundays; of hours those of the same hour of the day; of
    longer partitions those just before.
    """
    zone = partitioning.zone

    def kind(other: Window) -> int:
        local = other.start.astimezone(zone)
        if partitioning.granularity is Granularity.HOUR:
            return local.hour
        return max(local.weekday(), 4) if partitioning.granularity is Granularity.DAY else 0

    reach = {Granularity.HOUR: 24, Granularity.DAY: 7}.get(partitioning.granularity, 1)
    before = partitioning.previous(window, reach * MOST_LOOKED_AT)
    return [other for other in reversed(before) if kind(other) == kind(window)][:MOST_LOOKED_AT]


# Which columns are searched.

MOST_VALUES = 50
MOST_LETTERS = 100  # of a value
MOST_COUNTED = 40  # columns whose values are counted
ARROW_TYPES: Mapping[TypeKind | None, pa.DataType] = {
    TypeKind.TEXT: pa.string(),
    TypeKind.WHOLE: pa.int64(),
    TypeKind.BOOLEAN: pa.bool_(),
}
NEW_VALUES = "its values are new in each window"
MANY_VALUES = f"more than {MOST_VALUES} values"


def kind_of(type_: str) -> TypeKind | None:
    """What the values of a type are, be it one of Spark's or of a database's; None of one that is not known."""
    column_type = read_type(type_)
    return column_type.kind if column_type else None


def columns_worth_counting(
    types: Mapping[str, str], *, partition_column: str | None, sensitive: Collection[str], subject: Subject
) -> tuple[list[str], dict[str, str]]:
    """The columns that may have few values, by their types, in their order; and the others with the reason."""
    chosen: list[str] = []
    left_out: dict[str, str] = {}
    for name, type_ in types.items():
        folded = name.casefold()
        if folded == (partition_column or "").casefold():
            left_out[name] = "the windows are cut by it"
        elif folded in sensitive:
            left_out[name] = "it is sensitive"
        elif folded in subject.columns:
            left_out[name] = "the test is of it"
        elif kind_of(type_) not in ARROW_TYPES:
            left_out[name] = f"its type is {type_:.40}"
        elif len(chosen) == MOST_COUNTED:
            left_out[name] = f"only {MOST_COUNTED} columns are counted"
        else:
            chosen.append(name)
    return chosen, left_out


def too_many(values: Collection[Any]) -> str | None:
    """Why a column with these values is not searched; None if it is."""
    if len(values) > MOST_VALUES:
        return MANY_VALUES
    if any(isinstance(value, str) and len(value) > MOST_LETTERS for value in values):
        return f"values of more than {MOST_LETTERS} letters"
    return None


def recurs(column: str, past: Sequence[pa.Table]) -> bool:
    """Whether values of the column come back: of those that past windows have, half were there in a window before.

    The hour, or the number of a load, is new in each window: it has no past, and it hides the column that moved.
    """
    before: set[Any] = set()
    returned = counted = 0
    for cells in past:
        values = set(cells[column].to_pylist())
        if before:
            returned, counted = returned + len(values & before), counted + len(values)
        before |= values
    return 2 * returned >= counted


def single_score(measure: Measure, column: str, days: Sequence[pa.Table]) -> float:
    """How well one value of the column alone explains the last day, in nats."""
    cells = cells_of(measure, [column], days)
    everything = np.ones(len(cells.codes), np.bool_)
    today = expectation_of(cells).of(slice(-1, None), everything)
    return likeliest_slice(today, groups_of(cells.codes), everything, (1.0, -1.0)).score
