"""What is said of a batch: whether it is novel, and what moved, in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite
from typing import Any

from .statistics import Notation

MOST_SHOWN = 3  # new values in one sentence


class NoveltyStatus(StrEnum):
    """What a batch is."""

    LEARNING = "LEARNING"  # too few batches were accepted
    LIKE = "LIKE"  # those before it
    NOVEL = "NOVEL"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One statistic that moved. ``column`` is None where it is of the whole batch.

    ``low`` to ``high`` is where nine of ten accepted batches were. ``z`` is how many standard deviations the value is
    off, where the method knows; infinite for what never happened before. ``expected`` is their median.
    """

    column: str | None
    statistic: str
    notation: Notation
    value: float | str
    expected: float | str | None
    low: float | None = None
    high: float | None = None
    when: str = ""  # of which like days they are, such as "on Saturdays"; empty: of all
    z: float
    new_values: tuple[Any, ...] = ()
    before: tuple[float, ...] = field(
        default=(), compare=False
    )  # the statistic in the last accepted batches, NaN where it was not measured

    @property
    def text(self) -> str:
        """Such as "share of complete values of fare: 0.62, usually 0.998 to 1"."""
        what = self.statistic if self.column is None else f"{self.statistic} of {self.column}"
        text = f"{what}: {_written(self.value, self.notation)}"
        if self.low is not None and self.high is not None:
            low, high = _written(self.low, self.notation), _written(self.high, self.notation)
            text += f", usually {low}" if low == high else f", usually {low} to {high}"
            text += f" {self.when}" if self.when else ""
        elif self.expected is not None:
            text += f", usually {_written(self.expected, self.notation)}"
        if self.new_values:
            text += f"; never seen before: {', '.join(map(str, self.new_values[:MOST_SHOWN]))}"
            text += ", …" if len(self.new_values) > MOST_SHOWN else ""
        return text

    def as_json(self) -> dict[str, Any]:
        """Without new values and those before; ``z`` is None for what never happened before."""
        return {
            "column": self.column,
            "statistic": self.statistic,
            "value": self.value,
            "expected": self.expected,
            "low": self.low,
            "high": self.high,
            "z": self.z if isfinite(self.z) else None,
            "text": self.text,
        }

    def without_values(self) -> "Cause":
        """The same, for those who may not see the data."""
        return replace(self, new_values=())


@dataclass(frozen=True, kw_only=True)
class NoveltyVerdict:
    """A batch is novel where its score exceeds the threshold; then ``causes`` say why, the largest first.

    ``notes`` are sentences about what could not be judged, or is no reason for an alarm.
    """

    status: NoveltyStatus
    score: float | None = None
    threshold: float | None = None
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, score: float, threshold: float, causes: Sequence[Cause] = (), notes: tuple[str, ...] = ()
    ) -> "NoveltyVerdict":
        """Novel where the score exceeds the threshold."""
        status = NoveltyStatus.NOVEL if score > threshold else NoveltyStatus.LIKE
        return cls(status=status, score=score, threshold=threshold, causes=tuple(causes), notes=notes)

    @property
    def is_novel(self) -> bool:
        """Whether somebody should look at it."""
        return self.status is NoveltyStatus.NOVEL


def _written(value: float | str, notation: Notation) -> str:
    if isinstance(value, str):
        return value
    if notation is Notation.COUNT:
        return f"{value:,.0f}"
    if notation is Notation.SHARE:
        return f"{value:.3g}" if value < 0.9 else f"{value:.6f}"[:7].rstrip("0").rstrip(".")
    return f"{value:,.4g}"
