"""DuckDB by itself, without Spark: the queries of ``g`` over the same files, on all cores of this machine."""

import re

import duckdb

from benchmarks.engine.suite import Check

from .protocol import Answer, Task, answer

_RLIKE = re.compile(r"(\w+) rlike r'([^']*)'")


class DuckdbAlone:
    """One aggregate over all columns, and a query for each uniqueness."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The view."""
        self.connection = duckdb.connect()
        self.connection.sql("set TimeZone = 'UTC'")
        self.connection.sql(f"create view trips as select * from read_parquet('{task.path}/*.parquet')")
        self.checks = task.checks
        self.in_one = [check for check in task.checks if check.sql]

    def run(self) -> Answer:
        """The checks that failed."""
        select = ", ".join(_RLIKE.sub(r"regexp_matches(\1, '\2')", check.by_hand) for check in self.in_one)
        (row,) = self.connection.sql(f"select {select} from trips").fetchall()
        values = dict(zip((check.name for check in self.in_one), row, strict=True))
        values |= {check.name: self._uniqueness(check) for check in self.checks if not check.sql}
        return answer(self.checks, values)

    def _uniqueness(self, check: Check) -> float | None:
        groups = f"select count(*) as n from trips group by {', '.join(check.spec.columns)}"
        sums = "select sum(case when n = 1 then 1 else 0 end) / sum(n)"
        ((value,),) = self.connection.sql(f"{sums} from ({groups})").fetchall()
        return None if value is None else float(value)


CONTENDER = DuckdbAlone
