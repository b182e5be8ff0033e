"""Soda Core over Spark DataFrames: the checks in SodaCL, a programmatic scan of a view."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from soda.scan import Scan

from benchmarks.engine.session import expert_session
from benchmarks.engine.suite import Check

from .protocol import Answer, Task

Clause = tuple[str, dict[str, Any]]  # what has to hold, and its details


class Soda:
    """A new ``Scan`` each time, as one is good for one execution."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The view and the text of the checks; JSON is YAML too."""
        self.session = expert_session()
        self.session.read.parquet(task.path).createOrReplaceTempView("trips")
        self.checks = json.dumps({"checks for trips": [_named(check) for check in task.checks]})

    def run(self) -> Answer:
        """The checks that failed."""
        scan = Scan()
        scan.disable_telemetry()
        scan.set_scan_definition_name("trips")
        scan.set_data_source_name("spark_df")
        scan.add_spark_session(self.session, data_source_name="spark_df")
        scan.add_sodacl_yaml_str(self.checks)
        scan.execute()
        scan.assert_no_error_logs()
        checks = scan.get_scan_results()["checks"]
        failed = frozenset(check["name"] for check in checks if check["outcome"] != "pass")
        return Answer(checks=len(checks), failed=failed)


def _named(check: Check) -> dict[str, Any]:
    """One list item of SodaCL: what has to hold, then its details."""
    says, details = CLAUSES[check.spec.name](check)
    return {says: {"name": check.name, **details}}


def _count(check: Check) -> Clause:
    return f"row_count = {check.low}", {}


def _missing(check: Check) -> Clause:
    return f"missing_percent({check.spec.columns[0]}) <= {100 * (1 - check.low):.4f}", {}


def _number(function: str) -> Callable[[Check], Clause]:
    def clause(check: Check) -> Clause:
        return f"{function}({check.spec.columns[0]}) between {check.low} and {check.high}", {}

    return clause


def _expression(name: str, sql: str, low: float, high: float) -> Clause:
    """A metric of one's own, which shares the query of the others."""
    return f"{name} between {low:.3f} and {high:.3f}", {f"{name} expression": sql}


def _condition(check: Check) -> Clause:
    name = "".join(char if char.isalnum() else "_" for char in check.name)
    return _expression(name, f"count_if(not ({check.spec.arguments[0]}))", 0, 0)


def _pattern(check: Check) -> Clause:
    return f"invalid_count({check.spec.columns[0]}) = 0", {"valid regex": check.spec.arguments[0]}


def _variety(check: Check) -> Clause:
    column = check.spec.columns[0]
    return _expression(f"variety_of_{column}", f"approx_count_distinct({column})", check.low, check.high)


def _spread(check: Check) -> Clause:
    """Its own stddev is not there for Spark."""
    column = check.spec.columns[0]
    return _expression(f"spread_of_{column}", f"stddev_pop({column})", check.low, check.high)


def _unique(check: Check) -> Clause:
    return f"duplicate_count({', '.join(check.spec.columns)}) = 0", {}


CLAUSES: Mapping[str, Callable[[Check], Clause]] = {
    "row_count": _count,
    "completeness": _missing,
    "min": _number("min"),
    "max": _number("max"),
    "mean": _number("avg"),
    "stddev": _spread,
    "compliance": _condition,
    "pattern_match": _pattern,
    "approx_count_distinct": _variety,
    "uniqueness": _unique,
}
CONTENDER = Soda
