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
    unknown = check_columns(spec.columns, tuple(columns), table)
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
    if spec.name == "quantile" and not _is_share(spec.arguments[0]):
        return Failure(reason=Reason.INVALID, detail=f"{spec.text}: the quantile must lie between 0 and 1")
    return None


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _check_kind(spec: MetricSpec, columns: Mapping[str, bool], table: str) -> Failure | None:
    numeric = {name.lower() for name, is_numeric in columns.items() if is_numeric}
    if METRICS[spec.name].signature.column_kind is not ColumnKind.NUMERIC or spec.columns[0].lower() in numeric:
        return None
    return Failure(
        reason=Reason.INVALID, detail=f"{spec.text} needs a number, which {spec.columns[0]} of {table} is not"
    )


def _check_conditions(spec: MetricSpec, columns: tuple[str, ...], table: str) -> Failure | None:
    takes_condition = spec.name != "query" and ArgumentType.SQL in METRICS[spec.name].signature.arguments
    texts = [*([str(spec.arguments[0])] if takes_condition else []), *([spec.where] if spec.where else [])]
    try:
        named = [name for text in texts for name in columns_of(read_condition(text))]
    except UnableToReadCondition as error:
        return error.failure
    return check_columns(named, columns, table)
