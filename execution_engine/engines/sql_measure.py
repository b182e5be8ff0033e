"""The metrics in portable SQL: aggregates in one select, distinct counts and samples in one each."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from execution_engine.metrics.definition import Kind
from execution_engine.metrics.keys import as_text
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.sample import DEFAULT_SIZE, MAX_SIZE, Sample, bottom_keys
from execution_engine.outcome import Reason

from .checks import check_spec
from .derived import measure_derived
from .protocol import Measured, Wanted
from .sql_failures import failure_of
from .sql_source import SqlSource
from .values import measured_number

ROWS_AT_A_TIME = 10_000


def measure(source: SqlSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """Every measurement wanted, by key."""
    wrong = {item.key: check_spec(item.spec, source.columns, source.name, engine="sql") for item in wanted}
    refused = {key: Measured(failure=failure) for key, failure in wrong.items() if failure is not None}
    sound = [item for item in wanted if item.key not in refused]
    aggregates = [item for item in sound if METRICS[item.spec.name].kind is Kind.AGGREGATE]
    alone = {item.key: _isolated(source, item) for item in sound if item not in aggregates}
    return refused | _measure_aggregates(source, aggregates) | alone


def _measure_aggregates(source: SqlSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """The values of one select; if it fails, of its halves, so that one bad metric does not take others along."""
    if not wanted:
        return {}
    try:
        row = source.connection.execute(source.select([_sql(source, item) for item in wanted])).one()
    except SQLAlchemyError as error:
        failure = failure_of(error, source.name, source.connection.engine.url)
        if len(wanted) == 1 or failure.reason is Reason.ENGINE_UNREACHABLE:
            return {item.key: Measured(failure=failure) for item in wanted}
        middle = len(wanted) // 2
        return _measure_aggregates(source, wanted[:middle]) | _measure_aggregates(source, wanted[middle:])
    return {item.key: measured_number(value, item.spec.text) for item, value in zip(wanted, row, strict=True)}


def _sql(source: SqlSource, item: Wanted) -> str:
    sql = METRICS[item.spec.name].sql
    if sql is None:
        raise TypeError(f"{item.spec.name} is no aggregate")
    return sql(item.spec, source.expressions(item.spec.where))


def _isolated(source: SqlSource, item: Wanted) -> Measured:
    try:
        return ALONE.get(item.spec.name, _derived)(source, item)
    except SQLAlchemyError as error:
        return Measured(failure=failure_of(error, source.name, source.connection.engine.url))


def _distinct_count(source: SqlSource, item: Wanted) -> Measured:
    """Counted outside the DISTINCT: count(distinct a, b) would leave rows with nulls out."""
    rows = source.select([source.quote(name) for name in item.spec.columns], item.spec.where).distinct().subquery()
    value = source.connection.execute(select(func.count()).select_from(rows)).scalar_one()
    return Measured(value=float(value))


def _sample(source: SqlSource, item: Wanted) -> Measured:
    """Hashed here and not there, as databases share no hash function; rows are streamed."""
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    rows = source.select([source.quote(name) for name in item.spec.columns], item.spec.where)
    streamed = source.connection.execute(rows, execution_options={"yield_per": ROWS_AT_A_TIME})
    keys = bottom_keys((tuple(as_text(value) for value in row) for row in streamed), size)
    return Measured(value=float(len(keys)), state=Sample(columns=item.spec.columns, keys=keys).to_bytes())


def _derived(source: SqlSource, item: Wanted) -> Measured:
    return measure_derived(item)


ALONE: Mapping[str, Callable[[SqlSource, Wanted], Measured]] = {"distinct_count": _distinct_count, "sample": _sample}
