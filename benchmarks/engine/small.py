"""Five checks of each small table, by its schema."""

from benchmarks.data.small_schemas import COUNTRIES, SCHEMAS, STATES
from execution_engine.metrics.spec import MetricSpec

from .suite import ONLY, Check

ROWS = 10_000
POOLS = {"state": STATES, "country": COUNTRIES}


def checks_of(schema: str) -> tuple[Check, ...]:
    """Row count, completeness of the key, mean and stddev of an amount, and a column's known values."""
    columns = SCHEMAS[schema]
    key = next(name for name, kind in columns.items() if kind == "key")
    amount = next(name for name, kind in columns.items() if kind == "amount")
    known = next(name for name, kind in columns.items() if kind in POOLS)
    condition = f"{known} in ({', '.join(repr(value) for value in POOLS[columns[known]])})"
    return (
        Check(name="row_count", spec=MetricSpec(name="row_count"), low=ROWS, high=ROWS, sql=f"count(*){ONLY}"),
        _check("completeness", key, 0.98, 1, f"count({key}) / count(*)"),
        _check("mean", amount, 450, 550, f"avg({amount})"),
        _check("stddev", amount, 250, 320, f"stddev_pop({amount})"),
        Check(
            name=f"{known} is known",
            spec=MetricSpec(name="compliance", arguments=(condition,)),
            low=1,
            sql=f"count_if({condition}) / count(*)",
        ),
    )


def _check(metric: str, column: str, low: float, high: float, sql: str) -> Check:
    spec = MetricSpec(name=metric, columns=(column,))
    return Check(name=f"{metric} of {column}", spec=spec, low=low, high=high, sql=sql)
