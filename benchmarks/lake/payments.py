"""A table of other types than the trips, which kernels were not made with, and twenty checks of it with their SQL.

Decimals, a struct, a list of structs, times with a zone and without one, long texts, small whole numbers and floats.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.cache import home, made_once
from benchmarks.engine.suite import ONLY, Check
from execution_engine.metrics.spec import MetricSpec

COUNTRIES = ("DE", "ES", "FR", "GB", "IT", "NL", "NO", "PL", "SE", "US")
WORDS = 400  # of which notes are made
CONDITIONS = (
    "tax is null or tax <= amount",
    "placed_at >= timestamp'2026-01-01 00:00:00'",
    "valued_at >= timestamp_ntz'2026-01-01 00:00:00'",
    "due >= date'2026-01-01'",
    f"account.country in ({', '.join(map(repr, COUNTRIES))})",
    "length(note) between 20 and 2000",
    "not settled or attempts < 9",
    "size(items) between 1 and 5",
)
PATTERNS = {"id": "^[0-9a-f]{8}-[0-9a-f]{24}$", "account.number": "^[A-Z]{2}[0-9]{16}$"}


def payments(rows: int) -> Path:
    """A folder with one file of so many rows."""
    return made_once(
        home() / "data" / f"payments-{rows}",
        lambda folder: pq.write_table(_table(rows), folder / "part-0.parquet", compression="snappy"),
    )


def checks() -> tuple[Check, ...]:
    """The twenty, of which each has a value on every table."""
    return (*_plain(), *_conditions(), Check(name="unique", spec=MetricSpec(name="uniqueness", columns=("id",)), low=1))


def _plain() -> Iterator[Check]:
    yield Check(name="row_count", spec=MetricSpec(name="row_count"), low=1, sql=f"count(*){ONLY}")
    for column in ("tax", "account.country", "note"):
        spec = MetricSpec(name="completeness", columns=(column,))
        yield Check(name=f"{column} is there", spec=spec, low=0, sql=f"count({column}){ONLY} / count(*){ONLY}")
    for name, function, column in (
        *((name, function, "amount") for name, function in (("min", "min"), ("max", "max"), ("mean", "avg"))),
        ("mean", "avg", "rate"),
        ("max", "max", "attempts"),
    ):
        spec = MetricSpec(name=name, columns=(column,))
        yield Check(name=f"{name} of {column}", spec=spec, low=0, sql=f"{function}({column}){ONLY}")


def _conditions() -> Iterator[Check]:
    for condition in CONDITIONS:
        spec = MetricSpec(name="compliance", arguments=(condition,))
        yield Check(name=condition, spec=spec, low=0, sql=f"count_if({condition}){ONLY} / count(*){ONLY}")
    for column, pattern in PATTERNS.items():
        spec = MetricSpec(name="pattern_match", columns=(column,), arguments=(pattern,))
        sql = f"count_if({column} rlike r'{pattern}'){ONLY} / count(*){ONLY}"
        yield Check(name=f"pattern of {column}", spec=spec, low=0, sql=sql)


def _table(rows: int) -> pa.Table:
    random = np.random.default_rng(20260401)
    cents = random.integers(100, 10_000_000, rows)
    amount = pc.multiply(pa.array(cents).cast(pa.decimal128(19, 0)), pa.scalar(Decimal("0.01")))
    tax = pc.multiply(
        pa.array(cents // 500, mask=random.random(rows) < 0.1).cast(pa.decimal128(19, 0)), Decimal("0.20")
    )
    country = pa.array(COUNTRIES).take(pa.array(random.integers(0, len(COUNTRIES), rows)))
    number = pa.array([f"{COUNTRIES[at % 10]}{at * 7919 % 10**16:016}" for at in range(rows)])
    started = np.datetime64("2026-02-01", "us") + random.integers(0, 86_400_000_000 * 28, rows).astype(
        "timedelta64[us]"
    )
    words = np.array([f"word{at:03}x" for at in range(WORDS)])
    notes = [" ".join(chunk) for chunk in words[random.integers(0, WORDS, (rows, 30))]]
    counts = random.integers(1, 4, rows)
    offsets = np.concatenate([[0], counts.cumsum()]).astype(np.int32)
    items = pa.StructArray.from_arrays(
        [pa.array(random.integers(0, 10**6, offsets[-1])), pa.array(random.integers(1, 9, offsets[-1]), pa.int16())],
        names=["sku", "quantity"],
    )
    return pa.table(
        {
            "id": pa.array([f"{at * 2654435761 % 2**32:08x}-{at:024x}" for at in range(rows)]),
            "amount": amount.cast(pa.decimal128(18, 4)),
            "tax": tax.cast(pa.decimal128(12, 2)),
            "account": pa.StructArray.from_arrays([number, country], names=["number", "country"]),
            "placed_at": pa.array(started).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Europe/Oslo")),
            "valued_at": pa.array(started),
            "due": pa.array(started).cast(pa.date32(), safe=False),
            "note": pa.array(notes),
            "items": pa.ListArray.from_arrays(pa.array(offsets), items),
            "settled": pa.array(random.random(rows) < 0.5),
            "attempts": pa.array(random.integers(0, 9, rows), pa.int16()),
            "rate": pa.array(random.random(rows), pa.float32()),
        }
    )
