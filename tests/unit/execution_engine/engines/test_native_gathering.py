"""What the kernels gather of drawn files is what Python, xxhash and DataSketches make of the same rows."""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from datasketches import hll_sketch, tgt_hll_type

from execution_engine.engines.column_types import expressions, quote
from execution_engine.engines.gathering import Keyed, StatisticRequest
from execution_engine.engines.native.measure import drafted, merged_results
from execution_engine.engines.native.reading import Stored
from execution_engine.engines.native.task import TaskResult, from_bytes, glean
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.expressions import written
from execution_engine.metrics.states.frequencies import Counts, arrays
from execution_engine.metrics.states.hll import LOG2_BUCKETS, canonical
from execution_engine.metrics.states.statistics import Gather, Statistic
from execution_engine.read_by import FallbackKind, Left
from tests.integration.kernels.by_kernels import pieces_in
from tests.integration.kernels.tables import ROW, write_drawn

SEEDS = (0, 1, 2, 3, 5, 6)  # of tables that have rows
SEED, INTEGERS = 42, (pa.int32(), pa.int64(), pa.uint16(), pa.uint32())  # what Spark hands to a sketch as it is
WHERES: dict[str | None, Callable[[int], bool]] = {
    None: lambda row: True,
    f"{ROW} between 5 and 40": lambda row: 5 <= row <= 40,
    f"not {ROW} < 3 and {ROW} in (3, 4, 9, 11, 60)": lambda row: row in (3, 4, 9, 11, 60),
    f"{ROW} < 0": lambda row: False,
}


@dataclass(frozen=True)
class Rows:
    """All rows of the files, by columns of plain types."""

    types: dict[str, pa.DataType]
    values: dict[str, list[Any]]

    def of(self, name: str, where: str | None) -> list[Any]:
        """The values of those rows that count, nulls among them."""
        return [value for value, row in zip(self.values[name], self.values[ROW], strict=True) if WHERES[where](row)]


@pytest.fixture(params=SEEDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    write_drawn(Random(request.param), tmp_path)
    return tmp_path


def rows_in(folder: Path) -> Rows:
    columns, pieces = pieces_in(folder)
    tables = [pq.read_table(piece.path) for piece in pieces]
    names = {name: name for table in tables for name in table.column_names if name.lower() in columns}
    types = {name: columns[name.lower()].arrow for name in names}
    values = {
        name: [
            value
            for table in tables
            for value in (table[name].to_pylist() if name in table.column_names else [None] * len(table))
        ]
        for name in names
    }
    return Rows(types=types, values=values)


def request_of(gather: Gather, *names: str, where: str | None) -> StatisticRequest:
    return StatisticRequest(statistic=Statistic(gather=gather, of=tuple(map(quote, names))), where=where)


def taken(folder: Path, statistics: Sequence[StatisticRequest], keyed: Sequence[Keyed]) -> Any:
    """What a task for each file finds, merged; all of it must be the kernels' to tell."""
    columns, pieces = pieces_in(folder)
    draft = drafted(columns, statistics, keyed)
    assert draft.left == {}
    gleaned = [from_bytes(glean(draft.program, [piece]).to_bytes()) for piece in pieces]
    told, counted, left = merged_results(draft, gleaned)
    if any("several types" in each.why for each in left.values()):
        pytest.skip("a file holds a column as another type: all of it is Spark's")
    assert left == {}
    return told, counted


def numbers(rows: Rows) -> list[str]:
    return [name for name, type_ in rows.types.items() if is_exact(type_) or pa.types.is_floating(type_)]


def is_exact(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_decimal(type_))


def test_counts_sums_and_extremes_are_those_of_python(folder: Path) -> None:
    rows = rows_in(folder)
    every = [
        (request_of(gather, name, where=where), expected([v for v in rows.of(name, where) if v is not None]))
        for name in numbers(rows)
        for where in WHERES
        for gather, expected in ((Gather.COUNT, len), (Gather.SUM, total), (Gather.MIN, least), (Gather.MAX, greatest))
    ]
    told, _ = taken(folder, [one for one, _ in every], [])
    assert [(one, told[one], value) for one, value in every if not same(told[one], value)] == []


def total(values: Sequence[Any]) -> Any:
    if not values or not isinstance(values[0], Decimal):
        return sum(values) if values else None
    exact = Context(prec=100)
    found = Decimal(0)
    for value in values:
        found = exact.add(found, value)
    return found


def least(values: Sequence[Any]) -> Any:
    return min(values, key=lambda value: (math.isnan(value), value)) if values else None


def greatest(values: Sequence[Any]) -> Any:
    return max(values, key=lambda value: (math.isnan(value), value)) if values else None


def same(found: Any, expected: Any) -> bool:
    """Equal, in type too; of doubles within what the order of a sum may change."""
    if not isinstance(expected, float):
        return type(found) is type(expected) and found == expected
    if not math.isfinite(expected) or not math.isfinite(found):
        return math.isnan(found) == math.isnan(expected) and (math.isnan(found) or found == expected)
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e292 if abs(expected) > 1e300 else 1e-3)


