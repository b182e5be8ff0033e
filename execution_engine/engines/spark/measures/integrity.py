"""Foreign keys in Spark: which keys of the rows are among those of another table, by a join of the distinct keys."""

from execution_engine.engines.columns.spec_check import check_columns
from execution_engine.engines.native.keys.measures import NAMED_KEYS, NamedKey, named
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.keys.key_sql import hash_of, rows_of, text_of
from execution_engine.engines.spark.sources.source import SparkSource, open_beside
from execution_engine.metrics.definitions.other_tables import there
from execution_engine.outcome import Failure, Reason

from .frequencies import any_null


def find_references(source: SparkSource, item: Wanted) -> Measured:
    """The share of the keys without a null, row by row, that the other table has; the detail names some it lacks."""
    if source.rows == 0:
        return Measured()
    other = other_table(source, item)
    if isinstance(other, Failure):
        return Measured(failure=other)
    if unknown := check_columns(there(item.spec), tuple(other.columns), other.name):
        return Measured(failure=unknown)
    known, missing, lost = _joined(source, other, item)
    rows = known + missing
    detail = {"rows": rows, "missing": missing, "lost": lost}
    return Measured(value=known / rows if rows else None, detail=detail)


def other_table(source: SparkSource, item: Wanted) -> SparkSource | Failure:
    """The dataset that the metric names first among its arguments."""
    name = str(item.spec.arguments[0])
    if name not in item.tables:
        return Failure(reason=Reason.INVALID, detail=f"there is no dataset {name!r} with a replica to compare with")
    table = item.tables[name]
    if table.storage == "sql":
        detail = f"{name} lies outside the lake, where its rows cannot be joined; compare with a copy in the lake"
        return Failure(reason=Reason.INVALID, detail=detail)
    return open_beside(source, table)


def _joined(source: SparkSource, other: SparkSource, item: Wanted) -> tuple[int, int, list[NamedKey]]:
    """Rows whose key is there, rows whose key is not, and keys of the latter; texts, as types may differ."""
    where = None if item.spec.where is None else source.write.condition(item.spec.where)
    own = [source.write.column(name) for name in item.spec.columns]
    whole = rows_of(source, where).where(f"not ({any_null(source, item.spec.columns)})")
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
    return row[0] or 0, row[1] or 0, named(row[2], item.spec.columns)
