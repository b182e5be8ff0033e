"""Which windows, which columns, and what of a test is counted, when somebody looks for the slice behind a change."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.attribution import Measure, cells_of, explain
from execution_engine.language.parse import parse
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupKey
from execution_engine.slices.result import as_json, not_searched
from execution_engine.slices.rules import (
    Subject,
    columns_worth_counting,
    like_windows,
    recurs,
    single_score,
    subject_of,
    too_many,
)

ROWS = Subject(measure=Measure.ROWS, spec=MetricSpec(name="row_count"))


def before(key: str, granularity: Granularity = Granularity.DAY, zone: str = "UTC") -> list[str]:
    """The keys of the windows that one is compared with, the newest first."""
    partitioning = Partitioning(granularity=granularity, time_zone=zone)
    return [partitioning.key(window) for window in like_windows(partitioning, partitioning.window(key))]


@pytest.mark.parametrize(
    ("key", "granularity", "newest"),
    [
        ("2026-03-09", Granularity.DAY, ["2026-03-06", "2026-03-05", "2026-03-04"]),  # a Monday
        ("2026-03-07", Granularity.DAY, ["2026-02-28", "2026-02-21", "2026-02-14"]),
        ("2026-03-08", Granularity.DAY, ["2026-03-01", "2026-02-22", "2026-02-15"]),
        ("2026-03-09-07", Granularity.HOUR, ["2026-03-08-07", "2026-03-07-07", "2026-03-06-07"]),
        ("2026-W11", Granularity.WEEK, ["2026-W10", "2026-W09", "2026-W08"]),
        ("2026-03", Granularity.MONTH, ["2026-02", "2026-01", "2025-12"]),
    ],
)
def test_a_window_is_compared_with_those_of_the_same_kind(
    key: str, granularity: Granularity, newest: list[str]
) -> None:
    assert (before(key, granularity)[:3], len(before(key, granularity))) == (newest, 28)


def test_the_kind_of_a_day_is_told_by_local_time() -> None:
    sydney = Partitioning(granularity=Granularity.DAY, time_zone="Australia/Sydney")
    saturday = sydney.at(datetime(2026, 3, 6, 20, tzinfo=UTC))  # Friday evening in UTC
    assert sydney.key(saturday) == "2026-03-07"
    assert sydney.key(like_windows(sydney, saturday)[0]) == "2026-02-28"


@pytest.mark.parametrize(
    ("assertion", "subject"),
    [
        ("row_count() >= 5", "rows of row_count()"),
        ("anomaly(row_count(where=\"city = 'a'\"), last=28) <= 1", "rows of row_count(where=\"city = 'a'\")"),
        ("sum(fare) / row_count() > 2", "sum of sum(fare)"),
        ("mean(fare) between 1 and 2 by city", "mean of mean(fare)"),
        ("completeness(fare) >= 99 %", "share of completeness(fare)"),
        ('compliance("fare > 0") = 1', "share of compliance('fare > 0')"),
        ("uniqueness(id) = 1", "share of uniqueness(id)"),
        ("max(fare) < 9", None),
        ("row_count(datacenter='phx') > 1", None),
    ],
)
def test_a_count_a_sum_a_mean_or_a_share_can_be_explained(assertion: str, subject: str | None) -> None:
    found = subject_of(parse(assertion), {})
    assert (f"{found.measure} of {found.spec.text}" if found else None) == subject


def test_where_rows_are_missed_in_other_data_the_rows_are_counted() -> None:
    assert subject_of(parse("max(fare) < 9"), {}, misses_rows=True) == ROWS


def test_of_novelty_what_moved_first_and_can_be_counted_is_explained() -> None:
    causes = [
        {"column": "city", "statistic": "distance of the frequent values from the past"},
        {"column": "order id", "statistic": "share of complete values"},
        {"column": None, "statistic": "rows"},
    ]
    found = subject_of(parse("novelty(profile()) <= 1"), {"novelty": [{"causes": causes}]})
    assert found is not None
    assert (found.measure, found.spec.text) == (Measure.SHARE, "completeness(`order id`)")
    assert subject_of(parse("novelty(profile()) <= 1"), {"novelty": [{"causes": causes[:1]}]}) is None


def test_columns_are_left_out_with_the_reason() -> None:
    types = {"ds": "string", "City": "string", "name": "string", "fare": "double", "kind": "int", "at": "timestamp"}
    subject = Subject(measure=Measure.SHARE, spec=MetricSpec(name="completeness", columns=("kind",)))
    chosen, left_out = columns_worth_counting(types, partition_column="DS", sensitive={"name"}, subject=subject)
    assert chosen == ["City"]
    assert left_out == {
        "ds": "the windows are cut by it",
        "name": "it is sensitive",
        "fare": "its type is double",
        "kind": "the test is of it",
        "at": "its type is timestamp",
    }


def test_only_so_many_columns_are_counted() -> None:
    types = {f"c{at}": "string" for at in range(50)}
    chosen, left_out = columns_worth_counting(types, partition_column=None, sensitive=set(), subject=ROWS)
    assert (len(chosen), left_out["c49"]) == (40, "only 40 columns are counted")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([*range(50), None], "more than 50 values"),
        ([*range(50)], None),
        (["a" * 100], None),
        (["a", None], None),
        (["a" * 101, "b"], "values of more than 100 letters"),
    ],
)
def test_a_column_is_searched_if_its_values_are_few_and_short(values: list[Any], reason: str | None) -> None:
    assert too_many(values) == reason


def test_groups_become_cells_with_values_of_the_types_of_their_columns() -> None:
    subject = Subject(measure=Measure.MEAN, spec=MetricSpec(name="mean", columns=("fare",)))
    keys: list[GroupKey] = [("1", "true"), (None, "false")]
    figures = {"rows": (10, 4), "mean": (3.0, None), "present": (0.5, 0.0), "deviation": (2.0, None)}
    groups = {name: dict(zip(keys, values, strict=True)) for name, values in figures.items()}
    cells = subject.cells(["kind", "is_new"], {"kind": "int", "is_new": "boolean"}, groups)
    assert cells.to_pylist() == [
        {"kind": 1, "is_new": True, "part": 15.0, "whole": 5.0, "squares": 65.0},
        {"kind": None, "is_new": False, "part": 0.0, "whole": 0.0, "squares": 0.0},
    ]


@pytest.mark.parametrize(
    ("measure", "name", "figures", "requests", "cells"),
    [
        (Measure.ROWS, "row_count", {}, [], {"part": 10.0}),
        (Measure.SUM, "sum", {"figure": 7}, ["sum(fare, where='w')"], {"part": 7.0, "whole": 10.0}),
        (
            Measure.SHARE,
            "completeness",
            {"figure": 0.4},
            ["completeness(fare, where='w')"],
            {"part": 4.0, "whole": 10.0},
        ),
        (
            Measure.MEAN,
            "mean",
            {"mean": 3.0, "present": 0.5, "deviation": 2.0},
            ["mean(fare, where='w')", "completeness(fare, where='w')", "stddev(fare, where='w')"],
            {"part": 15.0, "whole": 5.0, "squares": 65.0},
        ),
    ],
)
def test_what_a_figure_needs_of_each_cell_is_asked_with_the_rows(
    measure: Measure, name: str, figures: dict[str, float], requests: list[str], cells: dict[str, float]
) -> None:
    columns = () if measure is Measure.ROWS else ("Fare.net",)
    subject = Subject(measure=measure, spec=MetricSpec(name=name, columns=columns, where="w"))
    assert subject.columns == ({"fare"} if columns else set())
    asked = subject.requests(["the city"])
    assert {spec.by for spec in asked.values()} == {("`the city`",)}
    texts = [replace(spec, by=()).text.replace("Fare.net", "fare") for spec in asked.values()]
    assert (list(asked), texts) == (["rows", *figures], ["row_count(where='w')", *requests])
    groups: dict[str, dict[GroupKey, Any]] = {key: {("a",): figure} for key, figure in {"rows": 10, **figures}.items()}
    (row,) = subject.cells(["city"], {"city": "string"}, groups).to_pylist()
    assert row == {"city": "a", **cells}


@pytest.mark.parametrize(
    ("windows", "does"),
    [
        ("", True),
        ("ab", True),
        ("ab ab", True),
        ("ab cd", False),
        ("ab bc", True),
        ("ab bcd", False),
        ("ab cd ab", True),
    ],
)
def test_a_column_recurs_if_half_of_its_values_were_there_in_a_window_before(windows: str, does: bool) -> None:
    assert recurs("x", [pa.table({"x": list(window)}) for window in windows.split()]) is does


def test_the_column_that_moved_explains_more_than_another() -> None:
    days = [
        pa.table({"city": ["a", "a", "b", "b"], "app": ["x", "y", "x", "y"], "part": [90.0 + day, *[90.0] * 3]})
        for day in range(5)
    ]
    days.append(days[0].set_column(2, "part", pa.array([45.0, 45.0, 90.0, 90.0])))
    assert single_score(Measure.ROWS, "city", days) > single_score(Measure.ROWS, "app", days)


@pytest.mark.parametrize(("text", "type_"), [("north", "int"), ("yes", "boolean"), ("1.5", "bigint")])
def test_a_value_that_is_not_of_the_type_of_its_column_is_refused(text: str, type_: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        ROWS.cells(["kind"], {"kind": type_}, {"rows": {(text,): 1}})


def test_columns_of_databases_are_searched_by_what_their_types_hold() -> None:
    types = {"a": "character varying(30)", "b": "integer", "c": "bigint unsigned", "d": "bool", "e": "timestamptz"}
    chosen, left_out = columns_worth_counting(types, partition_column=None, sensitive=set(), subject=ROWS)
    assert (chosen, left_out) == (["a", "b", "c", "d"], {"e": "its type is timestamptz"})


def day_of(rows: dict[str, int]) -> Any:
    return ROWS.cells(["city"], {"city": "string"}, {"rows": {(city,): count for city, count in rows.items()}})


def test_what_is_kept_stays_below_20_kb_and_has_a_test_for_each_slice() -> None:
    chance, cities = np.random.default_rng(1), ["x" * 95 + str(at) for at in range(3)]
    days = [day_of({city: 400 + int(chance.integers(-9, 9)) for city in cities}) for _ in range(15)]
    days[-1] = day_of({cities[0]: 400, cities[1]: 100, cities[2]: 400})
    left_out = {f"{'c' * 290}{at}": "more than 50 values" for at in range(500)}
    kept = as_json(explain(cells_of(Measure.ROWS, ["city"], days, left_out=left_out)), ROWS.spec)
    assert [row["assertion"] for row in kept["slices"]] == ["anomaly(row_count(), last=28) <= 1 by city"]
    assert parse(kept["slices"][0]["assertion"])
    assert (len(kept["columns_left_out"]), kept["more_left_out"]) == (60, 440)
    assert len(json.dumps(kept)) < 20_000


def test_what_was_not_looked_into_has_the_same_fields() -> None:
    days = [day_of({"a": 1})] * 2
    kept = as_json(explain(cells_of(Measure.ROWS, ["city"], days)), ROWS.spec)
    assert not_searched("its files are gone").keys() == kept.keys()
    assert not_searched("its files are gone")["sentence"] == "Not looked into: its files are gone."


def test_the_window_itself_is_not_among_its_past() -> None:
    partitioning = Partitioning(granularity=Granularity.DAY)
    monday: Window = partitioning.window("2026-03-09")
    assert all(window.end <= monday.start for window in like_windows(partitioning, monday))