def test_moments_are_those_of_exact_fractions(folder: Path) -> None:
    rows = rows_in(folder)
    names = [name for name in numbers(rows) if all(map(is_moderate, rows.values[name]))]
    every = [(name, where) for name in names for where in WHERES]
    told, _ = taken(folder, [request_of(Gather.MOMENTS, name, where=where) for name, where in every], [])
    for name, where in every:
        values = [Fraction(value) for value in rows.of(name, where) if value is not None]
        found = told[request_of(Gather.MOMENTS, name, where=where)]
        assert (found is None) is (not values)
        if values:
            mean = sum(values) / len(values)
            squares = sum((value - mean) ** 2 for value in values)
            size = 1e-9 * math.sqrt(squares / len(values) + mean**2)
            assert found[:2] == (len(values), pytest.approx(float(mean), rel=1e-9, abs=size))
            assert found[2] == pytest.approx(float(squares), rel=1e-9, abs=1e-9 * len(values) * float(mean) ** 2)


def is_moderate(value: Any) -> bool:
    return value is None or (math.isfinite(value) and abs(value) < 10**20)


def test_comoments_are_of_the_rows_that_have_both(folder: Path) -> None:
    rows = rows_in(folder)
    names = [name for name in numbers(rows) if all(map(is_moderate, rows.values[name]))][:4]
    every = [(x, y, where) for x in names for y in names for where in WHERES]
    told, _ = taken(folder, [request_of(Gather.COMOMENTS, x, y, where=where) for x, y, where in every], [])
    for x, y, where in every:
        pairs = [
            (Fraction(one), Fraction(other))
            for one, other in zip(rows.of(x, where), rows.of(y, where), strict=True)
            if one is not None and other is not None
        ]
        found = told[request_of(Gather.COMOMENTS, x, y, where=where)]
        assert (found is None) is (not pairs)
        if pairs:
            x_mean, y_mean = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
            products = sum((one - x_mean) * (other - y_mean) for one, other in pairs)
            assert (found[0], found[1]) == (len(pairs), pytest.approx(float(x_mean)))
            assert found[5] == pytest.approx(float(products), rel=1e-9, abs=1e-9 * math.sqrt(found[3] * found[4] + 1))


def test_keys_are_counted_by_the_hashes_of_xxhash(folder: Path) -> None:
    rows = rows_in(folder)
    names = sorted(rows.types)
    keys = [*((name,) for name in names), *pairwise(names), tuple(names[:3])]
    every = [(key, where, partial) for key in keys for where in WHERES for partial in (False, True)]
    _, counted = taken(folder, [], [grouped(*each) for each in every])
    for key, where, partial in every:
        hashes: dict[bool, list[int]] = {True: [], False: []}
        for values in zip(*(rows.of(name, where) for name in key), strict=True):
            nulls = [value is None for value in values]
            is_keyless = all(nulls) if partial else any(nulls)
            hashes[is_keyless].append(hash_of(values, [rows.types[name] for name in key]))
        found = arrays(counted[grouped(key, where, partial)])
        expected = [Counts.of(np.array(hashes[keyless], np.int64)) for keyless in (False, True)]
        assert [each.tolist() for each in found] == [
            each.tolist() for counts in expected for each in (counts.single, counts.repeated, counts.times)
        ]


def grouped(key: tuple[str, ...], where: str | None, partial: bool) -> Keyed:
    return Keyed(grouping=Grouping(columns=tuple(map(written, key)), partial=partial), where=where)


def test_keys_count_where_other_columns_are_present(folder: Path) -> None:
    rows = rows_in(folder)
    first, *others = sorted(rows.types)
    present = tuple(others[:2])
    keyed = Keyed(grouping=Grouping(columns=(written(first),), present=tuple(map(written, present))))
    _, counted = taken(folder, [], [keyed])
    whole = [
        values[0]
        for values in zip(*(rows.values[name] for name in (first, *present)), strict=True)
        if None not in values
    ]
    expected = Counts.of(np.array([hash_of((value,), [rows.types[first]]) for value in whole], np.int64))
    assert counted[keyed].whole.single.tolist() == expected.single.tolist()
    assert counted[keyed].whole.times.tolist() == expected.times.tolist()


