"""What a schema that is inferred from forty like days says, and which batches break it, in words."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from execution_engine.novelty.days import Method
from execution_engine.novelty.inferred_schema import Schema, infer
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past
from execution_engine.novelty.verdict import NoveltyStatus, NoveltyVerdict
from execution_engine.profiles.gather import gathered_profile
from tests.unit.execution_engine.novelty.batches import CITIES, past, past_of, profile, trips, with_column

TODAY = 40


@cache
def known() -> Past:
    return past(TODAY)


@cache
def schema() -> Schema:
    return infer(known())


def verdict(table: pa.Table, history: Past | None = None) -> NoveltyVerdict:
    return judge(profile(table, TODAY), history or known(), Method.SCHEMA)


def texts(table: pa.Table, history: Past | None = None) -> list[str]:
    return [cause.text for cause in verdict(table, history).causes]


def some(name: str, value: object, count: int = 3) -> pa.Table:
    table = trips(TODAY)
    values = table[name].to_pylist()
    return with_column(table, name, pa.array([value] * count + values[count:], table[name].type))


def test_a_schema_says_kind_presence_domain_range_and_keys() -> None:
    columns = schema().columns
    assert set(columns) == {"id", "fare", "tip", "city", "plate", "begun"}
    said = schema().as_json(profile(trips(TODAY), TODAY))
    assert said["batches"] == TODAY
    assert said["columns"]["city"]["domain"] == {"size": 4, "values": CITIES.tolist()}
    assert columns["plate"].domain is None  # there are always new ones
    assert [name for name, column in columns.items() if column.is_unique] == ["id"]
    assert (columns["id"].is_whole, columns["fare"].is_whole) == (True, False)
    assert columns["id"].presence == pytest.approx(1, abs=0.01)
    fare = columns["fare"]
    assert (fare.low or 0) < 0 < 30 < (fare.high or 0)
    assert all(column.is_required for column in columns.values())


def test_a_value_outside_the_domain_is_an_anomaly_that_is_quoted() -> None:
    assert texts(some("city", "Jeju")) == [
        "rows outside the 4 known values of city: 3, usually 0; never seen before: Jeju"
    ]


def test_values_that_look_like_secrets_are_not_quoted() -> None:
    (said,) = texts(some("city", "AKIA" + "A1B2C3D4E5F6G7H8"))
    assert said == "rows outside the 4 known values of city: 3, usually 0"


def test_numbers_far_outside_what_was_seen_are_an_anomaly() -> None:
    (said,) = texts(some("fare", 99999.0))
    assert said.startswith("rows above ")
    assert " of fare: 3, usually 0" in said


def test_a_key_that_repeats_is_an_anomaly() -> None:
    assert texts(some("id", 400_007)) == ["rows that repeat a value of id: 3, usually 0"]


def test_a_column_that_is_gone_or_of_another_type_is_an_anomaly() -> None:
    assert texts(trips(TODAY).drop_columns(["tip"])) == ["column of tip: missing, usually there"]
    written = trips(TODAY)["fare"].cast(pa.string())
    assert texts(with_column(trips(TODAY), "fare", written)) == ["kind of the values of fare: text, usually number"]


def test_whole_numbers_have_no_fraction() -> None:
    table = with_column(trips(TODAY), "id", trips(TODAY)["id"].cast(pa.float64()).to_numpy() + 0.5)
    assert "numbers with a fraction of id: 500, usually 0" in texts(table)


def test_missing_values_beyond_what_the_past_makes_likely_are_an_anomaly() -> None:
    (said,) = texts(some("city", None, 25))
    assert said.startswith("share of complete values of city: 0.95, usually ")
    assert texts(some("fare", None, 3)) == []  # one in 25 is always missing


def test_the_presence_is_no_higher_than_the_quantile_of_a_beta_binomial_of_the_counts() -> None:
    """Against the posterior of one share for all days, with Jeffreys' prior."""
    missing = sum(trips(day)["fare"].null_count for day in range(TODAY))
    rows = 500 * TODAY
    most = betabinom.ppf(1 - 1e-4, 500, missing + 0.5, rows - missing + 0.5)
    assert 0.85 < (schema().columns["fare"].presence or 0) <= 1 - most / 500 + 0.01


def test_a_new_column_is_noted_and_no_anomaly() -> None:
    found = verdict(with_column(trips(TODAY), "note", ["x"] * 500))
    assert (found.status, found.causes) == (NoveltyStatus.LIKE, ())
    assert found.notes == ("note is new: it is judged once 8 batches with it are accepted",)


def test_a_domain_that_still_grows_is_none() -> None:
    growing = past(TODAY, change=lambda table, day: with_column(table, "city", [f"city {day}"] * 500))
    assert infer(growing).columns["city"].domain is None


def test_what_a_person_accepts_widens_the_schema_and_nothing_else_is_accepted() -> None:
    released = known().joined(profile(some("city", "Jeju"), TODAY), released=True)
    assert texts(some("city", "Jeju"), released) == []
    assert texts(some("city", "Atlantis"), released) == [
        "rows outside the 5 known values of city: 3, usually 0; never seen before: Atlantis"
    ]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(8, 25), st.integers(1, 90), st.floats(0, 0.6), st.integers(1, 150))
def test_no_batch_of_the_past_breaks_the_schema_that_was_inferred_from_it(
    seed: int, days: int, rows: int, missing: float, values: int
) -> None:
    drawn = np.random.default_rng(seed)
    tables = []
    for _ in range(days):
        count = int(drawn.integers(1, rows + 1))
        gaps = drawn.random(count) < missing * drawn.random()
        number = pa.array(drawn.normal(0, 10 ** drawn.uniform(-2, 2), count), mask=gaps)
        word = pa.array([f"v{x}" for x in drawn.integers(0, values, count)], mask=gaps)
        tables.append(pa.table({"number": number, "word": word, "whole": drawn.integers(0, 1000, count)}))
    profiles = [gathered_profile([table]) for table in tables]
    history = past_of(profiles)
    assert [judge(each, history, Method.SCHEMA).causes for each in profiles] == [()] * days


@pytest.mark.parametrize("name", ["city", "fare", "id"])
def test_a_batch_that_was_accepted_is_never_news_again(name: str) -> None:
    odd = {"city": some("city", None, 200), "fare": some("fare", -5e4, 9), "id": some("id", 400_001, 50)}[name]
    assert verdict(odd).is_novel
    widened = known().joined(profile(odd, TODAY), released=True)
    assert texts(odd, widened) == []
    assert all(not judge(profile(trips(day), day), widened, Method.SCHEMA).is_novel for day in range(0, TODAY, 7))
