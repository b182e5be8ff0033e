"""The values of groups survive being kept, and nothing else is taken for them."""

import json
import math

import pytest

from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupValues, UnableToReadGroups, too_many_groups

CITIES = GroupValues(
    columns=("city", "status"),
    groups={
        ("Oslo", "open"): 0.5,
        ("Oslo", None): None,
        (None, "open"): 3.0,
        ("", "a\nb"): 1e308,
        ("Zürich", "'"): -0.1,
    },
)


@pytest.mark.parametrize("groups", [CITIES, GroupValues(columns=("city",), groups={})])
def test_groups_are_read_back_as_they_were_written(groups: GroupValues) -> None:
    assert GroupValues.from_bytes(groups.to_bytes()) == groups


def test_a_null_key_and_an_empty_one_are_two_groups() -> None:
    groups = GroupValues(columns=("city",), groups={(None,): 1.0, ("",): 2.0})
    assert GroupValues.from_bytes(groups.to_bytes()).groups == {(None,): 1.0, ("",): 2.0}


def test_a_value_that_is_no_number_stays_what_it_is() -> None:
    read = GroupValues.from_bytes(GroupValues(columns=("c",), groups={("x",): math.nan, ("y",): -math.inf}).to_bytes())
    assert math.isnan(read.groups[("x",)] or 0.0)
    assert read.groups[("y",)] == -math.inf


@pytest.mark.thorough
def test_a_hundred_thousand_groups_are_read_back() -> None:
    groups = GroupValues(columns=("c",), groups={(f"group {i}",): i / 7 for i in range(MAX_GROUPS)})
    assert GroupValues.from_bytes(groups.to_bytes()) == groups


def test_more_groups_than_the_limit_are_refused() -> None:
    groups = GroupValues(columns=("c",), groups={(str(i),): 1.0 for i in range(MAX_GROUPS + 1)})
    with pytest.raises(UnableToReadGroups):
        GroupValues.from_bytes(groups.to_bytes())


def test_any_damaged_byte_is_noticed() -> None:
    state = CITIES.to_bytes()
    body = state.index(b"\n") + 1
    for position in range(body, len(state)):
        with pytest.raises(UnableToReadGroups):
            GroupValues.from_bytes(state[:position] + bytes([state[position] ^ 1]) + state[position + 1 :])


@pytest.mark.parametrize("cut", [0, 1, 20, 100, -1])
def test_a_cut_state_is_noticed(cut: int) -> None:
    with pytest.raises(UnableToReadGroups):
        GroupValues.from_bytes(CITIES.to_bytes()[:cut])


@pytest.mark.parametrize("state", [b"", b"\xff\xfe", b"[]", b"null\n1", b'{"assay_groups": 2}\n', b"[" * 100_000])
def test_other_bytes_are_no_groups(state: bytes) -> None:
    with pytest.raises(UnableToReadGroups):
        GroupValues.from_bytes(state)


def test_too_many_groups_say_how_to_narrow() -> None:
    detail = too_many_groups(("city", "status"), 2_000_000).detail
    assert "by city, status makes 2,000,000 groups" in detail
    assert "where=" in detail


def test_a_grouped_metric_has_its_groups_in_its_text() -> None:
    spec = MetricSpec(name="completeness", columns=("email",), where="age > 18", by=("city", "status"))
    assert spec.text == "completeness(email, where='age > 18') by city, status"
    assert MetricSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_a_metric_without_groups_is_stored_as_ever() -> None:
    stored: dict[str, object] = {"name": "row_count", "columns": [], "arguments": [], "options": {}, "where": None}
    assert MetricSpec(name="row_count").to_json() == stored
    assert MetricSpec.from_json(stored) == MetricSpec(name="row_count")
