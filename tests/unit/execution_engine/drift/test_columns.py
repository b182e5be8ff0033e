"""Which columns of a table have drifted, in words: gone, new, of another kind, beyond chance."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from execution_engine.drift import DriftLevel, described, drifts_of
from execution_engine.profiles.gather import gathered_profile
from tests.unit.execution_engine.novelty.batches import trips, with_column


def drifts(table: pa.Table, before: pa.Table, **changed: Any) -> dict[str, dict[str, Any]]:
    found = drifts_of(gathered_profile([table]), gathered_profile([before]), **changed)
    return {each["name"]: each for each in map(described, found)}


def levels(table: pa.Table, before: pa.Table, **changed: Any) -> dict[str, str]:
    return {name: each["level"] for name, each in drifts(table, before, **changed).items()}


def test_like_days_are_within_chance() -> None:
    found = levels(trips(1).drop_columns(["id", "begun"]), trips(2).drop_columns(["id", "begun"]))
    assert set(found.values()) == {DriftLevel.CHANCE}


def test_the_furthest_column_is_first_and_says_what_moved() -> None:
    table = with_column(trips(1, 1000), "city", ["Jeju"] * 300 + trips(1, 1000)["city"].to_pylist()[300:])
    found = drifts(table, trips(2, 1000), without=["ID", "begun"])
    name, first = next(iter(found.items()))
    assert (name, first["level"]) == ("city", "large")
    assert first["moved"] == {"what": "Jeju", "share": 0.3, "before": 0.0}
    assert first["text"].startswith("city: PSI ")
    assert first["text"].endswith(", large: Jeju in 30.00 % of rows (before 0.00 %)")
    assert "id" not in found


def test_missing_values_drift_by_themselves() -> None:
    fares = trips(1)["fare"].to_pylist()
    table = with_column(trips(1), "fare", pa.array([None] * 250 + fares[250:], pa.float64()))
    told = drifts(table, trips(2))["fare"]
    assert told["level"] == "large"
    assert told["missing"] > 0.5
    assert told["missing_psi"] > told["psi"]
    assert "no value in" in told["text"]


def test_columns_that_are_gone_new_or_of_another_kind_are_told() -> None:
    table = with_column(trips(1).drop_columns(["tip"]), "fare", ["x"] * 500)
    found = levels(with_column(table, "more", [1] * 500), trips(2))
    assert {name: found[name] for name in ("tip", "fare", "more")} == {
        "tip": "gone",
        "fare": "another kind",
        "more": "new",
    }
    assert list(found)[:2] == ["fare", "tip"]


def test_the_bound_is_the_users() -> None:
    shifted = with_column(trips(1, 4000), "fare", [(fare or 0) * 1.5 for fare in trips(1, 4000)["fare"].to_pylist()])
    assert levels(shifted, trips(2, 4000))["fare"] == "large"
    assert levels(shifted, trips(2, 4000), large=5.0)["fare"] == "some"


def test_few_rows_are_within_chance_whatever_their_index() -> None:
    drawn = np.random.default_rng(3)
    small, large = (pa.table({"x": drawn.normal(size=size)}) for size in (25, 25))
    told = drifts(small, large)["x"]
    assert told["psi"] > 0.25
    assert told["level"] == "within chance"


def test_values_that_look_like_secrets_are_not_told() -> None:
    keys = [f"AKIA{letter * 16}" for letter in "ABCD"]
    told = drifts(pa.table({"key": [keys[0]] * 90 + keys}), pa.table({"key": [keys[1]] * 90 + keys}))["key"]
    assert told["level"] == "large"
    assert "AKIA" not in str(told)


@pytest.mark.parametrize(("type_", "value"), [(pa.date32(), "1970-01-0"), (pa.timestamp("s"), "1970-01-01T00:00:0")])
def test_times_are_told_as_times(type_: pa.DataType, value: str) -> None:
    days = [pa.array([at] * 50, pa.int32() if type_ == pa.date32() else pa.int64()).cast(type_) for at in (1, 2)]
    told = drifts(pa.table({"at": days[0]}), pa.table({"at": days[1]}))["at"]
    assert value in told["text"]


def test_lists_have_no_distance_but_gaps() -> None:
    told = drifts(pa.table({"x": [[1]] * 50}), pa.table({"x": [[2]] * 50}))["x"]
    assert (told["level"], told["psi"]) == ("within chance", None)
