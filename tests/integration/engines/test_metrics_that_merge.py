"""The states of parts, merged in any order and grouping, give what the rows of all of them give."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from execution_engine.engines.column_types import expressions
from execution_engine.engines.gathering import from_state
from execution_engine.engines.protocol import Measured, MeasurementRequest, Part, Unit
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import MetricState, from_bytes, merged
from tests.integration.engines.many_types import frame_of, random_rows, write
from tests.integration.engines.metric_cases import EXACT
from tests.integration.engines.references import agrees

PARTS = 7
ROWS = random_rows(630, seed=11)
SLICES = [ROWS[at * 90 : (at + 1) * 90] for at in range(PARTS - 1)] + [[]]  # the last part has no rows
CASES = [each for each in EXACT if METRICS[each.spec.name].merges(each.spec)]
SKETCHES = [
    MetricSpec(name="approx_count_distinct", columns=("id",)),
    MetricSpec(name="approx_quantile", columns=("x",), arguments=(0.5,)),
]
WRITE = expressions({})
States = dict[str, list[bytes]]


@pytest.fixture(scope="module")
def states(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> States:
    """Of each metric, one state for each part."""
    table = write(tmp_path_factory.mktemp("parts"), {str(at): rows for at, rows in enumerate(SLICES)})
    specs = [*(each.spec for each in CASES), *SKETCHES]
    wanted = tuple(MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs)
    units = [Unit(table=table, part=Part(keys=(str(at),)), requests=wanted) for at in range(PARTS)]
    reports = spark_engine.scan_all(units)
    return {spec.text: [report.measured[spec.text].state or b"" for report in reports] for spec in specs}


@cache
def rows_of(parts: tuple[int, ...]) -> pd.DataFrame:
    return frame_of([row for at in parts for row in SLICES[at]])


def whole(spec: MetricSpec, states: Sequence[bytes], halves: int) -> Measured:
    """Merged in two steps, the first ``halves`` states by themselves."""
    read = [from_bytes(spec, state) for state in states]
    statistics = METRICS[spec.name].statistics
    named = None if statistics is None else dict(statistics(spec, WRITE))
    first, second = (merged(named, part) for part in (read[:halves], read[halves:]) if part)
    both: MetricState = merged(named, [first, second])
    again = from_bytes(spec, both.to_bytes(spec))  # as it is kept between two days
    return from_state(spec, again)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.permutations(range(PARTS)), taken=st.integers(2, PARTS), halves=st.data())
def test_any_union_of_parts_is_measured_without_its_rows(
    states: States, parts: list[int], taken: int, halves: st.DataObject
) -> None:
    some = parts[:taken]
    at = halves.draw(st.integers(1, taken - 1))
    rows = rows_of(tuple(sorted(some)))
    wrong = [
        (each.spec.text, found, expected)
        for each in CASES
        if not agrees(
            found := whole(each.spec, [states[each.spec.text][part] for part in some], at),
            expected := each.expected(rows),
            max(each.near, 1e-8),
        )
    ]
    assert wrong == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.permutations(range(PARTS - 1)), taken=st.integers(2, PARTS - 1))
def test_merged_sketches_stay_within_their_error(states: States, parts: list[int], taken: int) -> None:
    rows = rows_of(tuple(sorted(parts[:taken])))
    distinct, median = (
        whole(spec, [states[spec.text][part] for part in parts[:taken]], 1).value or 0.0 for spec in SKETCHES
    )
    xs = np.array([x for x in rows["x"] if x is not None])
    assert distinct == pytest.approx(len(rows), rel=0.05)
    assert np.mean(xs <= median) == pytest.approx(0.5, abs=0.02)
