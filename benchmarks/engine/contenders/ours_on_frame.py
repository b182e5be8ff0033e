"""Assay as a library: ``VerificationSuite`` on a DataFrame, in the user's own session."""

from math import isfinite

from benchmarks.engine.session import expert_session
from benchmarks.engine.suite import Check
from execution_engine.verification.check import Check as Constraints
from execution_engine.verification.constraints import ConstraintStatus
from execution_engine.verification.suite import VerificationSuite

from .protocol import Answer, Task


class OursOnFrame:
    """The frame is read once, the checks are verified anew each time."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The frame, and a constraint for each check."""
        self.frame = expert_session().read.parquet(task.path)
        self.names = [check.name for check in task.checks]
        self.constraints = Constraints()
        for check in task.checks:
            self.constraints = self.constraints.holds(_assertion(check), name=check.name)

    def run(self) -> Answer:
        """The checks that failed."""
        (result,) = VerificationSuite().on(self.frame, "trips").add_check(self.constraints).run().checks
        found = zip(self.names, result.constraints, strict=True)
        failed = frozenset(name for name, each in found if each.status is not ConstraintStatus.SUCCESS)
        return Answer(checks=len(self.names), failed=failed)


def _assertion(check: Check) -> str:
    text = check.spec.text
    return f"{text} between {check.low} and {check.high}" if isfinite(check.high) else f"{text} >= {check.low}"


CONTENDER = OursOnFrame
