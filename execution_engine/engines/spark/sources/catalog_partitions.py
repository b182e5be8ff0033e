"""The partitions that Spark's catalog knows of a table, found without a job."""

from urllib.parse import unquote

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from execution_engine.engines.files.listing import escape_key


def listed_keys(session: SparkSession, table: str, column: str) -> tuple[str, ...] | None:
    """The keys of a column, sorted, that of null as Hive writes it; None where the table is not partitioned by it."""
    try:
        rows = session.sql(f"show partitions {table}").collect()
    except (AnalysisException, ParseException):  # a view, or a table without partitions
        return None
    start = f"{escape_key(column).lower()}="
    names = [name for row in rows for name in str(row[0]).split("/")]
    keys = {unquote(name[len(start) :]) for name in names if name.lower().startswith(start)}
    return tuple(sorted(keys)) or None
