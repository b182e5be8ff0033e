"""Rows beside those of another table in Spark: records against their source, and foreign keys."""

from execution_engine.engines.gathering import condition_of
from execution_engine.engines.native.key_metrics import NAMED_KEYS, named
from execution_engine.engines.protocol import Measured, MeasurementRequest, failed
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.keys.key_sql import hash_of, rows_of, text_of
from execution_engine.engines.spark.sources import SparkSource, open_beside
from execution_engine.engines.spec_check import check_columns
from execution_engine.metrics.definitions.other_tables import names_in, there
from execution_engine.outcome import Failure, Reason

from .frequencies import any_null
from .gather import selected

# Foreign keys in Spark: which keys of the rows are among those of another table, by a join of the distinct keys.


def find_references(source: SparkSource, item: MeasurementRequest) -> Measured:
    """The share of the keys without a null, row by row, that the other table has; the detail names some it lacks."""
    if source.rows == 0:
        return Measured()
    other = other_table(source, item)
    if isinstance(other, Failure):
        return Measured(failure=other)
    if unknown := check_columns(there(item.spec), tuple(other.columns), other.name):
        return Measured(failure=unknown)
    # the keys are compared as texts, as types may differ
    own = [source.write.column(name) for name in item.spec.columns]
    chosen = rows_of(source, condition_of(item.spec, source.write))
    whole = chosen.where(f"not ({any_null(source, item.spec.columns)})")
    keys = whole.selectExpr(f"{hash_of(own)} as h", f"{text_of(own)} as k").groupBy("h", "k").count()
    theirs = [other.write.column(name) for name in there(item.spec)]
    referred = other.frame.selectExpr(f"{hash_of(theirs)} as h", f"{text_of(theirs)} as k", "true as known").distinct()
    marked = keys.join(referred, ["h", "k"], "left").selectExpr("k", "count", "known is not null as known")
    (row,) = action(
        marked.selectExpr(
            "sum(case when known then count else 0 end)",
            "sum(case when known then 0 else count end)",
            f"slice(array_sort(collect_list(case when not known then k end)), 1, {NAMED_KEYS})",
        ).collect,
        rows=source.rows,
    )
    matches, missing = row[0] or 0, row[1] or 0
    rows = matches + missing
    detail = {"rows": rows, "missing": missing, "lost": named(row[2], item.spec.columns)}
    return Measured(value=matches / rows if rows else None, detail=detail)


def other_table(source: SparkSource, item: MeasurementRequest) -> SparkSource | Failure:
    """The dataset that the metric names first among its arguments."""
    name = str(item.spec.arguments[0])
    if name not in item.tables:
        return Failure(reason=Reason.INVALID, detail=f"there is no dataset {name!r} with a replica to compare with")
    table = item.tables[name]
    if table.storage == "sql":
        detail = f"{name} lies outside the lake, where its rows cannot be joined; compare with a copy in the lake"
        return Failure(reason=Reason.INVALID, detail=detail)
    return open_beside(source, table)


# Records against their source in Spark: each belongs to the one record there that has its key, and should equal it.

KINDS = ("equal", "different", "missing")
_TWICE_HERE, _TWICE_THERE = "twice here", "twice there"
_BY_KEY = (
    "count_if(mine)",
    "count_if(not mine)",
    "any_value(v) filter (where mine)",
    "any_value(v) filter (where not mine)",
)
_KIND = (
    "case when k is null then 'missing' "
    f"when own > 1 then '{_TWICE_HERE}' when others > 1 then '{_TWICE_THERE}' "
    "when others = 0 then 'missing' when v = theirs then 'equal' else 'different' end as kind"
)


def compare_records(source: SparkSource, item: MeasurementRequest) -> Measured:
    """The share of rows that equal their record in the source; the detail counts the others by why they do not.

    A row whose key is not there, or has a null, is missing. A key that is twice on either side says of no record which
    it belongs to: a failure, as Deequ's DataSynchronization has it.
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
    own = rows_of(source, condition_of(item.spec, source.write)).selectExpr(*_record(source, item), "true as mine")
    theirs = other.frame.selectExpr(*_record(other, item), "false as mine")
    by_key = selected(own.union(theirs), _BY_KEY, ("k",)).toDF("k", "own", "others", "v", "theirs")
    by_kind = by_key.selectExpr(_KIND, "own").groupBy("kind").agg({"own": "sum", "*": "count"})
    rows_by_kind = {row["kind"]: row for row in action(by_kind.collect, rows=source.rows)}
    sides = {_TWICE_HERE: source.name, _TWICE_THERE: other.name}
    twice = {name: rows_by_kind[kind]["count(1)"] for kind, name in sides.items() if kind in rows_by_kind}
    if twice:
        description = " and ".join(f"{count} twice or more in {name}" for name, count in twice.items())
        on = ", ".join(names_in(item.spec, "on"))
        detail = (
            f"of the keys of {on} are {description}: name columns by on= that tell the rows apart, or mend the keys"
        )
        return failed(Reason.UNDEFINED, detail)
    counted = {kind: rows_by_kind[kind]["sum(own)"] if kind in rows_by_kind else 0 for kind in KINDS}
    rows = sum(counted.values())
    return Measured(value=counted["equal"] / rows if rows else None, detail={"rows": rows, **counted})


def _record(side: SparkSource, item: MeasurementRequest) -> list[str]:
    """The key, which is null where a part of it is, and the values, a null being one; texts, as types may differ."""
    on = [side.write.column(name) for name in names_in(item.spec, "on")]
    values = [side.write.column(name) for name in item.spec.columns]
    whole = f"not ({any_null(side, names_in(item.spec, 'on'))})"
    return [f"case when {whole} then {text_of(on)} end as k", f"{text_of(values)} as v"]
