"""dbt's generic tests, as assertions or as sentences on why they are none."""

from typing import Any

import pytest

from assay.catalog.providers.dbt_tests import UnableToTranslate, translate
from execution_engine.language.parse import parse


def assertion(name: str, config: dict[str, Any] | None = None, **arguments: Any) -> str:
    """What a test of the column c comes to."""
    test = {"test_metadata": {"name": name, "kwargs": {"column_name": "c", **arguments}}, "config": config or {}}
    if "." in name:
        test["test_metadata"] = {**test["test_metadata"], "namespace": name.split(".")[0], "name": name.split(".")[1]}
    return translate(test, adapter="postgres", types={"c": "integer"}, dataset_of="mart.people")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (assertion("unique"), "uniqueness(c) = 1"),
        (assertion("not_null", column_name='"order id"'), "completeness(`order id`) = 1"),
        (assertion("not_null", {"where": "kind = 'a' and at::date > '2026-01-01'"}), "kind = 'a' AND CAST(at AS DATE)"),
        (assertion("accepted_values", values=[1, 2]), 'compliance("`c` is null or `c` in (1, 2)") = 1'),
        (assertion("accepted_values", values=["a"]), "in ('a')"),
        (
            assertion("relationships", to="ref('people')", field="id"),
            "referential_integrity(c, 'mart.people', to='id') = 1",
        ),
        (
            assertion("dbt_utils.unique_combination_of_columns", combination_of_columns=["a", "b"]),
            "uniqueness(a, b) = 1",
        ),
        (assertion("dbt_utils.accepted_range", min_value=0, max_value=9.5), "in_range(c, 0, 9.5) = 1"),
    ],
)
def test_a_test_is_an_assertion_that_can_be_parsed(text: str, expected: str) -> None:
    assert expected in text
    parse(text)


@pytest.mark.parametrize(
    ("name", "config", "arguments", "sentence"),
    [
        ("recency", {}, {}, "recency is none of dbt's own tests"),
        ("not_null", {"error_if": ">10"}, {}, "it has error_if: >10"),
        ("not_null", {"where": "day = '{{ var(\"day\") }}'"}, {}, "what dbt fills in"),
        ("not_null", {"where": "day = = 1"}, {}, "no condition of postgres"),
        ("not_null", {}, {"column_name": None}, "it names no column"),
        ("accepted_values", {}, {"values": ["it's"]}, "holds a quote"),
        ("accepted_values", {}, {"values": ["now()"], "quote": False}, "expressions of SQL"),
        ("accepted_values", {}, {"values": []}, "no list of values"),
        ("dbt_utils.accepted_range", {}, {"min_value": 0}, "no two numbers"),
    ],
)
def test_a_test_that_means_more_than_an_assertion_is_said(
    name: str, config: dict[str, Any], arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UnableToTranslate, match=sentence):
        assertion(name, config, **arguments)
