"""From what was measured to the results of checks."""

from dataclasses import replace

from execution_engine.verification.checks.check import Check
from execution_engine.verification.constraints.constraints import Constraint, Found
from execution_engine.verification.constraints.levels import ConstraintStatus

from .results import CheckResult, ConstraintResult


def judged(check: Check, found: Found) -> CheckResult:
    """The check with the results of its constraints."""
    results = tuple(_result(constraint, found) for constraint in check.constraints)
    if check.on == "delta":
        results = tuple(replace(each, constraint=f"{each.constraint} on delta") for each in results)
    return CheckResult(name=check.name, level=check.level, constraints=results, on=check.on)


def _result(constraint: Constraint, found: Found) -> ConstraintResult:
    judgement = constraint.judge(found)
    return ConstraintResult(
        constraint=constraint.text,
        status=judgement.status,
        metric=judgement.metric,
        bound=judgement.bound,
        value=judgement.value,
        message=judgement.message,
        hint=constraint.hint if judgement.status is not ConstraintStatus.SUCCESS else "",
        failure=judgement.failure,
        detail=judgement.detail,
        asks=constraint.asks,
    )
