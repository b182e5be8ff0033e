"""Which declared columns are gone or changed, where, and how a sentence says it; which schema is met."""

import pytest

from execution_engine.engines.column_types import holds, measure_drift
from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.definitions.schema import (
    SCHEMA_DRIFT,
    SCHEMA_MATCH,
    SeenColumns,
    compare,
    declared_of,
    declared_text,
    detail_of,
    drifts,
    parse_columns,
)
from execution_engine.metrics.spec import MetricSpec

DECLARED = [("id", "bigint"), ("amount", "decimal(10,2)"), ("note", "string")]


def seen(place: str, **columns: str | None) -> SeenColumns:
    return SeenColumns(place=place, columns=columns)


def sentences(*places: SeenColumns) -> list[str]:
    return [drift.sentence for drift in drifts(DECLARED, places, holds)]


def call(**options: str) -> MetricSpec:
    return MetricSpec(name="schema_drift", options=tuple(sorted(options.items())))


def test_what_is_as_declared_or_wider_and_what_is_not_declared_at_all_is_no_drift() -> None:
    assert sentences(seen("a", ID="bigint", amount="decimal(12,2)", note="string", extra="date")) == []


def test_a_column_that_is_gone_is_named_with_the_file() -> None:
    assert sentences(seen("day=2/a.parquet", id="bigint", amount="decimal(10,2)")) == [
        "column note, declared string, is gone in day=2/a.parquet"
    ]


def test_a_column_of_another_type_is_named_with_both_types() -> None:
    assert sentences(seen("a", id="bigint", amount="double", note="string")) == [
        "column amount, declared decimal(10,2), is double in a"
    ]


def test_a_column_counts_once_however_many_files_it_is_gone_from() -> None:
    without = [seen(name, id="bigint", amount="decimal(10,2)") for name in ("b", "c", "d")]
    whole = seen("a", id="bigint", amount="decimal(10,2)", note="string")
    assert sentences(without[0], whole, *without[1:]) == ["column note, declared string, is gone in b and 2 more"]


def test_where_only_names_are_told_no_type_is_wrong() -> None:
    assert sentences(seen("a.csv", id=None, amount=None)) == ["column note, declared string, is gone in a.csv"]


def test_the_detail_names_every_column_and_the_sentence_the_first_twenty() -> None:
    many = [(f"c{number}", "int") for number in range(25)]
    detail = detail_of(drifts(many, [seen("a", c0="string")], holds))
    assert detail["changed"] == {"c0": "string"}
    assert detail["gone"] == [f"c{number}" for number in range(1, 25)]
    assert detail[NOTE].endswith("is gone in a; 5 more columns")
    assert "c19," in detail[NOTE]
    assert "c20," not in detail[NOTE]


def test_declared_columns_come_back_whatever_is_in_their_names_and_types() -> None:
    odd = [("a, b", "enum('x','y')"), ('"q" `r`', "decimal(10"), ("it's", "struct<a:int>"), ("é", "")]
    assert declared_of(call(declared=declared_text(odd))) == odd


def test_declared_columns_can_be_written_by_hand() -> None:
    spec = call(declared="id bigint, amount decimal(10, 2)")
    assert declared_of(spec) == [("id", "bigint"), ("amount", "decimal(10, 2)")]


def test_a_call_with_an_unknown_selection_or_without_columns_is_refused() -> None:
    assert SCHEMA_DRIFT.problem
    assert SCHEMA_DRIFT.problem(call(of="keys")) is None
    assert SCHEMA_DRIFT.problem(call(of="key")) == "of= is one of all, keys, others, not key"
    assert "written as 'name type" in str(SCHEMA_DRIFT.problem(call(declared=" ")))


FOUND = {"id": "bigint", "Price": "decimal(10,2)", "at": "struct<city:string,zip:int>", "at.city": "string"}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id bigint", [("id", "bigint")]),
        (" id  bigint ,b   string", [("id", "bigint"), ("b", "string")]),
        ("price decimal(10, 2), m map<string, int>", [("price", "decimal(10, 2)"), ("m", "map<string, int>")]),
        ("", []),
    ],
)
def test_a_schema_is_read_column_by_column(text: str, columns: list[tuple[str, str]]) -> None:
    assert parse_columns(text) == columns


@pytest.mark.parametrize(
    ("text", "missing", "other"),
    [
        ("ID long, price DECIMAL(10, 2), at struct<city: string, zip: int>", [], {}),
        ("at.city string", [], {}),
        ("id int, gone string", ["gone"], {"id": "bigint"}),
        ("price decimal(10,3)", [], {"price": "decimal(10,2)"}),
    ],
)
def test_columns_are_compared_by_name_and_type(text: str, missing: list[str], other: dict[str, str]) -> None:
    found = compare(parse_columns(text), FOUND)
    assert (found["missing"], found["other"]) == (missing, other)


def test_columns_that_nobody_asked_for_are_told() -> None:
    assert compare(parse_columns("price decimal(10,2)"), FOUND)["extra"] == ["id", "at"]


@pytest.mark.parametrize(("text", "fits"), [("id bigint", True), ("id", False), ("", False), ("id bigint,", False)])
def test_a_text_that_is_no_schema_is_refused(text: str, *, fits: bool) -> None:
    assert SCHEMA_MATCH.problem is not None
    assert (SCHEMA_MATCH.problem(MetricSpec(name="schema_match", arguments=(text,))) is None) == fits


@pytest.mark.parametrize(
    ("options", "places", "value", "why"),
    [
        ({}, [seen("a", id="bigint")], None, "nothing declares the columns of raw.trips: declare them in the catalog"),
        ({"declared": "id bigint"}, [], None, "raw.trips has no files there, so it has no columns"),
        ({"declared": "id bigint"}, [seen("a", id="bigint")], 0, ""),
        ({"declared": "id bigint, fare double"}, [seen("a", id="string"), seen("b", id="string")], 2, ""),
    ],
)
def test_a_drift_is_how_many_declared_columns_are_gone_or_changed(
    options: dict[str, str], places: list[SeenColumns], value: float | None, why: str
) -> None:
    measured = measure_drift(MeasurementRequest(key="", spec=call(**options)), places, "raw.trips")
    assert (measured.value, measured.failure.detail[: len(why)] if measured.failure else "") == (value, why)
