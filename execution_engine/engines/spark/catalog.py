"""What Spark's catalogs, such as a Hive metastore, say of their tables: asked by SQL, without a job."""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Row, SparkSession

from execution_engine.engines.column_types import quote
from execution_engine.engines.protocol import DescribedTable

MOST_KEYS = 1_000  # of one column
DETAILS, PARTITIONS = "# Detailed Table Information", "# Partition Information"


def list_tables(session: SparkSession, catalog: str) -> tuple[tuple[str, str], ...]:
    """The database and name of each table; raises what Spark raises."""
    within = f"{quote(catalog)}." if catalog else ""
    databases = session.sql(f"show databases{f' in {quote(catalog)}' if catalog else ''}").collect()
    return tuple(
        (str(database[0]), str(row["tableName"]))
        for database in databases
        for row in session.sql(f"show tables in {within}{quote(str(database[0]))}").collect()
        if not row["isTemporary"]
    )


def describe_table(session: SparkSession, name: str) -> DescribedTable:
    """What the catalog says of a table; raises what Spark raises."""
    columns, cut, details = _sections(session.sql(f"describe table extended {name}").collect())
    properties = session.sql(f"show tblproperties {name}").collect()
    return DescribedTable(
        name=name,
        kind=details.get("Type", ""),
        owner=details.get("Owner", ""),
        comment=details.get("Comment", ""),
        columns=columns,
        keys=_keys(session, name, cut) if cut else {},
        properties={str(row[0]): str(row[1]) for row in properties},
    )


def _sections(rows: Sequence[Row]) -> tuple[dict[str, str], list[str], Mapping[str, str]]:
    """The columns (name → type), the partition columns, and the details, which follow each other under headings."""
    columns: dict[str, str] = {}
    cut: list[str] = []
    details: dict[str, str] = {}
    section = ""
    for name, text in ((str(row[0]), str(row[1] or "")) for row in rows):
        if name.startswith("# ") and name != "# col_name":
            section = name
        elif name and name != "# col_name":
            if section == "":
                columns[name] = text
            elif section == PARTITIONS:
                cut.append(name)
            elif section == DETAILS:
                details[name] = text
    return columns, cut, details


def _keys(session: SparkSession, name: str, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Some keys of each partition column; none where the catalog does not list them."""
    keys: dict[str, set[str]] = {column: set() for column in columns}
    try:
        rows = session.sql(f"show partitions {name}").collect()
    except (AnalysisException, ParseException):  # of a table that keeps no partitions there
        rows = []
    by_name = {column.lower(): column for column in columns}
    for row in rows:
        for step in str(row[0]).split("/"):
            column, _, key = step.partition("=")
            own = keys[by_name[column]] if (column := unquote(column).lower()) in by_name else set()
            if len(own) < MOST_KEYS and key != "__HIVE_DEFAULT_PARTITION__":
                own.add(unquote(key))
    return {column: tuple(sorted(own)) for column, own in keys.items()}
