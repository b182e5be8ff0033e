import pytest

from execution_engine.metrics.definitions.schema import SCHEMA_MATCH, compare, wanted_columns
from execution_engine.metrics.spec import MetricSpec

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
    assert wanted_columns(text) == columns


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
    found = compare(wanted_columns(text), FOUND)
    assert (found["missing"], found["other"]) == (missing, other)


def test_columns_that_nobody_asked_for_are_told() -> None:
    assert compare(wanted_columns("price decimal(10,2)"), FOUND)["extra"] == ["id", "at"]


@pytest.mark.parametrize(("text", "fits"), [("id bigint", True), ("id", False), ("", False), ("id bigint,", False)])
def test_a_text_that_is_no_schema_is_refused(text: str, *, fits: bool) -> None:
    assert SCHEMA_MATCH.problem is not None
    assert (SCHEMA_MATCH.problem(MetricSpec(name="schema_match", arguments=(text,))) is None) == fits
