"""The invariant, held against SQLite: what lies outside of the ranges changes nothing in a query's answer."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from operator import eq, ge, gt, le, lt
from random import Random

import pytest
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st

from assay.time.windows import Granularity, Partitioning, Window
from tests.unit.web.sql.random_queries import DAYS, TABLES, Queries
from web.sql.narrowing import PartitionColumn, ranges
from web.sql.tables import DIALECTS, table_uses

BY_DAY = Partitioning(granularity=Granularity.DAY)
WHOLE = Window(start=datetime(2026, 2, 1, tzinfo=UTC), end=datetime(2026, 5, 1, tzinfo=UTC))
COLUMN = PartitionColumn(name="day", partitioning=BY_DAY)
NOW = datetime(2026, 3, 20, tzinfo=UTC)


@pytest.fixture(scope="module")
def lake() -> Iterator[sqlite3.Connection]:
    """Two tables of 16 days, of which some rows have no day."""
    found = sqlite3.connect(":memory:")
    found.execute("attach ':memory:' as raw")
    for shift, table in enumerate(TABLES):
        found.execute(f"create table {table} (day text, id integer)")
        rows = [(day, (number * 7 + shift) % 5) for number, day in enumerate(DAYS)]
        found.executemany(f"insert into {table} values (?, ?)", [*rows, (DAYS[3], 9), (None, 1)])
    yield found
    found.close()


def _answer(lake: sqlite3.Connection, sql: str, *, most: int) -> Counter[tuple[object, ...]]:
    """The rows; a query of more steps than so many times 20,000 is interrupted."""
    steps = iter(range(most))
    lake.set_progress_handler(lambda: next(steps, None) is None, 20_000)
    return Counter(lake.execute(sql).fetchall())


@settings(deadline=None)
@given(seed=st.integers(0, 10**9), dialect=st.sampled_from(DIALECTS))
def test_partitions_outside_of_the_ranges_change_no_answer(lake: sqlite3.Connection, seed: int, dialect: str) -> None:
    sql = Queries(Random(seed)).statement()
    note(sql)
    try:
        expected = _answer(lake, sql, most=50)
    except sqlite3.OperationalError as refused:
        if not re.search("ambiguous|interrupted|to its right", str(refused)):  # no engine takes all that is drawn
            raise
        reject()
    uses = table_uses(sql, dialect)
    lake.execute("savepoint before")
    try:
        for table in TABLES:
            own = tuple(use for use in uses if use.name == table)
            read = ranges(own, COLUMN, WHOLE, now=NOW, dialect=dialect)
            for day in DAYS:
                if not any(part.contains(BY_DAY.window(day)) for part in read):
                    lake.execute(f"delete from {table} where day = ?", (day,))
        assert _answer(lake, sql, most=5000) == expected
    finally:
        lake.execute("rollback to before")
        lake.execute("release before")


KEYS = ("%Y-%m-%d", "%Y%m%d", "%d.%m.%Y", "%Y/%m/%d", "%Y-%j")
OPERATORS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
LITERALS = st.one_of(
    st.dates(date(2026, 1, 20), date(2026, 5, 10)).flatmap(
        lambda day: st.sampled_from([day.strftime(form) for form in (*KEYS, "%Y-%m", "%Y", "%-d.%-m.%Y", "%Y-%-m-%-d")])
    ),
    st.text("0123456789-/. :T", max_size=19),
)


@given(key_format=st.sampled_from(KEYS), operator=st.sampled_from([*OPERATORS]), literal=LITERALS)
def test_a_column_of_texts_of_numbers_or_of_dates_passes_in_the_range_alone(
    key_format: str, operator: str, literal: str
) -> None:
    by_key = Partitioning(granularity=Granularity.DAY, key_format=key_format)
    uses = table_uses(f"select * from t where day {operator} '{literal}'")
    column = PartitionColumn(name="day", partitioning=by_key)
    read = ranges(uses, column, WHOLE, now=NOW)
    for window in by_key.between(WHOLE.start, WHOLE.end):
        key, passes = by_key.key(window), [OPERATORS[operator](by_key.key(window), literal)]
        if key.isdigit() and literal.isdigit():
            passes.append(OPERATORS[operator](int(key), int(literal)))
        if found := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", literal):
            with suppress(ValueError):
                passes.append(OPERATORS[operator](window.start.date(), date(*map(int, found.groups()))))
        assert not any(passes) or any(part.contains(window) for part in read), key
