"""Records against their source in Spark: each belongs to the one record there that has its key, and should equal it."""

from execution_engine.engines.columns.spec_check import check_columns
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.keys.key_sql import rows_of, text_of
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.other_tables import names_in
from execution_engine.outcome import Failure

from .frequencies import any_null
from .gather import selected
from .integrity import other_table

KINDS = ("equal", "different", "missing", "ambiguous")


def compare_records(source: SparkSource, item: Wanted) -> Measured:
    """The share of rows that equal their record in the source; the detail counts the others by why they do not.

    A row whose key is there more than once is ambiguous, one whose key is not there, or has a null, missing.
    """
    if source.rows == 0:
        return Measured()
    other = other_table(source, item)
    if isinstance(other, Failure):
        return Measured(failure=other)
    names = (*names_in(item.spec, "on"), *item.spec.columns)
    for side in (source, other):
        if unknown := check_columns(names, tuple(side.columns), side.name):
            return Measured(failure=unknown)
    counted = _counted(source, other, item)
    rows = sum(counted.values())
    return Measured(value=counted["equal"] / rows if rows else None, detail={"rows": rows, **counted})


def _counted(source: SparkSource, other: SparkSource, item: Wanted) -> dict[str, int]:
    where = None if item.spec.where is None else source.write.condition(item.spec.where)
    own = rows_of(source, where).selectExpr(*_record(source, item))
    theirs = other.frame.selectExpr(*_record(other, item))
    records = selected(theirs, ("count(1)", "any_value(v)"), ("k",)).toDF("k", "records", "theirs")
    joined = own.join(records, "k", "left")
    kind = (
        "case when records is null then 'missing' when records > 1 then 'ambiguous' "
        "when v = theirs then 'equal' else 'different' end as kind"
    )
    found = action(joined.selectExpr(kind).groupBy("kind").count().collect, rows=source.rows)
    return dict.fromkeys(KINDS, 0) | {row["kind"]: row["count"] for row in found}


def _record(side: SparkSource, item: Wanted) -> list[str]:
    """The key, which is null where a part of it is, and the values, a null being one; texts, as types may differ."""
    on = [side.write.column(name) for name in names_in(item.spec, "on")]
    values = [side.write.column(name) for name in item.spec.columns]
    whole = f"not ({any_null(side, names_in(item.spec, 'on'))})"
    return [f"case when {whole} then {text_of(on)} end as k", f"{text_of(values)} as v"]
