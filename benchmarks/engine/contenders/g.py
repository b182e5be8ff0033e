"""``g``: what an expert writes by hand, one aggregate over all columns and a query for each uniqueness."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from benchmarks.engine.session import expert_session
from benchmarks.engine.suite import Check

from .protocol import Answer, Task, answer


class G:
    """One query after the other, over a temporary view."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The view and the texts of the queries."""
        self.session = expert_session()
        self.checks = task.checks
        self.session.read.parquet(task.path).createOrReplaceTempView("trips")
        self.in_one = [check for check in task.checks if check.sql]
        self.by_key: dict[tuple[str, ...], list[Check]] = {}
        for check in task.checks:
            if not check.sql:
                self.by_key.setdefault(check.spec.columns, []).append(check)

    def run(self) -> Answer:
        """The checks that failed."""
        return answer(self.checks, self.values())

    def values(self) -> dict[str, float | None]:
        """Of every check, the number measured."""
        values = self._in_one() if self.in_one else {}
        for columns, checks in self.by_key.items():
            values |= uniqueness(self.session, columns, checks)
        return values

    def _in_one(self) -> dict[str, float | None]:
        select = ", ".join(f"{check.by_hand} as c{at}" for at, check in enumerate(self.in_one))
        row = self.session.sql(f"select {select} from trips").collect()[0]
        return {check.name: row[f"c{at}"] for at, check in enumerate(self.in_one)}


def uniqueness(session: SparkSession, columns: Sequence[str], checks: Sequence[Check]) -> dict[str, float | None]:
    """Uniqueness or distinctness of each filter, from one grouping."""
    filters = [f" filter (where {check.spec.where})" if check.spec.where else "" for check in checks]
    counts = ", ".join(f"count(*){only} as c{at}" for at, only in enumerate(filters))
    wanted = {"uniqueness": "= 1", "distinctness": "> 0"}
    sums = ", ".join(
        f"sum(c{at}) as number{at}, count_if(c{at} {wanted[check.spec.name]}) as keys{at}"
        for at, check in enumerate(checks)
    )
    groups = f"select {counts} from trips group by {', '.join(columns)}"
    row = session.sql(f"select {sums} from ({groups})").collect()[0]
    return {
        check.name: row[f"keys{at}"] / row[f"number{at}"] if row[f"number{at}"] else None
        for at, check in enumerate(checks)
    }


CONTENDER = G
