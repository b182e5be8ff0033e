"""Hundreds of queries in three dialects, with what they read worked out by hand: no table missing, no range too narrow.

A range is ``all``, ``none``, or stretches with commas between them: days, both ends included (``2026-03-09``,
``2026-03-01..2026-03-07``, ``..2026-03-07``), or instants in UTC, without the last (``2026-03-09T05:00 to …``).
``reads`` is what the answer covers; where that is more than the text says, ``exact`` says what would do. The texts of
TPC-H and TPC-DS are those of sqlglot's tests (MIT, see the licence beside them).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.time.stored_times import Holds, StoredTimes
from assay.time.windows import Granularity, Partitioning, Window
from incident_manager.intervals import Intervals, subtract, union
from web.sql.narrowing import PartitionColumn, ranges
from web.sql.tables import table_uses

HERE = Path(__file__).parent / "queries"
NOW = datetime(2026, 3, 20, 10, tzinfo=UTC)
OURS = Window(start=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2026, 4, 1, tzinfo=UTC))
TPC = Window(start=datetime(1990, 1, 1, tzinfo=UTC), end=datetime(2010, 1, 1, tzinfo=UTC))
DAY = timedelta(days=1)
BY_DAY = Partitioning(granularity=Granularity.DAY)
PARTITIONED = {
    "raw.trips": PartitionColumn(name="day", partitioning=BY_DAY),
    "raw.rides": PartitionColumn(name="day", partitioning=BY_DAY),
    "raw.events": PartitionColumn(
        name="ds", partitioning=Partitioning(granularity=Granularity.DAY, key_format="%Y%m%d")
    ),
    "raw.clicks": PartitionColumn(name="hour", partitioning=Partitioning(granularity=Granularity.HOUR)),
    "mart.months": PartitionColumn(name="month", partitioning=Partitioning(granularity=Granularity.MONTH)),
    "app.orders": PartitionColumn(
        name="created_at", partitioning=BY_DAY, times=StoredTimes(partitioning=BY_DAY, holds=Holds.TIME)
    ),
    "app.payments": PartitionColumn(
        name="paid", partitioning=BY_DAY, times=StoredTimes(partitioning=BY_DAY, holds=Holds.EPOCH_SECONDS)
    ),
    "lineitem": PartitionColumn(name="l_shipdate", partitioning=BY_DAY),
    "orders": PartitionColumn(name="o_orderdate", partitioning=BY_DAY),
    "date_dim": PartitionColumn(name="d_date", partitioning=BY_DAY),
}
FEWEST = 300
LEAST_EXACT = 0.9


@dataclass(frozen=True, kw_only=True)
class Case:
    """A text, and what it reads."""

    sql: str
    dialect: str
    reads: dict[str, str]
    exact: dict[str, str]  # what the text says, where that is less
    whole: Window = OURS


def _ours() -> Iterator[Case]:
    for dialect in ("spark", "trino", "mysql"):
        for row in yaml.load((HERE / f"{dialect}.yaml").read_text(), yaml.BaseLoader):
            reads: dict[str, str] = row["reads"]
            yield Case(sql=row["sql"], dialect=dialect, reads=reads, exact={**reads, **row.get("exact", {})})


def _tpc() -> Iterator[Case]:
    for name in ("tpc-h", "tpc-ds"):
        reads: dict[str, Any] = yaml.load((HERE / "tpc" / f"{name}.yaml").read_text(), yaml.BaseLoader)
        text = (HERE / "tpc" / f"{name}.sql").read_text()
        for number, sql in re.findall(r"^-- (\d+)\n(.*?)^;$", text, re.DOTALL | re.MULTILINE):
            yield Case(sql=sql, dialect="spark", reads=reads[number], exact=reads[number], whole=TPC)


CASES = [*_ours(), *_tpc()]


def _stretches(text: str, whole: Window) -> Intervals:
    if text == "none":
        return ()
    return union(_stretch(part.strip(), whole) for part in text.split(",")) if text != "all" else (whole,)


def _stretch(text: str, whole: Window) -> Window:
    if " to " in text:
        return Window.parse("/".join(f"{end}Z" for end in text.split(" to ")))
    first, dots, last = text.partition("..")
    start = datetime.fromisoformat(f"{first}T00:00Z") if first else whole.start
    if dots and not last:
        return Window(start=start, end=whole.end)
    return Window(start=start, end=datetime.fromisoformat(f"{last or first}T00:00Z") + DAY)


def _read(case: Case) -> Mapping[str, Intervals]:
    """What we say that a query reads."""
    return _read_of(case.sql, case.dialect, case.whole)


@cache
def _read_of(sql: str, dialect: str, whole: Window) -> Mapping[str, Intervals]:
    found: dict[str, Intervals] = {}
    uses = table_uses(sql, dialect)
    for name in dict.fromkeys(use.name for use in uses):
        column = PARTITIONED.get(name.lower().removeprefix("hive."))
        own = tuple(use for use in uses if use.name == name)
        found[name] = (whole,) if column is None else ranges(own, column, whole, now=NOW, dialect=dialect)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql[:60])
def test_a_query_reads_its_tables_and_no_range_is_too_narrow(case: Case) -> None:
    found = _read(case)
    names = {name.lower(): name for name in found}
    assert set(names) == {name.lower() for name in case.reads}
    for name, text in case.exact.items():
        assert subtract(_stretches(text, case.whole), found[names[name.lower()]]) == (), name


def test_nine_of_ten_ranges_that_a_text_gives_are_exact() -> None:
    given = [(case, name) for case in CASES for name, text in case.exact.items() if text != "all"]
    inexact = [
        (name, case.sql[:100]) for case, name in given if _read(case)[name] != _stretches(case.exact[name], case.whole)
    ]
    share = 1 - len(inexact) / len(given)
    print(f"{len(CASES)} queries, {len(given)} ranges from literals, {share:.1%} exact; wider: {inexact}")
    assert len(CASES) >= FEWEST
    assert share >= LEAST_EXACT


@pytest.mark.parametrize("case", [case for case in CASES if case.whole is OURS], ids=lambda case: case.sql[:60])
def test_the_answer_covers_what_is_written_beside_the_query(case: Case) -> None:
    expected = {name: _stretches(text, case.whole) for name, text in case.reads.items()}
    assert _read(case) == expected
