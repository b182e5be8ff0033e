"""Tables that a number draws: columns of every plain type, values that are extreme, and files of every make."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.metrics.expressions import written
from tests.integration.engines import many_values

Draw = Callable[[random.Random], Any]
NAN, INFINITY = float("nan"), float("inf")
ROW = "row"
BOX = "Box"  # a struct
ODD_NAMES = ("order id", "UPPER", "ключ", "back`tick", "select", "a.b", "🦉")
TEXTS = (
    *("", " ", "a", "A", "b", "ab", "abc", "a ", "a  ", " a", "aé", "é", "e\u0301", "ß", "SS", "東京", "🦉", "a🦉b"),
    *("\U0001d538", "a%b", "a_b", "a\\b", "a.b", "12", "1.5", "-1", "x\ny", "x\n", "x\r\n", "\r", "\x85", "\u2028"),
    *("\t", "\0", "'", "null", "true", "2000-01-01", "z" * 40, "\uffff", "\ue000", "ab12 ", "foo@bar.com"),
)
DOUBLES = (0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 0.1, -0.1, 1.0, 1.5, 5e-324, -5e-324, 1.7976931348623157e308)
ROUND = (2.0**53, 2.0**53 + 2, 9.223372036854775807e18, -9.223372036854775808e18, 2147483648.0, 1e-7, 100.0, 0.3)
DAYS = (date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29))
INSTANTS = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1582, 10, 10, 3, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2000, 2, 29, 12, 30, 15, 500000, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A column's type, what is drawn for it, and the family that its literals are of."""

    arrow: pa.DataType
    draw: Draw
    family: str


def _decimal(most: int, scale: int) -> Draw:
    """With so many digits at most, ends and small ones among them."""
    end = 10**most - 1

    def draw(chance: random.Random) -> Decimal:
        number = chance.choice([end, -end, 0, min(10**scale, end), chance.randint(-5, 5), chance.randint(-end, end)])
        return Decimal(number).scaleb(-scale)

    return draw


def _float32(draw: random.Random) -> float:
    return draw.choice([0.0, -0.0, NAN, INFINITY, -INFINITY, 0.1, 1.5, 16777216.0, 3.4028234663852886e38, 1e-45])


def _double(draw: random.Random) -> float:
    return draw.choice([draw.choice(DOUBLES), draw.choice(ROUND), draw.gauss(0, 10), float(draw.randint(-3, 3))])


def _text(draw: random.Random) -> str:
    if draw.random() < 0.7:
        return draw.choice(TEXTS)
    return "".join(draw.choices("aAbé 1_%\\.\n🦉", k=draw.randint(0, 5)))


def _day(draw: random.Random) -> date:
    return draw.choice([*DAYS, date(9999, 12, 31), date(1990, 1, 1) + timedelta(days=draw.randint(0, 20))])


def _instant(draw: random.Random) -> datetime:
    return draw.choice([*INSTANTS, INSTANTS[3] + timedelta(microseconds=draw.randint(-5, 5))])


def _without(zone: Draw) -> Draw:
    return lambda draw: zone(draw).replace(tzinfo=None)


def _in_milliseconds(draw: random.Random) -> datetime:
    at = _instant(draw)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


