"""What can be said against one measurement from its spec and the real columns alone, before any data is read."""

from collections.abc import Mapping

from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.signature import ArgumentType, ColumnKind
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .conditions import UnableToReadCondition, check_columns, columns_of, read_condition


def check_spec(spec: MetricSpec, columns: Mapping[str, bool], table: str, *, engine: str) -> Failure | None:
    """The first thing wrong with ``spec`` over a table of ``columns`` (name → may hold numbers), or None."""
    definition = METRICS.get(spec.name)
    if definition is None:
        return Failure(reason=Reason.INVALID, detail=f"there is no metric {spec.name}; there are {', '.join(METRICS)}")
    if engine == "sql" and not definition.portable:
        return Failure(reason=Reason.INVALID, detail=f"{spec.name} is measured in the lake only; {table} is outside")
    unknown = check_columns((*spec.columns, *spec.by), tuple(columns), table)
    return (
        unknown
        or _check_arguments(spec)
        or _check_kind(spec, columns, table)
        or _check_conditions(spec, tuple(columns), table)
    )


def _check_arguments(spec: MetricSpec) -> Failure | None:
    signature = METRICS[spec.name].signature
    most = signature.max_columns if signature.max_columns is not None else len(spec.columns)
    if not signature.min_columns <= len(spec.columns) <= most or len(spec.arguments) != len(signature.arguments):
        return Failure(reason=Reason.INVALID, detail=f"{spec.text} has too many or too few columns or arguments")
    problem = METRICS[spec.name].problem
    said = problem(spec) if problem else None
    return None if said is None else Failure(reason=Reason.INVALID, detail=f"{spec.text}: {said}")


def _check_kind(spec: MetricSpec, columns: Mapping[str, bool], table: str) -> Failure | None:
    is_numeric = METRICS[spec.name].signature.column_kind is ColumnKind.NUMERIC
    return numeric_problem(spec, columns, table) if is_numeric else None


def numeric_problem(spec: MetricSpec, columns: Mapping[str, bool], table: str) -> Failure | None:
    """The failure of a metric of numbers whose column holds none, or None."""
    numeric = {name.lower() for name, is_numeric in columns.items() if is_numeric}
    other = next((name for name in spec.columns if name.lower() not in numeric), None)
    if other is None:
        return None
    return Failure(reason=Reason.INVALID, detail=f"{spec.text} needs a number, which {other} of {table} is not")


def _check_conditions(spec: MetricSpec, columns: tuple[str, ...], table: str) -> Failure | None:
    arguments = zip(METRICS[spec.name].signature.arguments, spec.arguments, strict=True)
    conditions = [str(value) for kind, value in arguments if kind is ArgumentType.SQL and spec.name != "query"]
    try:
        texts = [*conditions, *([spec.where] if spec.where else [])]
        named = [name for text in texts for name in columns_of(read_condition(text))]
    except UnableToReadCondition as error:
        return error.failure
    return check_columns(named, columns, table)
