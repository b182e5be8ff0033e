"""Files that hypothesis draws: columns of every plain type, values that are extreme, and conditions over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from execution_engine.engines.column_types import literal, quote
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec

NAN, INFINITY = float("nan"), float("inf")
DOUBLES = st.one_of(st.sampled_from([0.0, -0.0, NAN, INFINITY, -INFINITY, 0.1, 1.5, 5e-324]), st.floats(-1e6, 1e6))
TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "b", "ab", "A", "a ", "é", "東京", "🦉", "a%b", "a_b", "a\\b", "a.b", "12", "x\ny", "x\n", "\r"]
    ),
    st.text(max_size=4),
)
INSTANTS = st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1))
TYPES: Mapping[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "tiny": (pa.int8(), st.integers(-128, 127)),
    "small": (pa.int16(), st.integers(-3, 3)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.one_of(st.integers(-4, 4), st.integers(-(2**63), 2**63 - 1))),
    "unsigned": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "single": (pa.float32(), st.one_of(st.sampled_from([0.0, -0.0, NAN, INFINITY]), st.floats(-1e6, 1e6, width=32))),
    "double": (pa.float64(), DOUBLES),
    "price": (pa.decimal128(12, 2), st.decimals(-(10**9), 10**9, places=2)),
    "exact": (pa.decimal128(18, 4), st.decimals(-(10**13), 10**13, places=4)),
    "wide": (pa.decimal128(30, 6), st.decimals(-(10**23), 10**23, places=6)),
    "huge": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "text": (pa.string(), TEXTS),
    "kind": (pa.string(), st.sampled_from(["a", "b", "", "a ", "A"])),
    "large": (pa.large_string(), TEXTS),
    "blob": (pa.binary(), st.binary(max_size=5)),
    "day": (pa.date32(), st.dates(min_value=date(1, 1, 1))),
    "at": (pa.timestamp("us", tz="UTC"), INSTANTS),
    "milli": (
        pa.timestamp("ms", tz="UTC"),
        INSTANTS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
    ),
    "local": (pa.timestamp("us"), INSTANTS),
}
ODD = ("order id", "UPPER", "ключ", "back`tick", "select")
NUMBERS = ("tiny", "small", "int", "long", "unsigned", "single", "double", "price", "exact", "wide", "huge")
FLOATS = ("single", "double")
PATTERNS = (
    "^a",
    "b$",
    "^[a-z]+$",
    ".",
    "^.*$",
    "a|b",
    r"\\d+",
    r"\\w\\W",
    "[^a]",
    "(a|é)+",
    r"\\.",
    "a{1,2}",
    "^$",
    r"[\\s%_-]",
)
LIKES = ("a%", "%b", "_", "%", "a\\\\%b", "a\\\\_b", "", "%é%")
COMPARES = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Columns by their names, with the kinds (of TYPES) that they are of."""

    kinds: Mapping[str, str]

    def of(self, *kinds: str) -> list[str]:
        """The names of the columns of these kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


@st.composite
def columns(draw: st.DrawFn) -> Drawn:
    """Three to seven columns, some with odd names."""
    kinds = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=3, max_size=7))
    odd = draw(st.permutations(ODD))
    names = [
        odd[at] if at < len(odd) and draw(st.integers(0, 3)) == 0 else f"{kind}_{at}" for at, kind in enumerate(kinds)
    ]
    return Drawn(kinds=dict(zip(names, kinds, strict=True)))


def write_drawn(data: st.DataObject, drawn: Drawn, folder: Path) -> None:
    """One to three files, of row groups of any size, packed or not, with statistics or without."""
    for at in range(data.draw(st.integers(1, 3), label="files")):
        count = data.draw(st.integers(0, 25), label="rows")
        arrays = {}
        for name, kind in drawn.kinds.items():
            type_, values = TYPES[kind]
            found = data.draw(st.lists(st.none() | values, min_size=count, max_size=count), label=name)
            arrays[name] = pa.array(found, type_)
        pq.write_table(
            pa.table(arrays),
            folder / f"{at}.parquet",
            row_group_size=data.draw(st.integers(1, 26), label="rows of a group"),
            use_dictionary=data.draw(st.booleans(), label="packed"),
            write_statistics=data.draw(st.booleans(), label="with statistics"),
            data_page_size=data.draw(st.sampled_from([32, 1 << 20]), label="bytes of a page"),
        )


def conditions(drawn: Drawn) -> st.SearchStrategy[str]:
    """Any condition over the columns, most of them of the closed language."""
    simple = st.one_of([_simple(name, kind) for name, kind in drawn.kinds.items()])
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda three: f"({' '.join(three)})"),
            inner.map(lambda one: f"not ({one})"),
        ),
        max_leaves=4,
    )


def _simple(name: str, kind: str) -> st.SearchStrategy[str]:
    column, value = quote(name), _literals(kind)
    null = st.sampled_from([f"{column} is null", f"{column} is not null"])
    if value is None:
        return null
    compared = st.tuples(st.sampled_from(COMPARES), value).map(lambda pair: f"{column} {pair[0]} {pair[1]}")
    turned = st.tuples(value, st.sampled_from(COMPARES)).map(lambda pair: f"{pair[0]} {pair[1]} {column}")
    among = st.lists(value, min_size=1, max_size=3).map(lambda some: f"{column} in ({', '.join(some)})")
    between = st.tuples(value, value).map(lambda pair: f"{column} between {pair[0]} and {pair[1]}")
    own = st.sampled_from(COMPARES).map(lambda by: f"{column} {by} {column}")
    more = {
        "bool": [st.just(column)],
        "single": [st.just(f"isnan({column})")],
        "double": [st.just(f"isnan({column})")],
        "text": _of_texts(column),
        "kind": _of_texts(column),
        "large": _of_texts(column),
    }
    return st.one_of([null, compared, turned, among, between, own, *more.get(kind, [])])


def _of_texts(column: str) -> list[st.SearchStrategy[str]]:
    return [
        st.sampled_from(LIKES).map(lambda like: f"{column} like '{like}'"),
        st.sampled_from(PATTERNS).map(lambda pattern: f"{column} rlike '{pattern}'"),
        st.integers(0, 3).map(lambda length: f"char_length({column}) > {length}"),
    ]


def _literals(kind: str) -> st.SearchStrategy[str] | None:
    if kind in NUMBERS:
        return st.one_of(
            st.integers(-4, 4).map(str),
            st.sampled_from(
                ["0.1", "1.50", "-0.0", "1e0", "2147483648", "9223372036854775807", "-9223372036854775807"]
            ),
            st.decimals(-1000, 1000, places=2).map(lambda number: f"{number:f}"),
        )
    match kind:
        case "text" | "kind" | "large":
            return TEXTS.filter(lambda text: text.isprintable()).map(literal)
        case "day":
            return st.sampled_from(["date '2000-02-29'", "date '0001-01-01'", "date '9999-12-31'"])
        case "at" | "milli":
            return st.sampled_from(["timestamp '2000-01-01 00:00:00'", "timestamp '1969-12-31 23:59:59.999999'"])
        case "bool":
            return st.sampled_from(["true", "false"])
    return None


def metrics(data: st.DataObject, drawn: Drawn, count: int) -> list[MetricSpec]:
    """So many metrics of the columns, many under a condition."""
    asked = []
    for _ in range(count):
        where = data.draw(st.none() | conditions(drawn), label="where")
        name = data.draw(st.sampled_from(METRICS), label="metric")
        kinds = {"numbers": NUMBERS, "texts": ("text", "kind", "large")}.get(OF.get(name, ""), tuple(TYPES))
        fitting = drawn.of(*kinds)
        if name == "compliance":
            condition = data.draw(conditions(drawn), label="condition")
            asked.append(MetricSpec(name=name, arguments=(condition,), where=where))
        elif name == "row_count":
            asked.append(MetricSpec(name=name, where=where))
        elif fitting:
            most = 3 if name in KEYED else 1
            some = data.draw(
                st.lists(st.sampled_from(fitting), min_size=1, max_size=most, unique=True), label="columns"
            )
            asked.append(MetricSpec(name=name, columns=tuple(map(written, some)), where=where))
    return list(dict.fromkeys(asked))


KEYED = ("uniqueness", "distinctness", "count_distinct")
OF = {
    **dict.fromkeys(("min", "max", "sum", "mean", "stddev", "non_negative", "positive"), "numbers"),
    "min_length": "texts",
}
METRICS = ("compliance", "compliance", "compliance", "row_count", "completeness", "approx_count_distinct", *KEYED, *OF)
