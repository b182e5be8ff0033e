"""The invariant, held against SQLite: what lies outside of the ranges changes nothing in a query's answer."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
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
        if not re.search("ambiguous|interrupted", str(refused)):  # no engine takes what can mean two columns
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
