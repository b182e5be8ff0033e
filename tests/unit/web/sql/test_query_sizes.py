"""Queries that would take long to read are refused by their size, told with what may be asked."""

import pytest

from web.sql.tables import MOST_PLACES, MOST_WORDS, UnableToReadQuery, table_uses

PLACES = {
    "tables": lambda count: "select 1 from " + ", ".join(f"raw.t{n} as t{n}" for n in range(count - 1)),
    "WITHs": lambda count: f"with {', '.join(f'c{n} as (select 1)' for n in range(count - 1))} select 1",
    "selects": lambda count: f"select {', '.join(['(select 1)'] * (count - 1))}",
}


def columns(words: int) -> str:
    """A select of so many words, names and commas."""
    return f"select a{', a' * ((words - 4) // 2)} from t"


@pytest.mark.thorough
def test_a_query_of_the_most_words_is_read_and_a_longer_one_refused() -> None:
    assert [use.name for use in table_uses(columns(MOST_WORDS))] == ["t"]
    with pytest.raises(UnableToReadQuery, match=r"20002 words, .* at most 20000 are read: ask in several queries"):
        table_uses(columns(MOST_WORDS + 2))


@pytest.mark.parametrize("kind", PLACES)
def test_a_query_of_too_many_tables_and_selects_is_refused(kind: str) -> None:
    table_uses(PLACES[kind](MOST_PLACES))
    with pytest.raises(UnableToReadQuery, match="more than 500 places: ask in several queries"):
        table_uses(PLACES[kind](MOST_PLACES + 1))
