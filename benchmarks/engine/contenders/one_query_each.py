"""One ``spark.sql`` for each check, as a notebook grows."""

from benchmarks.engine.session import expert_session
from benchmarks.engine.suite import Check

from .g import uniqueness
from .protocol import Answer, Task, answer


class OneQueryEach:
    """Forty queries, one after the other."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The view."""
        self.session = expert_session()
        self.checks = task.checks
        self.session.read.parquet(task.path).createOrReplaceTempView("trips")

    def run(self) -> Answer:
        """The checks that failed."""
        return answer(self.checks, {check.name: self._value(check) for check in self.checks})

    def _value(self, check: Check) -> float | None:
        if not check.sql:
            return uniqueness(self.session, check.spec.columns, [check])[check.name]
        value: float | None = self.session.sql(f"select {check.by_hand} as value from trips").collect()[0]["value"]
        return value


CONTENDER = OneQueryEach
