"""Made-up days of a wide table that are alike by construction, and copies of them in which one column has drifted."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Columns = dict[str, npt.NDArray[Any]]

WORDS = np.array([f"value {at:02d}" for at in range(60)])
ROWS = (800, 1200)  # of a day
BETWEEN = 0.05  # standard deviations by which a third of the number columns moves from day to day
UNEVEN = 300.0  # the weight of the Dirichlet distribution by which a third of the text columns' shares do


class Drift(StrEnum):
    """What happens to one column of a day."""

    SMALL_SHIFT = "a normal column is shifted by 0.3 standard deviations"
    SHIFT = "a normal column is shifted by 0.5 standard deviations"
    FEW_NEW = "a new value in 5 % of the rows"
    NEW = "a new value in 10 % of the rows"
    MISSING = "10 % of the values are missing"


def sound_day(seed: int, day: int, columns: int) -> Columns:
    """Six kinds of columns in turn; every third one of a kind differs from day to day by more than chance."""
    drawn = np.random.default_rng([seed, day])
    rows = int(drawn.integers(*ROWS))
    return {f"{_KINDS[at % 6]}_{at}": _column(_KINDS[at % 6], (at // 6) % 3 == 0, rows, drawn) for at in range(columns)}


def drifted(day: Columns, drift: Drift, seed: int) -> tuple[str, Columns]:
    """The column that drifted, and the day with it."""
    drawn = np.random.default_rng([seed, list(Drift).index(drift)])
    kind = "normal" if drift in (Drift.SHIFT, Drift.SMALL_SHIFT) else "few"
    name = str(drawn.choice([name for name in day if name.startswith(kind)]))
    values = day[name]
    if kind == "normal":
        return name, {**day, name: values + (0.3 if drift is Drift.SMALL_SHIFT else 0.5)}
    share = 0.05 if drift is Drift.FEW_NEW else 0.1
    chosen = drawn.random(len(values)) < share
    spoilt = values.astype(object)
    spoilt[chosen] = None if drift is Drift.MISSING else "new"
    return name, {**day, name: spoilt}


def table(columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    """As Arrow; NaN of floats are missing."""
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


_KINDS = ("normal", "skewed", "counts", "gaps", "few", "many")


def _column(kind: str, is_uneven: bool, rows: int, drawn: np.random.Generator) -> npt.NDArray[Any]:
    moved = BETWEEN * drawn.normal() if is_uneven else 0.0
    if kind == "normal":
        return drawn.normal(moved, 1, rows)
    if kind == "skewed":
        return drawn.gamma(2, np.exp(moved), rows)
    if kind == "counts":
        return drawn.poisson(3 * np.exp(moved), rows)
    if kind == "gaps":
        values = drawn.normal(0, 1, rows)
        values[drawn.random(rows) < 0.05 * np.exp(4 * moved)] = np.nan
        return values
    shares = 1 / np.arange(1, (8 if kind == "few" else len(WORDS)) + 1)
    shares /= shares.sum()
    return WORDS[drawn.choice(len(shares), rows, p=drawn.dirichlet(UNEVEN * shares) if is_uneven else shares)]
