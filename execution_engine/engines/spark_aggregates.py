"""All aggregates of a scan in one select, each under an alias of its own; one that fails does not take others along."""

from collections.abc import Mapping, Sequence

from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import Failure

from .protocol import Measured, Wanted
from .spark_failures import OF_ALL, SPARK_ERRORS, failure_of
from .spark_jobs import action
from .spark_source import Source
from .spark_sql import distinct_count, expressions, quote
from .values import measured_number


def measure_aggregates(source: Source, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """The aggregates and distinct counts wanted, by key.

    One distinct count of a small source shares the select. Several would multiply its rows, and over many rows even
    one makes every other aggregate group by the distinct key first; those have a query each.
    """
    groupings = [item for item in wanted if METRICS[item.spec.name].kind is Kind.GROUPING]
    shapes = {(item.spec.columns, item.spec.where) for item in groupings}
    apart = groupings if len(shapes) > 1 or not source.small else []
    measured = _select(source, {item.key: _sql(item) for item in wanted if item not in apart}, wanted)
    for item in apart:
        measured |= _grouped(source, item)
    return measured


def _sql(item: Wanted) -> str:
    sql = METRICS[item.spec.name].sql
    if sql is None:
        return distinct_count(item.spec.columns, item.spec.where)
    return sql(item.spec, expressions(item.spec.where))


def _select(source: Source, asked: Mapping[str, str], wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """The values of one select; if it fails, of its halves, so that one bad metric among n costs log n selects."""
    if not asked:
        return {}
    try:
        aliased = (f"{sql} as m{at}" for at, sql in enumerate(asked.values()))
        row = action(source.frame.selectExpr(*aliased).collect, rows=source.rows)[0]
    except SPARK_ERRORS as error:
        return _select_halves(source, asked, wanted, failure_of(error, source.name))
    texts = {item.key: item.spec.text for item in wanted}
    return {key: measured_number(row[f"m{at}"], texts[key]) for at, key in enumerate(asked)}


def _select_halves(
    source: Source, asked: Mapping[str, str], wanted: Sequence[Wanted], failure: Failure
) -> dict[str, Measured]:
    if len(asked) == 1 or failure.reason in OF_ALL:
        return {key: Measured(failure=failure) for key in asked}
    items = list(asked.items())
    middle = len(items) // 2
    halves = (dict(items[:middle]), dict(items[middle:]))
    return _select(source, halves[0], wanted) | _select(source, halves[1], wanted)


def _grouped(source: Source, item: Wanted) -> dict[str, Measured]:
    try:
        frame = source.frame if item.spec.where is None else source.frame.where(f"(\n{item.spec.where}\n)")
        keys = frame.select(*(frame[quote(column)] for column in item.spec.columns)).distinct()
        rows = action(keys.count, rows=source.rows)
    except SPARK_ERRORS as error:
        return {item.key: Measured(failure=failure_of(error, source.name))}
    return {item.key: Measured(value=float(rows))}