_FAMILIES = {
    **dict.fromkeys(("tiny", "small", "whole", "long", "byte", "word", "count"), "exact"),
    **dict.fromkeys(("price", "sum", "wide", "huge"), "exact"),
    **dict.fromkeys(("single", "double"), "double"),
    **dict.fromkeys(("name", "said", "city"), "text"),
    **{"truth": "truth", "day": "day", "at": "instant", "local": "local", "raw": "bytes"},
}
KINDS: Mapping[str, Kind] = {
    **{
        name: Kind(arrow=arrow, draw=value, family=_FAMILIES[name])
        for name, (arrow, value) in many_values.TYPES.items()
    },
    "few": Kind(arrow=pa.int32(), draw=lambda draw: draw.randint(-3, 3), family="exact"),
    "some": Kind(arrow=pa.int64(), draw=lambda draw: draw.choice([*range(-3, 4), 2**53, 2**53 + 1]), family="exact"),
    "cents": Kind(arrow=pa.decimal128(12, 2), draw=_decimal(4, 2), family="exact"),
    "fine": Kind(arrow=pa.decimal128(18, 18), draw=_decimal(18, 18), family="exact"),
    "exact": Kind(arrow=pa.decimal128(18, 4), draw=_decimal(18, 4), family="exact"),
    "whole_decimal": Kind(arrow=pa.decimal128(5, 0), draw=_decimal(5, 0), family="exact"),
    "longer": Kind(arrow=pa.decimal128(20, 2), draw=_decimal(20, 2), family="exact"),
    "rate": Kind(arrow=pa.float64(), draw=_double, family="double"),
    "ratio": Kind(arrow=pa.float32(), draw=_float32, family="double"),
    "text": Kind(arrow=pa.string(), draw=_text, family="text"),
    "words": Kind(arrow=pa.large_string(), draw=_text, family="text"),
    "kind": Kind(arrow=pa.string(), draw=lambda draw: draw.choice(["a", "b", "", "a ", "A"]), family="text"),
    "date": Kind(arrow=pa.date32(), draw=_day, family="day"),
    "moment": Kind(arrow=pa.timestamp("us", "UTC"), draw=_instant, family="instant"),
    "milli": Kind(arrow=pa.timestamp("ms", "UTC"), draw=_in_milliseconds, family="instant"),
    "clock": Kind(arrow=pa.timestamp("us"), draw=_without(_instant), family="local"),
}
MANY = 25  # times the rows of most tables
OFTEN = ("few", "some", "cents", "rate", "text", "kind", "date", "moment", "truth", "exact", "double", "long", "ratio")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Columns, as assertions write them, with their kinds, and some values of each that are in the files."""

    kinds: Mapping[str, Kind]
    values: Mapping[str, Sequence[Any]]

    def of(self, *families: str) -> list[str]:
        """The names of the columns of these families."""
        return [name for name, kind in self.kinds.items() if kind.family in families]


def write_drawn(draw: random.Random, folder: Path, makes: random.Random | None = None) -> Drawn:
    """One to three files of one table, each row with a number of its own.

    ``makes`` draws more: codecs, encodings and versions of pages, now and then thousands of rows, or columns that are
    fields of a struct.
    """
    names = [*draw.sample(OFTEN, 4), *draw.sample(sorted(KINDS), draw.randint(2, 5))]
    odd = draw.sample(ODD_NAMES, 2)
    kinds = {
        (odd.pop() if odd and draw.random() < 0.15 else f"{name}_{at}"): KINDS[name] for at, name in enumerate(names)
    }
    nulls = {name: draw.choice([0.0, 0.1, 0.1, 0.3, 1.0 if draw.random() < 0.2 else 0.1]) for name in kinds}
    held: dict[str, list[Any]] = {name: [] for name in kinds}
    first, files = 0, draw.choice([1, 1, 2, 3])
    times = 1 if makes is None or makes.random() < 0.95 else MANY
    boxed = [] if makes is None or makes.random() < 0.7 else makes.sample(sorted(kinds), 3)
    for at in range(files):
        rows = times * draw.choice([1, 17, 40, 65] if files == 1 else [0, 1, 17, 40, 65])
        columns = {
            name: [None if draw.random() < nulls[name] else kind.draw(draw) for _ in range(rows)]
            for name, kind in kinds.items()
        }
        for name, values in columns.items():
            held[name] += [value for value in values if value is not None]
        arrays = _stored(draw, kinds, columns, is_newest=at == files - 1)
        _write(draw, folder / f"{at}.parquet", first, rows, _boxed(draw, arrays, boxed), makes)
        first += rows
    texts = {name: written(BOX, name) if name in boxed else written(name) for name in kinds}
    return Drawn(
        kinds={texts[name]: kind for name, kind in kinds.items()},
        values={texts[name]: values for name, values in held.items()},
    )


def _boxed(draw: random.Random, arrays: Mapping[str, pa.Array], names: Sequence[str]) -> dict[str, pa.Array]:
    """Some columns as fields of one struct, which is null here and there; the values under its nulls are lost."""
    inside = [name for name in arrays if name in names]
    if not inside:
        return dict(arrays)
    rows = len(arrays[inside[0]])
    null = pa.array([draw.random() < 0.1 for _ in range(rows)], pa.bool_())
    box = pa.StructArray.from_arrays([arrays[name] for name in inside], inside, mask=null)
    return {name: array for name, array in arrays.items() if name not in inside} | {BOX: box}


def _stored(
    draw: random.Random, kinds: Mapping[str, Kind], columns: Mapping[str, Sequence[Any]], *, is_newest: bool
) -> dict[str, pa.Array]:
    """The columns of a file; an older one may have them in another order, lack one, or hold one as another type."""
    arrays = {name: pa.array(columns[name], kind.arrow) for name, kind in kinds.items()}
    if is_newest or draw.random() < 0.6:
        return arrays
    names = draw.sample(sorted(arrays), len(arrays) - draw.randint(0, 1))
    few = [name for name in names if kinds[name].arrow == pa.int64()]
    if few and draw.random() < 0.1:
        arrays[few[0]] = pa.array([1] * len(columns[few[0]]), pa.int32())
    return {name: arrays[name] for name in names}


def _write(
    draw: random.Random,
    path: Path,
    first: int,
    rows: int,
    arrays: Mapping[str, pa.Array],
    makes: random.Random | None,
) -> None:
    """With row groups of any size and empty ones among them, of pages that are packed or not."""
    table = pa.table({ROW: pa.array(range(first, first + rows), pa.int64()), **arrays})
    packed, statistics, page = draw.random() < 0.5, draw.random() < 0.8, draw.choice([32, 1 << 20])
    group = draw.choice([3, 16, 100]) * max(1, rows // 100)
    more = {} if makes is None else _make(makes, table.schema)
    with pq.ParquetWriter(
        path,
        table.schema,
        **{"use_dictionary": packed, "write_statistics": statistics, "data_page_size": page, **more},
    ) as writer:
        for at in range(0, rows, group):
            writer.write_table(table.slice(at, group), row_group_size=group)
            if draw.random() < 0.2:
                writer.write_table(table.slice(0, 0))


def _make(draw: random.Random, schema: pa.Schema) -> dict[str, Any]:
    """How one file is written: what other writers than Arrow's do as well."""
    made: dict[str, Any] = {
        "compression": draw.choice(["snappy", "none", "zstd", "gzip", "lz4"]),
        "data_page_version": draw.choice(["1.0", "2.0"]),
        "write_page_index": draw.random() < 0.3,
        "store_decimal_as_integer": draw.random() < 0.2,
        "dictionary_pagesize_limit": draw.choice([64, 1 << 20]),  # beyond it the rest of a column is plain
    }
    match draw.randint(0, 3):
        case 0:
            made["use_dictionary"] = draw.sample(schema.names, len(schema) // 2)
        case 1:
            encoded = {field.name: draw.choice(_encodings(field.type)) for field in schema}
            made |= {"use_dictionary": False, "column_encoding": encoded}
    return made


def _encodings(type_: pa.DataType) -> Sequence[str]:
    if pa.types.is_integer(type_) or pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return "PLAIN", "DELTA_BINARY_PACKED"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_binary(type_):
        return "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"
    return ("PLAIN", "RLE") if pa.types.is_boolean(type_) else ("PLAIN",)
