"""What a verification found: plain frozen values, as text, JSON or a table of pandas."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from execution_engine.exact import Number, digits_of, to_json
from execution_engine.outcome import Failure
from execution_engine.read_by import NO_VALUES, ReadBy
from execution_engine.verification.checks.constrained import On
from execution_engine.verification.constraints.constraints import (
    AskedMetric,
    ConstraintStatus,
    Level,
    Status,
    gravest,
    shown,
    status_of,
)

if TYPE_CHECKING:  # it takes longer to import than most checks to run
    import pandas as pd

COLUMNS = (
    *("check", "level", "on", "check_status", "constraint", "status", "metric", "bound", "value", "exact"),
    *("message", "hint"),
)


@dataclass(frozen=True, kw_only=True)
class ConstraintResult:
    """What came of one constraint.

    Fields:
        constraint: its text, such as ``is_unique(id)``.
        status: success, failure, error or learning.
        metric: the metric that was measured for it.
        bound: the bound on the metric, such as ``>= 0.99``.
        value: the value that met or broke the bound; None where there is none. An int or a Decimal where a float would
            lose digits.
        message: a sentence that says what was found and what was wanted.
        hint: the ``hint`` of the constraint; empty where it succeeded.
        failure: the reason and its detail where the status is error or learning, else None.
        detail: what else the metric tells, such as the bins of a histogram.
        asks: the metrics that the constraint has asked for.

    Errors: none.

    Example:
        >>> said = {"constraint": "is_unique(id)", "metric": "uniqueness(id)", "bound": "= 1", "message": "…"}
        >>> print(ConstraintResult(status=ConstraintStatus.FAILURE, value=0.9967, **said))
        Failure(is_unique(id), uniqueness(id) = 1, 0.9967)
    """

    constraint: str
    status: ConstraintStatus
    metric: str
    bound: str
    value: Number | None
    message: str
    hint: str = ""
    failure: Failure | None = None
    detail: Mapping[str, Any] = field(default_factory=dict, repr=False)
    asks: tuple[AskedMetric, ...] = field(default=(), repr=False)

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
    """What came of one check.

    Fields:
        name: its name.
        level: its level.
        constraints: the results of its constraints, in their order.
        on: ``"whole"`` or ``"delta"``.

    Errors: none.

    Example:
        >>> CheckResult(name="integrity", level=Level.ERROR, constraints=()).status
        <Status.SUCCESS: 'success'>
    """

    name: str
    level: Level
    constraints: tuple[ConstraintResult, ...]
    on: On = "whole"

    @property
    def status(self) -> Status:
        """The most serious status that its constraints come to at its level.

        Example:
            >>> CheckResult(name="size", level=Level.WARNING, constraints=()).status.value
            'success'
        """
        return status_of(self.level, (each.status for each in self.constraints))


@dataclass(frozen=True, kw_only=True)
class VerificationResult:
    """What ``Verification.run`` returns: all checks, and every metric that was measured for them.

    As a text, by ``print``, it has one line for each constraint.

    Fields:
        table: the name of the data.
        checks: the results of the checks, in their order.
        metrics: the values by the texts of their metrics; None where a metric has no value. One that could not be
            measured is left out.
        spark_jobs: how many jobs Spark ran.
        read_by: how many values footers, kernels and Spark have read, and what was left to Spark for which reasons.
        seconds: how long reading the data took.

    Errors: none.

    Example:
        >>> check = Check(Level.ERROR, "integrity").has_size(10).is_complete("city")
        >>> result = VerificationSuite().on(rides, "rides").add_check(check).run()
        >>> result.metrics
        {'row_count()': 10.0, 'completeness(city)': 0.9}
        >>> print(result)
        Success(has_size(), row_count() = 10)
        Failure(is_complete(city), completeness(city) = 1, 0.9)
    """

    table: str
    checks: tuple[CheckResult, ...]
    metrics: Mapping[str, Number | None]
    spark_jobs: int = 0
    read_by: ReadBy = NO_VALUES
    seconds: float = 0.0

    @property
    def status(self) -> Status:
        """The most serious status of all checks.

        Example:
            >>> result.status
            <Status.ERROR: 'error'>
        """
        return gravest(check.status for check in self.checks)

    @property
    def failed(self) -> tuple[ConstraintResult, ...]:
        """The results of the constraints that the data breaks, those of status failure.

        Example:
            >>> [each.message for each in result.failed]
            ['completeness(city) = 0.9, wanted = 1']
        """
        return tuple(each for each in self._constraints() if each.status is ConstraintStatus.FAILURE)

    def to_dataframe(self) -> "pd.DataFrame":
        """Returns a DataFrame of pandas, one row for each constraint.

        ``value`` is the nearest float, and ``exact`` all digits as a text where the float loses some.

        Errors: none.

        Example:
            >>> table = result.to_dataframe()
            >>> list(table.columns)
            ['check', 'level', 'on', 'check_status', 'constraint', 'status', 'metric', 'bound', 'value', 'exact',
             'message', 'hint']
            >>> list(table.status)
            ['success', 'failure']
        """
        import pandas as pd

        return pd.DataFrame([[row[name] for name in COLUMNS] for row in self.to_rows()], columns=list(COLUMNS))

    def to_rows(self) -> list[dict[str, Any]]:
        """Returns a list with a dict for each constraint: the columns of ``to_dataframe``, ``detail`` and ``reason``.

        Errors: none.

        Example:
            >>> [row["bound"] for row in result.to_rows()]
            ['= 10', '= 1']
        """
        return [_row(check, each) for check in self.checks for each in check.constraints]

    def to_dict(self) -> dict[str, Any]:
        """Returns a dict of all, which JSON can hold.

        ``constraints`` is what ``to_rows`` returns. A metric that no float holds is a text of its digits.

        Errors: none.

        Example:
            >>> list(result.to_dict())
            ['table', 'status', 'constraints', 'metrics', 'spark_jobs', 'read_by', 'seconds']
        """
        metrics = {name: to_json(value) for name, value in self.metrics.items()}
        told = {"table": self.table, "status": self.status.value, "constraints": self.to_rows(), "metrics": metrics}
        cost = {"spark_jobs": self.spark_jobs, "read_by": self.read_by.to_json(), "seconds": round(self.seconds, 3)}
        return told | cost

    def to_json(self) -> str:
        """Returns what ``to_dict`` returns, as a text.

        Errors: none.

        Example:
            >>> result.to_json()[:24]
            '{\\n  "table": "rides",\\n  '
        """
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
