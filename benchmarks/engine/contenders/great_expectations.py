"""Great Expectations: a suite of expectations over a DataFrame, run by a validation definition."""

import os
from collections.abc import Callable, Mapping
from typing import Any

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read when it is imported

import great_expectations as gx
import great_expectations.expectations as gxe

from benchmarks.data.pools import DATE, STATUSES
from benchmarks.engine.session import expert_session
from benchmarks.engine.suite import Check

from .protocol import Answer, Task

PERSIST = True  # its default, and quicker than to read again for each of its queries


class GreatExpectations:
    """The answer alone is asked for, no samples of failing rows, which is its cheapest way."""

    cannot: frozenset[str] = frozenset()

    def prepare(self, task: Task) -> None:
        """The expectations and what binds them to a DataFrame given later."""
        self.session, self.path = expert_session(), task.path
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source = context.data_sources.add_spark("spark", persist=PERSIST)
        batch = source.add_dataframe_asset("trips").add_batch_definition_whole_dataframe("all")
        suite = context.suites.add(gx.ExpectationSuite(name="trips"))
        for check in task.checks:
            suite.add_expectation(_expectation(check))
        self.validation = context.validation_definitions.add(
            gx.ValidationDefinition(name="trips", data=batch, suite=suite)
        )

    def run(self) -> Answer:
        """The checks that failed."""
        frame = self.session.read.parquet(self.path)
        found = self.validation.run(batch_parameters={"dataframe": frame}, result_format="BOOLEAN_ONLY")
        frame.unpersist()
        raised = [one.exception_info for one in found.results if one.exception_info.get("raised_exception")]
        if raised:
            raise RuntimeError(str(raised[0]))
        failed = frozenset(one.expectation_config.meta["check"] for one in found.results if not one.success)
        return Answer(checks=len(found.results), failed=failed)


def _expectation(check: Check) -> gxe.Expectation:
    made = CONDITIONS[check.name] if check.spec.name == "compliance" else EXPECTATIONS[check.spec.name]
    expectation = made(check)
    expectation.meta = {"check": check.name}
    return expectation


def _between(expectation: type) -> Callable[[Check], Any]:
    return lambda check: expectation(column=check.spec.columns[0], min_value=check.low, max_value=check.high)


def _range(column: str, low: float, high: float | None = None) -> Callable[[Check], Any]:
    return lambda check: gxe.ExpectColumnValuesToBeBetween(column=column, min_value=low, max_value=high)


def _unique(check: Check) -> Any:
    columns = check.spec.columns
    if len(columns) == 1:
        return gxe.ExpectColumnValuesToBeUnique(column=columns[0])
    return gxe.ExpectCompoundColumnsToBeUnique(column_list=list(columns), ignore_row_if="never")


EXPECTATIONS: Mapping[str, Callable[[Check], Any]] = {
    "row_count": lambda check: gxe.ExpectTableRowCountToEqual(value=int(check.low)),
    "completeness": lambda check: gxe.ExpectColumnValuesToNotBeNull(column=check.spec.columns[0], mostly=check.low),
    "min": _between(gxe.ExpectColumnMinToBeBetween),
    "max": _between(gxe.ExpectColumnMaxToBeBetween),
    "mean": _between(gxe.ExpectColumnMeanToBeBetween),
    "stddev": _between(gxe.ExpectColumnStdevToBeBetween),
    "pattern_match": lambda check: gxe.ExpectColumnValuesToMatchRegex(
        column=check.spec.columns[0], regex=str(check.spec.arguments[0])
    ),
    "approx_count_distinct": lambda check: gxe.ExpectColumnUniqueValueCountToBeBetween(
        column=check.spec.columns[0], min_value=int(check.low), max_value=int(check.high)
    ),
    "uniqueness": _unique,
}
CONDITIONS: Mapping[str, Callable[[Check], Any]] = {
    "status is known": lambda check: gxe.ExpectColumnValuesToBeInSet(column="status", value_set=list(STATUSES)),
    "datestr is the day": lambda check: gxe.ExpectColumnValuesToBeInSet(column="datestr", value_set=[DATE]),
    "trip_id is not negative": _range("trip_id", 0),
    "driver_id is not negative": _range("driver_id", 0),
    "fare is in range": _range("fare", 0, 1_000),
    "tip is missing or in range": _range("tip", 0, 100),
    "distance_km is in range": _range("distance_km", 0, 500),
    "trips start before they end": lambda check: gxe.ExpectColumnPairValuesAToBeGreaterThanB(
        column_A="ended_at", column_B="started_at"
    ),
}
CONTENDER = GreatExpectations
