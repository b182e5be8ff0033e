"""What is said of a query, and which statements nobody asks about."""

import pytest

from assay_client import QueryQuality
from assay_client.queries import concerns, is_command

GOOD = {"dataset": "raw.a", "status": "good", "reasons": []}
BAD = {
    "dataset": "raw.b",
    "status": "bad",
    "reasons": [
        {"text": "rows is broken", "status": "bad"},
        {"text": "waived", "status": None},
        {"text": "incident 7 is open", "status": "bad"},
    ],
}
STRANGER = {"dataset": "x.y", "status": "unknown", "reasons": [{"text": "not known", "status": "unknown"}]}


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("set spark.sql.ansi.enabled = true", True),
        ("  -- a remark\n/* and\nanother */ SHOW tables", True),
        ("use raw;", True),
        ("reset;", True),
        ("", True),
        ("-- nothing", True),
        ("select 1", False),
        ("-- set\nselect * from raw.trips", False),
        ("with a as (select 1) select * from a", False),
        ("insert into mart.a select * from raw.b", False),
        ("create table c as select * from raw.b", False),
        ("from raw.trips |> where fare > 3", False),
        ("settle", False),
    ],
)
def test_only_what_reads_no_table_is_not_asked_about(sql: str, wanted: bool) -> None:
    assert is_command(sql) is wanted


def test_each_table_that_is_not_good_has_one_line_with_its_reasons() -> None:
    answer = QueryQuality.of({"status": "bad", "tables": [GOOD, BAD, BAD, STRANGER], "unknown": ["x.y"]})
    assert concerns(answer) == ("raw.b is bad: rows is broken; incident 7 is open",)
