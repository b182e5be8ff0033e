"""Metrics of the whole table: its rows, those in no partition, and the one number of a query."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from execution_engine.metrics.definition import (
    LAKE,
    NOTE,
    SERVICE,
    ArgumentType,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import ROWS

# ``row_count()``: the number of rows. Deequ: Size.

ROW_COUNT = MetricDefinition(
    signature=Signature(name="row_count"),
    kind=MetricKind.AGGREGATE,
    formula="N",
    source="Schelter et al. 2018, Table 2: Size",
    meaning="how many rows there are",
    phrase=MetricPhrase(noun=text_noop("the number of rows")),
    dimension=Dimension.COMPLETENESS,
    divides_shares=True,
    statistics=lambda spec, write: {"rows": ROWS},
    value=lambda spec, values: float(values["rows"]),
    sums_bound=True,
    adds_up=True,
)
ALL_ROWS = MetricSpec(name=ROW_COUNT.name)


# ``unpartitioned_rows()``: the rows of the whole table that no partition holds, by the keys they lie under.

MOST_KEYS_TOLD = 20


@dataclass(frozen=True, kw_only=True)
class RowsByKey:
    """The rows by key, and those of further keys that were counted together."""

    rows: Mapping[str, int]
    others: int = 0
    rows_of_others: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return sum(self.rows.values()) + self.rows_of_others


def detail_of_keys(column: str, by_key: RowsByKey, null: str) -> dict[str, Any]:
    """What a measurement tells beside its number: the keys of most rows, and a sentence; ``null`` stands for no key."""
    pairs = [(key, rows) for key, rows in by_key.rows.items() if rows]
    pairs.sort(key=lambda pair: (-pair[1], pair[0]))
    if not pairs:
        return {}
    first, others = pairs[:MOST_KEYS_TOLD], len(pairs[MOST_KEYS_TOLD:]) + by_key.others
    texts = [f"{rows:,} under {key if key == null else f'{column}={key}'}" for key, rows in first]
    if others:
        rows_of_others = sum(rows for _, rows in pairs[MOST_KEYS_TOLD:]) + by_key.rows_of_others
        texts.append(f"{rows_of_others:,} under {others:,} other key{'s' * (others > 1)}")
    lie = f"{by_key.total:,} rows lie" if by_key.total > 1 else "1 row lies"
    return {"keys": dict(first), NOTE: f"{lie} in no partition: {', '.join(texts)}"}


UNPARTITIONED_ROWS = MetricDefinition(
    signature=Signature(name="unpartitioned_rows", takes_where=False),
    kind=MetricKind.LAYOUT,
    formula="|{d ∈ D : d(k) = null, or d(k) is the key of no partition}|, k the partition key, D the whole table",
    source="Hive: dynamic partitions, hive.exec.default.partition.name",
    meaning="how many rows are in no partition",
    phrase=MetricPhrase(noun=text_noop("the number of rows in no partition")),
    dimension=Dimension.COMPLETENESS,
    tells_values=True,
    taken_by={SERVICE: "execution_engine.scans.reading:count_unpartitioned"},
)


# ``query("select …")``: the one number that a Spark SQL query gives (UDQ's query0).

QUERY = MetricDefinition(
    signature=Signature(name="query", arguments=(ArgumentType.QUERY,), takes_where=False),
    kind=MetricKind.COMPOUND,
    formula="the number in the one row of the query",
    source="UDQ: query0",
    meaning="the one number that the query gives",
    phrase=MetricPhrase(noun=text_noop("what the query of %(test)s gives")),
    dimension=Dimension.ACCURACY,
    taken_by={LAKE: "execution_engine.engines.spark.measures.query:measure_query"},
    tells_values=True,
)
