"""What all rows suggest, as assertions, and that the windows which were not fitted try it."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.profiles.gather import gathered_profile
from test_generator.suggestions.dependencies import keys_of, share_of_left_sides
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

DRAWN = np.random.default_rng(11)


def window(key: str, rows: pa.Table) -> SuggestedWindow:
    return SuggestedWindow(key=key, profile=gathered_profile([rows]), rows=rows)


def of(rule: str, tables: list[pa.Table], *others: tuple[str, pa.Table]) -> dict[str, Suggestion]:
    """The suggestions of a rule by their assertions."""
    keys = [key for name, rows in others for key in keys_of(name, rows)]
    found = suggestions([window(str(at), rows) for at, rows in enumerate(tables)], keys)
    return {one.assertion: one for one in found if one.rule == rule}


def cities(broken: int = 0, gaps: int = 0) -> pa.Table:
    """A thousand rows of cities with their countries, of which some have a wrong one, and some no city."""
    at = DRAWN.integers(0, 60, 1000)
    countries = [f"country {one // 7}" for one in at.tolist()]
    countries[:broken] = ["nowhere"] * broken
    return pa.table({"my city": [None] * gaps + at[gaps:].tolist(), "country": countries})


def test_a_dependency_is_an_assertion_that_later_windows_try() -> None:
    found = of("FunctionalDependency", [cities() for _ in range(8)] + [cities(broken=1), cities()])
    assert list(found) == ["distinct_count(`my city`, country) = distinct_count(`my city`)"]
    (one,) = found.values()
    assert (one.held, one.tried, one.cost) == (1, 2, "counts keys")
    assert one.why == "my city told country in all rows"


def test_rows_without_the_left_side_are_left_out() -> None:
    found = of("FunctionalDependency", [cities(gaps=9) for _ in range(5)])
    where = "where='`my city` is not null'"
    assert list(found) == [f"distinct_count(`my city`, country, {where}) = distinct_count(`my city`, {where})"]


def test_one_that_some_rows_break_says_so() -> None:
    found = of("FunctionalDependency", [cities(broken=int(at == 2)) for at in range(10)])
    ((assertion, one),) = found.items()
    assert one.why == "my city told country in 99.987 % of the rows, not in all"
    assert assertion == "distinct_count(`my city`) / distinct_count(`my city`, country) >= 0.97"
    assert one.held == one.tried == 2


@given(rows=st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * 3), max_size=30))
def test_the_share_of_left_sides_is_that_of_the_distinct_counts(rows: list[tuple[int | None, ...]]) -> None:
    there = [row for row in rows if row[0] is not None and row[1] is not None]
    expected = len({row[:2] for row in there}) / len(set(there)) if there else 1.0
    table = pa.table({name: pa.array([row[at] for row in rows], pa.int64()) for at, name in enumerate("abc")})
    assert share_of_left_sides(table, ("a", "b"), "c") == expected


def test_a_reference_that_some_rows_lack_says_so() -> None:
    users = ("raw.users", pa.table({"id": range(500)}))
    trips = [pa.table({"user_id": [*DRAWN.integers(0, 500, 999), 501 * (at == 1)]}) for at in range(10)]
    ((assertion, one),) = of("InclusionDependency", trips, users).items()
    assert assertion == "referential_integrity(user_id, 'raw.users', to='id') >= 0.99"
    assert one.why == "99.987 % of the values were among the 500 of raw.users.id, the others not"
    assert (one.held, one.tried, one.cost) == (2, 2, "reads the other dataset")


def test_windows_that_disagree_on_a_type_are_looked_through_without_this_column() -> None:
    some = [cities().append_column("x", pa.array([1] * 1000)), cities().append_column("x", pa.array(["1"] * 1000))]
    assert len(of("FunctionalDependency", [*some, cities(), cities()])) == 1
