"""Polars by itself, without Spark: the forty checks as one lazy query, and one for each uniqueness."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from benchmarks.engine.suite import Check

from .protocol import Answer, Task, answer

Expression = Any  # of polars, which lies in an environment of its own


class PolarsAlone:
    """The files are scanned anew each time."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The checks as expressions."""
        self.path, self.checks = f"{task.path}/*.parquet", task.checks
        self.in_one = {check.name: _EXPRESSIONS[check.spec.name](check) for check in task.checks if check.sql}

    def run(self) -> Answer:
        """The checks that failed."""
        scan = pl.scan_parquet(self.path)
        asked = [expression.alias(f"c{at}") for at, expression in enumerate(self.in_one.values())]
        (row,) = scan.select(asked).collect(engine="streaming").rows()
        values = dict(zip(self.in_one, row, strict=True))
        for check in self.checks:
            if not check.sql:
                counts = scan.group_by(check.spec.columns).len()
                share = (pl.col("len") == 1).sum() / pl.col("len").sum()
                values[check.name] = counts.select(share).collect(engine="streaming").item()
        return answer(self.checks, values)


def _column(check: Check) -> Expression:
    return pl.col(check.spec.columns[0])


_EXPRESSIONS: Mapping[str, Callable[[Check], Expression]] = {
    "row_count": lambda check: pl.len(),
    "completeness": lambda check: _column(check).count() / pl.len(),
    "min": lambda check: _column(check).min(),
    "max": lambda check: _column(check).max(),
    "mean": lambda check: _column(check).mean(),
    "stddev": lambda check: _column(check).std(ddof=0),
    "compliance": lambda check: pl.sql_expr(str(check.spec.arguments[0])).sum() / pl.len(),
    "pattern_match": lambda check: _column(check).str.contains(str(check.spec.arguments[0])).sum() / pl.len(),
    "approx_count_distinct": lambda check: _column(check).approx_n_unique(),
}
CONTENDER = PolarsAlone
