"""The metrics in portable SQL: aggregates in one select, distinct counts and samples in one each."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import func, literal_column, select
from sqlalchemy.exc import SQLAlchemyError

from execution_engine.engines.columns.drift import measure_drift
from execution_engine.engines.columns.settled import settled
from execution_engine.engines.columns.spec_check import check_spec, conditions_of
from execution_engine.engines.gathering.assembly import measured_of, of_no_data, plan
from execution_engine.engines.gathering.selects import AskedStatistic
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.guard import UnableToAllow
from execution_engine.metrics.definition import DATABASE, Keys, Kind
from execution_engine.metrics.definitions.schema_drift import SeenColumns
from execution_engine.metrics.definitions.uniqueness import KEEP
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Value
from execution_engine.outcome import Failure, Reason

from .failures import failure_of
from .source import SqlSource


def measure(source: SqlSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """Every measurement wanted, by key."""
    wanted = [replace(item, spec=settled(item.spec, source.columns)) for item in wanted]
    wrong = {item.key: _check(source, item.spec) for item in wanted}
    refused = {key: Measured(failure=failure) for key, failure in wrong.items() if failure is not None}
    sound = [item for item in wanted if item.key not in refused]
    aggregates = [item for item in sound if METRICS[item.spec.name].kind is Kind.AGGREGATE]
    alone = {item.key: _isolated(source, item) for item in sound if item not in aggregates}
    return refused | _measure_aggregates(source, aggregates) | alone


def _check(source: SqlSource, spec: MetricSpec) -> Failure | None:
    """What can be said against it before anything is asked: also a condition that the database cannot be told."""
    if wrong := check_spec(spec, source.columns, source.name, engine="sql"):
        return wrong
    try:
        for text in conditions_of(spec):
            source.write.condition(text)
    except UnableToAllow as error:
        return error.failure
    return None


def _measure_aggregates(source: SqlSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    planned = plan(wanted, source.write)
    gathered = _gather(source, planned.asked)
    return {item.key: measured_of(item, planned, gathered, {}) for item in wanted}


def _gather(source: SqlSource, asked: Sequence[AskedStatistic]) -> dict[AskedStatistic, Value | Failure]:
    """The statistics of one select; if it fails, of its halves, so that a bad one does not take others along."""
    if not asked:
        return {}
    try:
        row = source.connection.execute(source.select([_sql(one) for one in asked])).one()
    except SQLAlchemyError as error:
        failure = failure_of(error, source.table)
        if len(asked) == 1 or failure.reason is Reason.ENGINE_UNREACHABLE:
            return dict.fromkeys(asked, failure)
        middle = len(asked) // 2
        return _gather(source, asked[:middle]) | _gather(source, asked[middle:])
    return dict(zip(asked, row, strict=True))


def _sql(one: AskedStatistic) -> str:
    """Counts, sums and extremes are the same in every dialect."""
    of = one.statistic.of[0]
    return f"{one.statistic.gather.value}({of if one.where is None else f'case when {one.where} then {of} end'})"


def _isolated(source: SqlSource, item: Wanted) -> Measured:
    try:
        definition = METRICS[item.spec.name]
        if DATABASE not in definition.taken_by:
            return of_no_data(item)
        measured: Measured = definition.function_for(DATABASE)(source, item)
        return measured
    except SQLAlchemyError as error:
        return Measured(failure=failure_of(error, source.table))


def count_keys(source: SqlSource, item: Wanted) -> Measured:
    """Distinct keys. Counted outside the DISTINCT: count(distinct a, b) would leave rows with nulls out."""
    names = [source.quote(name) for name in item.spec.columns]
    rows = source.select(names, item.spec.where)
    if METRICS[item.spec.name].counts is Keys.WHOLE:
        joint = " or " if item.spec.option("nulls") == KEEP else " and "
        rows = rows.where(literal_column(f"({joint.join(f'{name} is not null' for name in names)})"))
    keys = rows.distinct().subquery()
    value = source.connection.execute(select(func.count()).select_from(keys)).scalar_one()
    return Measured(value=float(value))


def find_drift(source: SqlSource, item: Wanted) -> Measured:
    """How many declared columns are gone or of another type."""
    place = f"table {source.table.options['table']}"
    return measure_drift(item, [SeenColumns(place=place, columns=source.types)], source.name)
