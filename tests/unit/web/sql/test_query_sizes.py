"""Queries that would take long to read are refused by their size, told with what may be asked."""

from datetime import UTC, date, datetime, timedelta
from time import process_time

import pytest

from assay.time.windows import Granularity, Partitioning, Window
from web.sql.narrowing import PartitionColumn, ranges
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


@pytest.mark.parametrize("deep", ["day = '2026-03-09'" + " + 1" * 4000, "day" + "::date" * 4000 + " = '2026-03-09'"])
def test_a_condition_that_is_too_deep_to_be_looked_through_leaves_all(deep: str) -> None:
    whole = Window(start=datetime(2026, 3, 1, tzinfo=UTC), end=datetime(2026, 4, 1, tzinfo=UTC))
    column = PartitionColumn(name="day", partitioning=Partitioning(granularity=Granularity.DAY))
    assert ranges(table_uses(f"select 1 from raw.trips where {deep}"), column, whole, now=whole.end) == (whole,)


def test_thousands_of_dates_and_hundreds_of_uses_take_no_more_than_seconds() -> None:
    """They take less than one; products of uses and conditions took a minute and more."""
    whole = Window(start=datetime(2000, 1, 1, tzinfo=UTC), end=datetime(2030, 1, 1, tzinfo=UTC))
    column = PartitionColumn(name="day", partitioning=Partitioning(granularity=Granularity.DAY))
    days = [f"{date(2008, 1, 1) + timedelta(days=number)}" for number in range(6500)]
    above = [f"day > {day!r}" for day in days[:4400]]
    texts = [
        f"select 1 from t where day in ({', '.join(map(repr, days))})",
        f"select 1 from {', '.join(f't a{n}' for n in range(240))} where {' and '.join(above)}",
        f"select 1 from t a0 {' '.join(f'join t a{n} on a{n}.day = a{n - 1}.day' for n in range(1, 249))}",
    ]
    started = process_time()
    for sql in texts:
        ranges(table_uses(sql), column, whole, now=whole.end)
    assert process_time() - started < 15
