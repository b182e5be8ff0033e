"""What can be said against one measurement from its spec and the real columns alone, before any data is read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from sqlglot import exp

from execution_engine.guard import UnableToAllow, in_sql, read_condition
from execution_engine.guard.sql_tree import write
from execution_engine.metrics.definition import ArgumentType, ColumnKind, column_kind
from execution_engine.metrics.expressions import path_of, resolved, written
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Failure, Reason

from .protocol import Measured, MeasurementRequest

# Names with a dot and no backticks: fields of structs or, where no column begins so, columns of the whole name.


def settled(spec: MetricSpec, columns: Collection[str]) -> MetricSpec:
    """The metric over a table of these columns, as assertions write them, each name being the column that it means."""
    definition = METRICS.get(spec.name)
    kinds = definition.signature.arguments if definition else ()
    is_sql = [kind is ArgumentType.SQL for kind in kinds] + [False] * len(spec.arguments)

    def argument(value: Literal, sql: bool) -> Literal:
        return _condition(str(value), columns) if sql else value

    return replace(
        spec,
        columns=tuple(resolved(name, columns) for name in spec.columns),
        by=tuple(resolved(name, columns) for name in spec.by),
        arguments=tuple(map(argument, spec.arguments, is_sql)),
        where=None if spec.where is None else _condition(spec.where, columns),
    )


def _condition(text: str, columns: Collection[str]) -> str:
    """The text itself, unless a name in it means another column than it seems to; what cannot be read stays too."""
    if "." not in text:
        return text
    try:
        tree = read_condition(text).tree
    except UnableToAllow:
        return text

    def settle(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        path = tuple(part.name for part in node.parts)
        meant_path = path_of(resolved(written(*path), columns))
        return node if meant_path == path else exp.column(exp.to_identifier(meant_path[0], quoted=True))

    meant = tree.transform(settle)
    return text if meant == tree else write(meant)


Kinds = Mapping[str, ColumnKind | None]  # of each column; ANY: not known; None: of none of them, such as a boolean

_MENDS = {
    ColumnKind.NUMERIC: 'compliance("cast({} as double) >= 0")',
    ColumnKind.TEXT: "compliance(\"cast({} as string) rlike '^[0-9]+$'\")",
    ColumnKind.TEMPORAL: "compliance(\"cast({} as timestamp) > timestamp '2000-01-01 00:00:00'\")",
}


def check_spec(spec: MetricSpec, columns: Kinds, table: str, *, engine: str) -> Failure | None:
    """The first thing wrong with ``spec`` over a table of ``columns``, or None."""
    definition = METRICS.get(spec.name)
    if definition is None:
        return Failure(reason=Reason.INVALID, detail=f"there is no metric {spec.name}; there are {', '.join(METRICS)}")
    if engine == "sql" and not definition.portable:
        return Failure(reason=Reason.INVALID, detail=f"{spec.name} is measured in the lake only; {table} is outside")
    if unknown := check_columns((*spec.columns, *spec.by), tuple(columns), table):
        return unknown
    signature = definition.signature
    most = signature.max_columns
    if most is None or definition.of_primary_key:  # its call may be meant by columns that nobody writes
        most = len(spec.columns)
    if not signature.min_columns <= len(spec.columns) <= most or len(spec.arguments) != len(signature.arguments):
        return Failure(reason=Reason.INVALID, detail=f"{spec.text} has too many or too few columns or arguments")
    if definition.problem and (fault := definition.problem(spec)) is not None:
        return Failure(reason=Reason.INVALID, detail=f"{spec.text}: {fault}")
    if problem := kind_problem(spec, signature.column_kind, columns, table):
        return problem
    try:
        paths = [path for text in conditions_of(spec) for path in read_condition(text).paths]
    except UnableToAllow as error:
        return error.failure
    missing = [path for path in paths if check_columns([written(path[0])], tuple(columns), table)]
    return check_columns([written(*path) for path in missing], tuple(columns), table)


def check_columns(names: Collection[str], columns: Collection[str], table: str) -> Failure | None:
    """UNKNOWN_COLUMN naming the first column that the table lacks, with the nearest that it has; case is ignored."""
    lowered = {name.lower(): name for name in columns}
    missing = next((name for name in names if name.lower() not in lowered), None)
    if missing is None:
        return None
    near = get_close_matches(missing.lower(), lowered, n=1)
    hint = f"; did you mean {lowered[near[0]]}?" if near else f"; it has {', '.join(sorted(columns)) or 'no columns'}"
    return Failure(reason=Reason.UNKNOWN_COLUMN, detail=f"{table} has no column {missing}{hint}")


def kinds_of(columns: Mapping[str, str]) -> dict[str, ColumnKind | None]:
    """The kind of each column (name → Spark's type); None of one that no metric wants a kind of, such as a boolean."""
    kinds = {name: column_kind(type_) for name, type_ in columns.items()}
    return {name: None if kind is ColumnKind.ANY else kind for name, kind in kinds.items()}


def sifted(
    requests: Sequence[MeasurementRequest], columns: Collection[str], kinds: Kinds, table: str
) -> tuple[list[MeasurementRequest], dict[str, Measured]]:
    """What can be measured in the lake, its names settled, and by their keys the failures of what cannot."""
    meant = [replace(item, spec=settled(item.spec, columns)) for item in requests]
    wrong = {item.key: check_spec(item.spec, kinds, table, engine="spark") for item in meant}
    refused = {key: Measured(failure=failure) for key, failure in wrong.items() if failure is not None}
    return [item for item in meant if item.key not in refused], refused


def kind_problem(spec: MetricSpec, target_kind: ColumnKind, columns: Kinds, table: str) -> Failure | None:
    """The failure of a metric over a column that is of another kind than ``target_kind``, or None."""
    if target_kind is ColumnKind.ANY:
        return None
    kinds = {name.lower(): kind for name, kind in columns.items()}
    other = next((name for name in spec.columns if kinds[name.lower()] not in (target_kind, ColumnKind.ANY)), None)
    if other is None:
        return None
    other_kind = kinds[other.lower()]
    description = (
        f"column {other} of {table} is {other_kind.value}"
        if other_kind
        else f"column {other} of {table} is of another type"
    )
    mend = f"take another column, or cast it in a condition, such as {_MENDS[target_kind].format(in_sql(other))}"
    return Failure(
        reason=Reason.INVALID, detail=f"{spec.text} needs a {target_kind.value} column: {description}; {mend}"
    )


def conditions_of(spec: MetricSpec) -> list[str]:
    """The conditions of Spark SQL in it; a query is none."""
    conditions = METRICS[spec.name].signature.texts(ArgumentType.SQL, spec.arguments)
    return [*conditions, *([spec.where] if spec.where else [])]
