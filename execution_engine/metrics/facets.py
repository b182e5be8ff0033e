"""What OpenLineage's facet ``dataQualityMetrics`` (1-0-3) calls our metrics."""

ROWS = "row_count"  # of the whole table: rowCount
DISTINCT = "distinct_count"
OF_COLUMNS = {"min": "min", "max": "max", "sum": "sum", DISTINCT: "distinctCount"}
COUNTS = frozenset({DISTINCT})  # of columns: whole numbers
