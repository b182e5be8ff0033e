"""What a verification found: plain frozen values, as text, JSON or a table of pandas."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from execution_engine.exact import Number, digits_of, to_json
from execution_engine.outcome import Failure
from execution_engine.verification.checks.scope import On
from execution_engine.verification.constraints.constraints import Ask, shown
from execution_engine.verification.constraints.levels import ConstraintStatus, Level, Status, gravest, status_of

if TYPE_CHECKING:  # it takes longer to import than most checks to run
    import pandas as pd

COLUMNS = (
    *("check", "level", "on", "check_status", "constraint", "status", "metric", "bound", "value", "exact"),
    *("message", "hint"),
)


@dataclass(frozen=True, kw_only=True)
class ConstraintResult:
    """One constraint with the metric it was translated into, the bound on it, and the value that met or broke it."""

    constraint: str
    status: ConstraintStatus
    metric: str
    bound: str
    value: Number | None
    message: str
    hint: str = ""
    failure: Failure | None = None
    detail: Mapping[str, Any] = field(default_factory=dict, repr=False)
    asks: tuple[Ask, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """``Failure(is_unique(id), uniqueness(id) = 1, 0.9967)``: with the value only where it broke the bound."""
        said = [self.constraint, f"{self.metric} {self.bound}".strip()]
        if self.status is ConstraintStatus.FAILURE and self.value is not None:
            said.append(shown(self.value))
        elif self.failure is not None:
            said.append(self.message)
        return f"{self.status.value.capitalize()}({', '.join(said)})"


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check with the results of its constraints, in their order."""

    name: str
    level: Level
    constraints: tuple[ConstraintResult, ...]
    on: On = "whole"

    @property
    def status(self) -> Status:
        """The gravest that its constraints say at its level."""
        return status_of(self.level, (each.status for each in self.constraints))


@dataclass(frozen=True, kw_only=True)
class VerificationResult:
    """All checks of one run, and every metric that was measured for them, by its text."""

    table: str
    checks: tuple[CheckResult, ...]
    metrics: Mapping[str, Number | None]
    spark_jobs: int = 0
    seconds: float = 0.0

    @property
    def status(self) -> Status:
        """The gravest of all checks."""
        return gravest(check.status for check in self.checks)

    @property
    def failed(self) -> tuple[ConstraintResult, ...]:
        """The constraints that the data breaks."""
        return tuple(each for each in self._constraints() if each.status is ConstraintStatus.FAILURE)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row for each constraint."""
        import pandas as pd

        return pd.DataFrame([[row[name] for name in COLUMNS] for row in self.to_rows()], columns=list(COLUMNS))

    def to_rows(self) -> list[dict[str, Any]]:
        """One JSON object for each constraint."""
        return [_row(check, each) for check in self.checks for each in check.constraints]

    def to_dict(self) -> dict[str, Any]:
        """One JSON object for all."""
        metrics = {name: to_json(value) for name, value in self.metrics.items()}
        told = {"table": self.table, "status": self.status.value, "constraints": self.to_rows(), "metrics": metrics}
        return told | {"spark_jobs": self.spark_jobs, "seconds": round(self.seconds, 3)}

    def to_json(self) -> str:
        """``to_dict`` as text."""
        return json.dumps(self.to_dict(), indent=2, default=str)

    def __str__(self) -> str:
        """One line for each constraint."""
        return "\n".join(map(str, self._constraints()))

    def _constraints(self) -> list[ConstraintResult]:
        return [each for check in self.checks for each in check.constraints]


def _row(check: CheckResult, each: ConstraintResult) -> dict[str, Any]:
    named = {"check": check.name, "level": check.level.value, "on": check.on, "check_status": check.status.value}
    said = {name: value for name, value in asdict(each).items() if name in (*COLUMNS, "detail")}
    reason = each.failure.reason.value if each.failure else None
    number = {"value": None if each.value is None else float(each.value), "exact": digits_of(each.value) or None}
    return named | said | number | {"status": each.status.value, "reason": reason}
