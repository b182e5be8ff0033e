"""Who read the values of a scan: footers, kernels, or Spark, and why Spark had to (pure).

A value is a statistic or a grouping that metrics share, or a metric that is measured by itself.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MOST_REASONS = 10  # that are told one by one
MOST_LETTERS = 200  # of one reason, as it may hold the name of a column
OTHERS = "other reasons"


class FallbackKind(StrEnum):
    """What kept the kernels from a value; ``MEANINGS`` says it in words."""

    OFF = "off"
    TABLE = "table"
    EXECUTORS = "executors"
    UNKNOWN = "unknown"
    COLUMN = "column"
    ROWS = "rows"
    FAILED = "failed"
    BESIDE = "beside"


FORMER_KINDS = frozenset({"statistic", "expression", "groups", "compound"})  # of what kernels do not know

MEANINGS: Mapping[FallbackKind, str] = {
    FallbackKind.OFF: "`ASSAY_SPARK_NATIVE` is false",
    FallbackKind.TABLE: "the data is no set of whole files of parquet or ORC, of a disk or a store",
    FallbackKind.EXECUTORS: "the Python of the cluster's executors lacks what kernels need, or reaches no store",
    FallbackKind.UNKNOWN: "kernels do not know its statistic, there or of each group, its condition or its queries",
    FallbackKind.COLUMN: "a column is of a type, or is stored in a way, that kernels do not read so",
    FallbackKind.ROWS: "the rows hold something of which Spark alone knows what it means there",
    FallbackKind.FAILED: "a task failed, or a file was replaced, cannot be read, or holds a column otherwise than the "
    "newest",
    FallbackKind.BESIDE: "it shares a job with values that are Spark's, which cost less together",
}


@dataclass(frozen=True, kw_only=True)
class Left:
    """Why some values were left to Spark, and how many they were."""

    kind: FallbackKind
    why: str
    values: int = 1


@dataclass(frozen=True, kw_only=True)
class ReadBy:
    """How many values each has read; ``kernels`` includes what Arrow reads of small files without Spark.

    What a database answered, or could not be measured at all, is not among them.
    """

    footers: int = 0
    kernels: int = 0
    left: tuple[Left, ...] = ()  # to Spark, as ``read_by`` orders them

    @property
    def spark(self) -> int:
        """How many values were left to Spark."""
        return sum(fallback.values for fallback in self.left)

    @property
    def left_by_kind(self) -> dict[FallbackKind, int]:
        """The same by what kept the kernels from them."""
        counts: Counter[FallbackKind] = Counter()
        for fallback in self.left:
            counts[fallback.kind] += fallback.values
        return dict(counts)

    def to_json(self) -> dict[str, Any]:
        """As a row of a scan keeps it."""
        left = [{"kind": fallback.kind.value, "why": fallback.why, "values": fallback.values} for fallback in self.left]
        return {"footers": self.footers, "kernels": self.kernels, "spark": self.spark, "left": left}

    def __str__(self) -> str:
        """``2 values by footers, 12 by kernels, 3 by Spark: 2 "percentile is Spark's to gather", 1 …``."""
        readers = (("footers", self.footers), ("kernels", self.kernels), ("Spark", self.spark))
        counts = [(count, who) for who, count in readers if count]
        if not counts:
            return "no values"
        (first, who), *others = counts
        texts = [f"{first} value{'' if first == 1 else 's'} by {who}", *(f"{count} by {who}" for count, who in others)]
        reasons = ", ".join(f'{fallback.values} "{fallback.why}"' for fallback in self.left)
        return ", ".join(texts) + (reasons and f": {reasons}")


NO_VALUES = ReadBy()


def from_json(stored: Mapping[str, Any]) -> ReadBy | None:
    """What ``to_json`` wrote; None where nothing was noted."""
    if not stored:
        return None
    left = (
        Left(
            kind=FallbackKind.UNKNOWN if reason["kind"] in FORMER_KINDS else FallbackKind(reason["kind"]),
            why=reason["why"],
            values=reason["values"],
        )
        for reason in stored["left"]
    )
    return ReadBy(footers=stored["footers"], kernels=stored["kernels"], left=tuple(left))


def read_by(*, footers: int = 0, kernels: int = 0, left: Iterable[Left] = ()) -> ReadBy:
    """With like reasons together, and few of them: the rarest of each kind are ``OTHERS``, and long ones are cut."""
    counts: Counter[tuple[FallbackKind, str]] = Counter()
    for fallback in left:
        counts[fallback.kind, fallback.why[:MOST_LETTERS]] += fallback.values

    def rank(reason: tuple[FallbackKind, str]) -> tuple[bool, int, tuple[FallbackKind, str]]:
        return reason[1] == OTHERS, -counts[reason], reason  # the most frequent first, what is told together last

    for kind, why in [reason for reason in sorted(counts, key=rank) if reason[1] != OTHERS][MOST_REASONS:]:
        counts[kind, OTHERS] += counts.pop((kind, why))
    ordered = sorted(counts, key=rank)
    reasons = tuple(Left(kind=kind, why=why, values=counts[kind, why]) for kind, why in ordered)
    return ReadBy(footers=footers, kernels=kernels, left=reasons)


def together(readers: Iterable[ReadBy]) -> ReadBy:
    """Of several scans, or of parts of one."""
    every = list(readers)
    return read_by(
        footers=sum(reader.footers for reader in every),
        kernels=sum(reader.kernels for reader in every),
        left=[left for reader in every for left in reader.left],
    )
