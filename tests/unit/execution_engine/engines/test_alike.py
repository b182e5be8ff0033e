"""What tests take for the same of two measurements: nothing but the last digits of sums of floats may differ."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.gathering import from_state
from execution_engine.engines.protocol import Measured
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import MetricState
from tests.integration.engines.alike import alike, magnitudes_in


def measured(spec: MetricSpec, **statistics: Any) -> Measured:
    return from_state(spec, MetricState(statistics=statistics), keep_state=True)


@pytest.mark.parametrize(
    ("name", "one", "other", "same"),
    [
        ("sum", {"sum": 1.0}, {"sum": 1.0 + 1e-8}, True),
        ("sum", {"sum": 1.0}, {"sum": 1.0 + 2e-6}, False),
        ("sum", {"sum": 1}, {"sum": 1.0}, False),
        ("mean", {"sum": 5.0, "count": 2}, {"sum": 5.0 + 1e-8, "count": 2}, True),
        ("mean", {"sum": 5.0, "count": 2}, {"sum": 5.0, "count": 3}, False),
        ("max", {"max": 1.0}, {"max": 1.0 + 1e-15}, False),
        ("max", {"max": 0.0}, {"max": -0.0}, False),
        ("stddev", {"moments": (3, 1.0, 2.0)}, {"moments": (3, 1.0 + 1e-12, 2.0 - 1e-12)}, True),
        ("stddev", {"moments": (3, 1.0, 2.0)}, {"moments": (3, 1.0, 2.0 + 1e-7)}, False),
        ("stddev", {"moments": (3, 1e6, 1e-3)}, {"moments": (3, 1e6, 2e-3)}, True),  # of numbers that cancel each other
        ("stddev", {"moments": (3, 1.0, 2.0)}, {"moments": (4, 1.0, 2.0)}, False),
    ],
)
def test_only_sums_of_floats_may_differ_and_little(
    name: str, one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    spec = MetricSpec(name=name, columns=("fare",))
    assert alike(spec, measured(spec, **one), measured(spec, **other), {"fare": 1000.0}) is same


def test_pairs_may_differ_as_far_as_their_numbers_are_large() -> None:
    spec = MetricSpec(name="correlation", columns=("fare", "id"))
    pairs = (4, 1.0, 2.0, 3.0, 5.0, 3.0)
    near, far = (4, 1.0, 2.0, 3.0, 5.0, 3.0 + 1e-10), (4, 1.0, 2.0, 3.0, 5.0, 3.0 + 1e-7)
    assert alike(spec, measured(spec, comoments=pairs), measured(spec, comoments=near), {})
    assert not alike(spec, measured(spec, comoments=pairs), measured(spec, comoments=far), {})


def test_magnitudes_are_of_all_files_and_of_numbers_alone(tmp_path: Any) -> None:
    pq.write_table(pa.table({"Fare": [1.5, None, float("nan")], "id": [1, 2, 3]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"Fare": [-2.5], "id": [1]}), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_text("no parquet")
    assert magnitudes_in(str(tmp_path)) == {"fare": 4.0}
