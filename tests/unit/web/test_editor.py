"""What the editor says of an assertion, offers while one writes, and draws of the past."""

import re

import pytest

from execution_engine.language.parse import parse
from execution_engine.metrics.registry import SIGNATURES
from web.pages.assertion_words import call_of, completions, datasets_of, describe_operands, parts_of
from web.pages.days import PlotBounds, bounds_with
from web.pages.editor import as_yaml


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ("row_count() > 1", ["how many rows there are"]),
        ("completeness(fare) >= 0.9", ["the share of rows that have a value; reads column fare"]),
        ("row_count(dataset='raw.trips', ago=7d) > 1", ["how many rows there are; of raw.trips; as it was 7d before"]),
        (
            "row_count() > 0.5 * mean(row_count(), last=7)",
            ["how many rows there are", "mean over the 7 windows before this one; how many rows there are"],
        ),
        ("lag(row_count(), 7) > 1", ["the value 7 windows before; how many rows there are"]),
        ("novelty(fare) <= 1", ["judged by the 90 windows before this one; reads column fare"]),
        (
            "anomaly(sum(fare), last=9) <= 1",
            ["judged by the 9 windows before this one; the sum of the values; reads column fare"],
        ),
    ],
)
def test_it_says_in_words_what_an_assertion_measures(assertion: str, said: list[str]) -> None:
    assert [one.said for one in describe_operands(parse(assertion))] == said


def test_it_knows_which_other_datasets_are_named() -> None:
    assert datasets_of(parse("row_count() / row_count(dataset='raw.trips') > 1")) == {"raw.trips"}


def test_a_message_is_cut_into_sentences_and_drawings() -> None:
    message = "no column far\n  far > 1\n  ^^^\nno column b\n  b"
    assert parts_of(message) == [
        (False, "no column far"),
        (True, "  far > 1\n  ^^^"),
        (False, "no column b"),
        (True, "  b"),
    ]


def test_functions_are_offered_with_examples_that_can_be_read() -> None:
    calls = {one["name"]: one["call"] for one in completions([], {})["calls"]}
    assert list(calls) == [
        *("abs", "anomaly", "coalesce", "greatest", "lag", "last", "least", "median", "novelty"),
    ]
    for name, call in calls.items():
        assert call.startswith(f"{name}(")
        parse(re.sub(r"\b[xy]\b", "1", call.replace("metric", "row_count()")) + " > 0")


def test_names_that_are_offered_can_be_pasted() -> None:
    offered = completions([("order id", "bigint"), ("fare", "double")], SIGNATURES)
    assert [one["name"] for one in offered["columns"]] == ["`order id`", "fare"]
    by_name = {one["name"]: one for one in offered["calls"]}
    assert by_name["quantile"]["call"] == "quantile(column, 1)"
    assert by_name["mean"]["help"] == "the mean of the values (a numeric column)"
    assert call_of(SIGNATURES["keys_found"]) == (
        "keys_found(column, …, format='…', exact_keys=1, error_rate=1, datacenter='…')"
    )
    assert "profile" not in by_name


@pytest.mark.parametrize(
    ("assertion", "measured", "expected"),
    [
        (
            "row_count() between 0.5 * mean(row_count(), last=7) and 2 * mean(row_count(), last=7)",
            {"row_count()": 90, "mean(row_count(), last=7)": "100"},
            PlotBounds(low=50, high=200),
        ),
        ("row_count() < row_count(ago=7d)", {"row_count()": 9, "row_count(ago=7d)": 8}, PlotBounds(high=8)),
        ("row_count() >= row_count(ago=7d)", {"row_count()": 9, "row_count(ago=7d)": 8}, PlotBounds(low=8)),
        ("row_count() >= row_count(ago=7d)", {"row_count()": 9}, PlotBounds()),
        ("row_count() >= row_count(ago=7d)", {"row_count()": 9, "row_count(ago=7d)": None}, PlotBounds()),
        ("row_count() > 1 and row_count() < 5", {"row_count()": 9}, PlotBounds()),
    ],
)
def test_a_bound_that_is_measured_too_is_what_it_was_then(
    assertion: str, measured: dict[str, object], expected: PlotBounds
) -> None:
    assert bounds_with(parse(assertion), measured) == expected


def test_the_yaml_leaves_out_what_the_dataset_says_and_keeps_odd_characters() -> None:
    typed = {"name": "größe: 1", "assertion": "row_count() > 1", "severity": "", "schedule": "partition", "sustain": ""}
    assert as_yaml("raw.trips", typed) == (
        "tests:\n- dataset: raw.trips\n  name: 'größe: 1'\n  assertion: row_count() > 1\n"
    )
