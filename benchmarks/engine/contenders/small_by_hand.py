"""One hand-written query for each of a hundred small tables, one after the other."""

from pathlib import Path

from benchmarks.engine.session import expert_session
from benchmarks.engine.small import checks_of

from .protocol import Answer, Task
from .small_answers import answer_of_all

SOME = 100


class SmallByHand:
    """The schema is read from a file of each table, as a notebook does."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The session and the tables."""
        self.session = expert_session()
        self.folders = sorted(Path(task.path).iterdir())[:SOME]

    def run(self) -> Answer:
        """The checks that failed."""
        return answer_of_all({folder.name: self._values(folder) for folder in self.folders})

    def _values(self, folder: Path) -> dict[str, float | None]:
        checks = checks_of(folder.name.split("-")[0])
        select = [f"{check.by_hand} as c{at}" for at, check in enumerate(checks)]
        row = self.session.read.parquet(str(folder)).selectExpr(*select).collect()[0]
        return {check.name: row[f"c{at}"] for at, check in enumerate(checks)}


CONTENDER = SmallByHand
