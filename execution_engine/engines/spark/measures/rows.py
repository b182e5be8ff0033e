"""The rows that break metrics, found and written by Spark: of any files and tables, by any condition."""

from pyspark.sql import DataFrame

from execution_engine.engines.protocol import BROKEN, RowsRequest, WrittenRows
from execution_engine.engines.row_files import RowsFile, bad_rows, refuse_columns
from execution_engine.engines.row_rules import RowRule, row_rules
from execution_engine.engines.spark.sources import SparkSource

FLAGS = "assay_flags"


def write_by_spark(source: SparkSource, request: RowsRequest) -> WrittenRows:
    """Write the rows; repeated keys are counted in the same job. Raises Spark's own errors."""
    rules, failures = row_rules(request.specs, source.columns, source.kinds, source.name, source.write)
    if failures:
        return WrittenRows(failures=failures)
    frame = source.frame
    if refusal := refuse_columns(source.name, frame.columns, request):
        return refusal
    cases = ", ".join(f"case when {_condition(rule, source)} then {source.write.text(rule.text)} end" for rule in rules)
    cases = cases or "cast(null as string)"
    marked = frame.selectExpr("*", f"filter(array({cases}), text -> text is not null) as {FLAGS}")
    broken = marked.where(f"size({FLAGS}) > 0")
    if request.limit is None:
        bad = _write(broken.withColumnRenamed(FLAGS, BROKEN), request.bad)
        good = _write(marked.where(f"size({FLAGS}) = 0").drop(FLAGS), request.good) if request.good else 0
        return WrittenRows(bad=bad, good=good, by="spark", fingerprint=source.fingerprint)
    rows = broken.limit(request.limit + 1).toArrow()
    is_cut = rows.num_rows > request.limit
    rows = rows.slice(0, request.limit)
    with RowsFile(request.bad) as file:
        own = rows.drop_columns([FLAGS])
        file.add(bad_rows(own, rows[FLAGS].combine_chunks(), request, source.fingerprint))
    return WrittenRows(bad=file.rows, is_cut=is_cut, by="spark", fingerprint=source.fingerprint)


def _condition(rule: RowRule, source: SparkSource) -> str:
    """The SQL that a row meets which breaks the rule: of a repeated key, how many rows have it."""
    if rule.repeated is None:
        return rule.condition
    grouping = rule.repeated.grouping
    counts = [f"({rule.where})"] if rule.where else []
    if not rule.nulls:
        present = (f"{source.write.column(name)} is not null" for name in grouping.columns)
        counts.append(f"({(' or ' if grouping.partial else ' and ').join(present)})")
    counted = " and ".join(counts) or "true"
    key = source.write.hash_of(grouping.columns)
    return f"{counted} and count(case when {counted} then 1 end) over (partition by {key}) > 1"


def _write(frame: DataFrame, folder: str) -> int:
    """Write the rows as files of a folder; how many there are."""
    frame.write.mode("overwrite").parquet(folder)
    return frame.sparkSession.read.parquet(folder).count()