def hash_of(values: Sequence[Any], types: Sequence[pa.DataType]) -> int:
    """Each value's bytes into the hash that is its seed, and of several values which are null."""
    found = SEED
    for value, type_ in zip(values, types, strict=True):
        if value is not None:
            found = xxhash.xxh64(bytes_of(value, type_), seed=found).intdigest()
    for value in values if len(values) > 1 else ():
        found = xxhash.xxh64(struct.pack("<i", value is None), seed=found).intdigest()
    return found - 2**64 if found >= 2**63 else found


def as_java(number: int) -> bytes:
    """As ``BigInteger.toByteArray`` gives it: the fewest bytes that hold the number and its sign."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def bytes_of(value: Any, type_: pa.DataType) -> bytes:
    """What Spark hashes of a value."""
    match value:
        case bool():
            return struct.pack("<i", value)
        case int() if type_ == pa.uint64():  # to Spark a decimal of 20 digits
            return as_java(value)
        case int():
            return struct.pack("<q" if type_ in (pa.int64(), pa.uint32()) else "<i", value)
        case float():
            code = "<f" if pa.types.is_float32(type_) else "<d"
            return struct.pack(code, math.nan if math.isnan(value) else value + 0.0)
        case Decimal():
            unscaled = int(value.scaleb(type_.scale, Context(prec=76)))
            return as_java(unscaled) if type_.precision > 18 else struct.pack("<q", unscaled)
        case datetime():
            since = value.replace(tzinfo=None) - datetime(1970, 1, 1)
            return struct.pack("<q", since // timedelta(microseconds=1))
        case date():
            return struct.pack("<i", (value - date(1970, 1, 1)).days)
        case str():
            return value.encode()
    return bytes(value)


def test_a_sketch_of_what_metrics_write_of_a_column_is_that_of_the_column(folder: Path) -> None:
    rows, (columns, _) = rows_in(folder), pieces_in(folder)
    write = expressions({name: columns[name.lower()].spark for name in rows.types})
    every = {
        name: StatisticRequest(statistic=Statistic(gather=Gather.HLL, of=(write.hashable(written(name)),)))
        for name in rows.types
    }
    told, _ = taken(folder, list(every.values()), [])
    plain, _ = taken(folder, [request_of(Gather.HLL, name, where=None) for name in every], [])
    assert {name: told[one] for name, one in every.items()} == {
        name: plain[request_of(Gather.HLL, name, where=None)] for name in every
    }


@pytest.mark.parametrize("gather", [Gather.SUM, Gather.MIN, Gather.MAX, Gather.MOMENTS, Gather.KLL, Gather.PERCENTILE])
def test_what_texts_have_not_is_left_to_spark_with_the_reason(gather: Gather, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x", None]}), tmp_path / "a.parquet")
    sketch, one = request_of(Gather.HLL, "a", where=None), request_of(gather, "a", where=None)
    draft = drafted(pieces_in(tmp_path)[0], [sketch, one], [])
    assert draft.requests == (sketch,)
    assert draft.left[one].why.startswith(("text ", f"{gather.value} is Spark's", "exact quantiles"))


STORED = {
    "a": Stored(spark="bigint", arrow=pa.int64()),
    "t": Stored(spark="string", arrow=pa.string()),
    "d": Stored(spark="double", arrow=pa.float64()),
}


def written_out(gather: Gather, sql: str, where: str | None = None) -> StatisticRequest:
    return StatisticRequest(statistic=Statistic(gather=gather, of=(sql,)), where=where)


@pytest.mark.parametrize(
    ("one", "kind", "why"),
    [
        (written_out(Gather.KLL, "a"), FallbackKind.UNKNOWN, "kll is Spark's to gather"),
        (written_out(Gather.PERCENTILE, "d"), FallbackKind.UNKNOWN, "exact quantiles of large tables are Spark's"),
        (written_out(Gather.COUNT, "a + 1"), FallbackKind.UNKNOWN, "Add is Spark's to answer"),
        (written_out(Gather.COUNT, "a", "a + 1 > 2"), FallbackKind.UNKNOWN, "Add is Spark's to answer"),
        (written_out(Gather.HLL, "a * 1e0"), FallbackKind.UNKNOWN, "a sketch of anything but a column is Spark's"),
        (
            written_out(Gather.HLL, "case when t is not null then xxhash64(a) end"),
            *(FallbackKind.UNKNOWN, "a sketch of anything but a column is Spark's"),
        ),
        (written_out(Gather.SUM, "t"), FallbackKind.COLUMN, "text is no number"),
        (written_out(Gather.COUNT, "z"), FallbackKind.COLUMN, "z is no plain column of the files"),
        (written_out(Gather.COUNT, "a", "t > 1"), FallbackKind.COLUMN, "text is not compared with exact"),
        (Keyed(grouping=Grouping(columns=("a.b",))), FallbackKind.COLUMN, "a.b is no plain column of the files"),
        (Keyed(grouping=Grouping(columns=("a",)), where="a + 1 > 2"), FallbackKind.UNKNOWN, "Add is Spark's to answer"),
        (Keyed(grouping=Grouping(columns=("z",))), FallbackKind.COLUMN, "z is no plain column of the files"),
        (
            Keyed(grouping=Grouping(columns=("a",), present=("z",))),
            FallbackKind.COLUMN,
            "z is no plain column of the files",
        ),
        (
            Keyed(grouping=Grouping(columns=("a",)), where="t > 1"),
            FallbackKind.COLUMN,
            "text is not compared with exact",
        ),
    ],
)
def test_what_is_sparks_is_left_with_its_kind_and_reason_and_what_is_beside_it_is_not(
    one: StatisticRequest | Keyed, kind: FallbackKind, why: str
) -> None:
    rows, keys = written_out(Gather.COUNT, "a"), grouped(("t",), None, False)
    asked_, keyed = ([rows, one], [keys]) if isinstance(one, StatisticRequest) else ([rows], [one, keys])
    draft = drafted(STORED, asked_, keyed)
    assert draft.left == {one: Left(kind=kind, why=why)}
    assert (draft.requests, draft.keyed, set(draft.program.columns)) == ((rows,), (keys,), {"a", "t"})


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_an_exact_quantile_is_asked_of_what_one_task_reads_alone(share: float, tmp_path: Path) -> None:
    numbers = [2.5, None, 4.0, 1.0, 16.0, 8.0]
    pq.write_table(pa.table({"d": numbers, "a": range(6)}), tmp_path / "a.parquet", row_group_size=2)
    quantile = StatisticRequest(statistic=Statistic(gather=Gather.PERCENTILE, of=("d",), argument=share))
    draft = drafted(STORED, [quantile], [], alone=True)
    assert (draft.requests, draft.left, set(draft.program.columns)) == ((quantile,), {}, {"d"})
    told, _, _ = merged_results(draft, [from_bytes(glean(draft.program, pieces_in(tmp_path)[1]).to_bytes())])
    assert told[quantile] == pytest.approx(np.quantile([number for number in numbers if number is not None], share))


def test_what_only_the_rows_show_to_be_sparks_is_left_to_it_and_nothing_else(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x", "y\n"], "b": ["x" * 5000, "y"]}), tmp_path / "a.parquet")
    columns, pieces = pieces_in(tmp_path)
    breaks, rows = request_of(Gather.COUNT, "a", where="a rlike 'x$'"), request_of(Gather.COUNT, "a", where=None)
    keys, others = grouped(("b",), None, False), grouped(("a",), None, False)
    draft = drafted(columns, [breaks, rows], [keys, others])
    told, counted, left = merged_results(draft, [glean(draft.program, pieces)])
    assert (told, set(counted)) == ({rows: 2}, {others})
    assert ("line break" in left[breaks].why, "bytes" in left[keys].why) == (True, True)


def test_a_task_that_failed_fails_all_with_its_reason() -> None:
    one, keys = request_of(Gather.COUNT, "a", where=None), grouped(("a",), None, False)
    draft = drafted({"a": Stored(spark="bigint", arrow=pa.int64())}, [one], [keys])
    failed = from_bytes(TaskResult(failed="why").to_bytes())
    why = Left(kind=FallbackKind.FAILED, why="why")
    assert merged_results(draft, [TaskResult(), failed]) == ({}, {}, {one: why, keys: why})


def test_sketches_are_those_of_datasketches(folder: Path) -> None:
    rows = rows_in(folder)
    every = [(name, where) for name in rows.types for where in WHERES]
    told, _ = taken(folder, [request_of(Gather.HLL, name, where=where) for name, where in every], [])
    for name, where in every:
        sketch = hll_sketch(LOG2_BUCKETS, tgt_hll_type.HLL_8)
        for value in rows.of(name, where):
            if value is not None:
                is_plain = isinstance(value, str) or rows.types[name] in INTEGERS
                sketch.update(value if is_plain else hash_of((value,), [rows.types[name]]))
        assert told[request_of(Gather.HLL, name, where=where)] == canonical(sketch.serialize_compact())
