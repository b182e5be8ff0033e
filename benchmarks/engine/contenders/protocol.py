"""What every contender does, whoever wrote it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from benchmarks.engine.suite import Check, failures


@dataclass(frozen=True, kw_only=True)
class Task:
    """A folder of parquet, or of tables, and what has to hold on it."""

    path: str
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How many checks were made, and the names of those that failed."""

    checks: int
    failed: frozenset[str]


def answer(checks: tuple[Check, ...], values: Mapping[str, float | None]) -> Answer:
    """The answer that these values give to the checks."""
    return Answer(checks=len(checks), failed=failures(checks, values))


class Contender(Protocol):
    """Runs all checks of a task, again and again; prepared anew for another task.

    ``cannot``: the metrics that its library only has in another sense, so that its verdicts are not compared.
    """

    cannot: frozenset[str]

    def prepare(self, task: Task) -> None:
        """What is done once and not measured: the session, the checks as its library writes them."""
        ...

    def run(self) -> Answer:
        """Measures everything anew."""
        ...
