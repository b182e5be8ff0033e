"""What runs found, in forms for people: nothing reads like a program's."""

from typing import Any

import pytest

from web.rendering.findings import FindingTable, tables_of


@pytest.mark.parametrize(
    ("findings", "tables"),
    [
        ({"lost_keys": 12345}, [FindingTable(title="lost keys", text="12,345")]),
        ({"a()": {"note": "part of the sentence"}}, []),
        (
            {"freshness()": {"complete": False, "newest_file": None, "at": "2026-03-09T04:00:00+00:00"}},
            [
                FindingTable(
                    title="Age",
                    rows=[("complete", "no"), ("newest file", "unknown"), ("at", "2026-03-09 04:00")],
                )
            ],
        ),
        (
            {"drift": {"gone": ["fare", "tip"], "changed": {"id": "string"}}},
            [
                FindingTable(title="drift", rows=[("gone", "fare, tip")]),
                FindingTable(title="drift: changed", rows=[("id", "string")]),
            ],
        ),
        (
            {"failing_rows": [{"id": 1, "city": None}, {"id": 2, "fare": 2.5}]},
            [
                FindingTable(
                    title="failing rows",
                    columns=["id", "city", "fare"],
                    rows=[["1", "unknown", "unknown"], ["2", "unknown", "2.5"]],
                )
            ],
        ),
        (
            {"partitions": [["2026-03-09", "2026-03-10"]]},
            [FindingTable(title="partitions", rows=[["2026-03-09", "2026-03-10"]])],
        ),
        ({"why": {"said": "the file is gone"}}, [FindingTable(title="why", text="the file is gone")]),
    ],
)
def test_each_kind_of_finding_has_a_form(findings: dict[str, Any], tables: list[FindingTable]) -> None:
    assert tables_of(findings, {"freshness()": "Age"}) == tables


def test_of_many_rows_the_first_are_listed_and_the_others_counted() -> None:
    (table,) = tables_of({"keys": [{"id": number} for number in range(50)]}, {})
    assert (len(table.rows), table.more) == (20, 30)
