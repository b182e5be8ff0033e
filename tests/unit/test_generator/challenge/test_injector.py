"""Errors are put where they are said to be, in so many rows, and alike for the same seed."""

from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from test_generator.challenge.injector import ErrorKind, Injected, _fit, inject, is_number, is_text

ROWS = 400
DRAWN = np.random.default_rng(2)
TABLE = pa.table(
    {
        "id": np.arange(ROWS) + 1000,
        "fare": np.round(DRAWN.gamma(3, 4, ROWS), 2),
        "cents": pa.array([Decimal(f"{number}.25") for number in range(ROWS)], pa.decimal128(12, 2)),
        "from": DRAWN.choice(["Seoul", "Busan", "Incheon"], ROWS),
        "to": DRAWN.choice(["Zürich", "Genève", "Lausanne"], ROWS),
        "at": pa.array([datetime(2026, 3, 1) + timedelta(minutes=number) for number in range(ROWS)]),
        "note": pa.array([None, "late"] * (ROWS // 2)),
    }
)
OF_ROWS = (ErrorKind.DUPLICATED, ErrorKind.PARTIAL, ErrorKind.LOST_GROUP, ErrorKind.STALE)
OF_CELLS = [kind for kind in ErrorKind if kind not in OF_ROWS]
BEFORE = TABLE.set_column(0, "id", pa.array(np.arange(ROWS)))  # the rows of the window before


def changed_rows(found: Injected) -> set[int]:
    before, after = TABLE.to_pylist(), found.table.to_pylist()
    return {at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}


@pytest.mark.parametrize("kind", OF_CELLS)
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_as_many_rows_are_changed_as_are_told_and_no_other_column(kind: ErrorKind, share: float) -> None:
    found = inject(TABLE, kind, share, seed=3)
    assert found.changed
    assert len(changed_rows(found)) == found.rows <= round(share * ROWS)
    assert found.table.schema == TABLE.schema
    others = [name for name in TABLE.column_names if name not in found.columns]
    assert found.table.select(others) == TABLE.select(others)
    assert 1 <= len(found.columns) <= 2


@pytest.mark.parametrize("kind", ErrorKind)
def test_one_seed_makes_one_error(kind: ErrorKind) -> None:
    one, again = (inject(TABLE, kind, 0.2, 5, BEFORE) for _ in range(2))
    assert (one.table, one.columns, one.rows, one.how) == (again.table, again.columns, again.rows, again.how)
    others = [inject(TABLE, kind, 0.2, seed, BEFORE) for seed in range(6, 12)]
    assert kind is ErrorKind.PARTIAL or any(other.table != one.table for other in others)


def spoilt_values(kind: ErrorKind, seed: int = 1) -> tuple[str, list[object], list[object]]:
    found = inject(TABLE, kind, 0.5, seed)
    name, rows = found.columns[0], sorted(changed_rows(found))
    before, after = (table[name].take(pa.array(rows)).to_pylist() for table in (TABLE, found.table))
    return name, before, after


@pytest.mark.parametrize("seed", range(6))
def test_each_kind_does_what_it_says(seed: int) -> None:
    _, _, after = spoilt_values(ErrorKind.EXPLICIT_MISSING, seed)
    assert set(after) == {None}
    name, _, after = spoilt_values(ErrorKind.IMPLICIT_MISSING, seed)
    assert set(after) == ({"NONE"} if is_text(TABLE.schema.field(name).type) else {99999})
    name, _, after = spoilt_values(ErrorKind.NUMERIC_ANOMALY, seed)
    numbers = np.array([float(str(value)) for value in after])
    sound = np.array([float(value) for value in TABLE[name].to_pylist()])
    assert 1.5 < numbers.std() / sound.std() < 6
    _, before, after = spoilt_values(ErrorKind.CASE, seed)
    assert [str(text).swapcase() for text in before] == after
    _, before, after = spoilt_values(ErrorKind.TIME_ZONE, seed)
    assert len({new - old for old, new in zip(before, after, strict=True)}) == 1  # type: ignore[operator]
    _, before, after = spoilt_values(ErrorKind.TYPOS, seed)
    assert [len(str(text)) for text in before] == [len(str(text)) for text in after]
    _, before, after = spoilt_values(ErrorKind.TRUNCATED, seed)
    assert all(str(old).startswith(str(new)) and old != new for old, new in zip(before, after, strict=True))
    _, _, after = spoilt_values(ErrorKind.CONSTANT, seed)
    assert len(set(after)) == 1


@pytest.mark.parametrize(
    ("kind", "column", "how"),
    [
        (ErrorKind.CONSTANT, "from", {"Seoul", "Busan", "Incheon"}),
        (ErrorKind.SCALE, "fare", {"× 1.60934", "× 0.3048", "× 2.54", "× 60", "× 100", "× 1000", "× 0.001"}),
        (ErrorKind.TIME_ZONE, "at", {"-8 h", "-5 h", "-1 h", "+1 h", "+2 h", "+5 h", "+8 h"}),
        (ErrorKind.IMPLICIT_MISSING, "from", {"NONE"}),
        (ErrorKind.IMPLICIT_MISSING, "id", {"99999"}),
        (ErrorKind.TRUNCATED, "from", {"at 3 letters"}),
        (ErrorKind.LOST_GROUP, "from", {"of from"}),
        (ErrorKind.MEAN_FILL, "id", {"1200"}),
    ],
)
def test_what_chance_has_picked_is_said(kind: ErrorKind, column: str, how: set[str]) -> None:
    assert {inject(TABLE.select([column]), kind, 0.5, seed).how for seed in range(60)} == how


@pytest.mark.parametrize(
    ("type_", "value", "fits"),
    [
        (pa.int8(), 99999, 127),
        (pa.int8(), -999, -128),
        (pa.uint8(), -1, 0),
        (pa.uint8(), 300.0, 255),
        (pa.int64(), 2.6, 3),
        (pa.float32(), 0.5, 0.5),
        (pa.decimal128(4, 1), 99999, Decimal("999.9")),
        (pa.decimal128(4, 1), -99999, Decimal("-999.9")),
        (pa.decimal128(4, 1), 1.26, Decimal("1.3")),
    ],
)
def test_a_number_is_as_its_column_can_hold_it(type_: pa.DataType, value: float, fits: object) -> None:
    assert _fit(value, type_) == fits


def test_two_columns_are_swapped() -> None:
    found = inject(TABLE, ErrorKind.SWAPPED_TEXTS, 0.5, seed=1)
    first, second = found.columns
    assert all(is_text(TABLE.schema.field(name).type) for name in found.columns)
    rows = pa.array(sorted(changed_rows(found)))
    assert found.table[first].take(rows) == TABLE[second].take(rows)
    assert found.table[second].take(rows) == TABLE[first].take(rows)
    numbers = inject(TABLE, ErrorKind.SWAPPED_NUMBERS, 0.5, seed=1)
    assert all(is_number(TABLE.schema.field(name).type) for name in numbers.columns)


def test_umlauts_are_read_in_another_encoding() -> None:
    texts = pa.table({"to": TABLE["to"]})
    found = inject(texts, ErrorKind.MOJIBAKE, 1.0, seed=1)
    assert "ZÃ¼rich" in found.table["to"].to_pylist()


def test_blocks_are_doubled_and_loads_cut_off() -> None:
    twice = inject(TABLE, ErrorKind.DUPLICATED, 0.1, seed=1)
    assert (twice.table.num_rows, twice.rows, twice.columns) == (ROWS + 40, 40, ())
    assert twice.table.group_by(TABLE.column_names).aggregate([]).num_rows == ROWS
    partial = inject(TABLE, ErrorKind.PARTIAL, 0.1, seed=1)
    assert partial.table == TABLE.slice(0, ROWS - 40)


def test_a_stale_copy_has_rows_of_the_window_before() -> None:
    found = inject(TABLE, ErrorKind.STALE, 0.2, 1, BEFORE)
    assert (found.table.num_rows, found.rows) == (ROWS, 80)
    assert sum(number < ROWS for number in found.table["id"].to_pylist()) == 80
    assert inject(TABLE, ErrorKind.STALE, 1.0, 1, BEFORE).table == BEFORE
    assert not inject(TABLE, ErrorKind.STALE, 0.2, 1).changed
    assert not inject(TABLE, ErrorKind.STALE, 0.2, 1, BEFORE.drop_columns(["note"])).changed


@pytest.mark.parametrize("seed", range(6))
def test_a_group_that_is_lost_is_all_rows_with_one_value_of_a_column(seed: int) -> None:
    found = inject(TABLE, ErrorKind.LOST_GROUP, 0.3, seed)
    name = found.how.removeprefix("of ")
    before, after = ({value for value in table[name].to_pylist() if value} for table in (TABLE, found.table))
    (lost,) = before - after
    assert found.rows == ROWS - found.table.num_rows == TABLE[name].to_pylist().count(lost)


def test_a_shifted_column_has_the_same_values_beside_other_rows() -> None:
    found = inject(TABLE.select(["fare", "from"]), ErrorKind.SHIFTED_ROWS, 1.0, seed=1)
    (name,) = found.columns
    assert found.table[name].to_pylist() == [*TABLE[name].to_pylist()[-1:], *TABLE[name].to_pylist()[:-1]]


def test_numbers_get_the_other_sign_or_are_filled_with_0_or_with_their_mean() -> None:
    fares = TABLE.select(["fare"])
    sign, zero, mean = (
        inject(fares, kind, 1.0, seed=1).table["fare"].to_pylist()
        for kind in (ErrorKind.SIGN, ErrorKind.ZERO_FILL, ErrorKind.MEAN_FILL)
    )
    assert sign == [-fare for fare in fares["fare"].to_pylist()]
    assert set(zero) == {0.0}
    assert mean == pytest.approx([np.mean(fares["fare"].to_pylist())] * ROWS)


@pytest.mark.parametrize("kind", ErrorKind)
def test_where_there_is_nothing_to_spoil_that_is_said(kind: ErrorKind) -> None:
    for table in (TABLE.slice(0, 0), pa.table({"a": pa.nulls(5)}), pa.table({"a": [[1], [2]]})):
        found = inject(table, kind, 0.5, seed=1, before=table)
        if not found.changed:
            assert (found.table, found.columns, found.rows) == (table, (), 0)
        else:
            assert kind in (*OF_ROWS, ErrorKind.EXPLICIT_MISSING, ErrorKind.SHIFTED_ROWS)


def test_what_chance_leaves_as_it_was_is_no_error() -> None:
    constant = pa.table({"a": [5.0] * 10})
    assert not inject(constant, ErrorKind.CONSTANT, 0.5, seed=1).changed
    assert not inject(constant, ErrorKind.NUMERIC_ANOMALY, 0.5, seed=1).changed


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_is_above_0_and_at_most_1(share: float) -> None:
    with pytest.raises(ValueError, match="a share of rows"):
        inject(TABLE, ErrorKind.TYPOS, share, seed=1)
