"""How far each column of a batch, and of each batch before it, was from what had been accepted by then.

A column has one distance: of numbers and times the population stability index, of all else the Jensen-Shannon
divergence of values, or of shapes where values hardly repeat. Missing values are a distance by themselves.
"""

from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from execution_engine.drift.columns import MOSTLY_OTHERS
from execution_engine.novelty.measures.batch import WHOLE_BATCH, Batch
from execution_engine.novelty.measures.distances import edges_of
from execution_engine.novelty.measures.pool import LAST_NUMBERS, Pool
from execution_engine.novelty.measures.statistics import PLACE, RARE
from execution_engine.novelty.past import Past
from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.values import ValueCounts

Floats = npt.NDArray[np.float64]

BITS = 8 * log(2)  # a chi-square is so many times rows and divergence, where both are small
NUMBERS, VALUES, SHAPES, MISSING = "stability", "values_distance", "shapes_distance", "complete"
_ROWS = {NUMBERS: "zero", VALUES: "values_new", SHAPES: "shapes_new", MISSING: "complete"}  # whose rows are counted


@dataclass(frozen=True, kw_only=True, eq=False)
class Distances:
    """Of each test a column and its statistic; arrays (batches, tests), of which the last batch is the one judged.

    NaN where a batch was not compared. ``expected``: the distance that sampling alone would give, on the average.
    ``degrees``: of the chi-square that it then is. ``before``: the batches that each was compared with.
    """

    tests: tuple[tuple[str, str], ...]
    shown: Floats
    distances: Floats
    expected: Floats
    degrees: Floats
    before: Floats


def distances_of(batch: Batch, past: Past) -> Distances:
    """Of all columns of the past that the batch has in their kind."""
    tests, degrees = [], []
    for name in past.names:
        pool = past.pools.get(name)
        if name == WHOLE_BATCH or name not in batch.kinds:
            continue
        tests.append((name, MISSING))
        degrees.append(1.0)
        if pool is not None and batch.kinds[name] is pool.kind and (found := _compared(past, pool, name)):
            tests.append((name, found[0]))
            degrees.append(found[1])
    names = [name for name, _ in tests]
    shown = _gathered(past, batch, names, [PLACE[statistic] for _, statistic in tests], "shown")
    rows = _gathered(past, batch, names, [RARE.index(_ROWS[statistic]) for _, statistic in tests], "of")
    is_missing, is_numbers = (np.array([statistic == which for _, statistic in tests]) for which in (MISSING, NUMBERS))
    distances = np.where(is_missing, _gaps(shown, rows), np.where(is_numbers, shown, shown**2))
    distances[np.isnan(rows)] = np.nan
    by_row = np.array(degrees) / np.where(is_missing | is_numbers, 1.0, BITS)
    known = ~np.isnan(distances)
    before = np.cumsum(known, axis=0) - known + 1.0  # the first of all made the pool, and was compared with nothing
    return Distances(
        tests=tuple(tests),
        shown=shown,
        distances=distances,
        expected=by_row / rows,
        degrees=np.array(degrees),
        before=np.where(is_numbers, np.minimum(before, LAST_NUMBERS), before),
    )


def _compared(past: Past, pool: Pool, name: str) -> tuple[str, float] | None:
    """The statistic that a column is compared by, and its degrees of freedom."""
    if pool.kind in (ColumnKind.NUMBER, ColumnKind.TIME):
        if not len(pool.numbers.quantiles):
            return None
        return NUMBERS, float(max(1, len(edges_of(pool.numbers))))
    if not pool.values.rows:
        return None
    at = past.names.index(name)
    distinct = past.history.shown[:, at, PLACE["distinct"]]
    rows = float(np.nanmedian(past.history.of[:, at, RARE.index("values_new")]))
    if pool.shapes.rows and np.nanmedian(distinct) > MOSTLY_OTHERS:
        return SHAPES, _degrees(pool.shapes, rows)
    return VALUES, _degrees(pool.values, rows)


def _degrees(values: ValueCounts, rows: float) -> float:
    """Of as many rows; a value that is rarer than one of them counts for less."""
    usual = np.append(values.counts, values.cut) / values.rows * rows
    return max(1.0, float(np.minimum(usual, 1.0).sum()) - 1)


def _gathered(past: Past, batch: Batch, names: list[str], places: list[int], part: str) -> Floats:
    """One figure of each test in each batch; NaN where the column was of another kind."""
    kinds = [past.pools[name].kind if name in past.pools else None for name in names]
    figures = np.full((len(past.batches) + 1, len(names)), np.nan)
    for row, each in enumerate((*past.batches, batch)):
        pairs = zip(names, kinds, strict=True)
        alike = [each.kinds.get(name) in (kind, None, ColumnKind.NOTHING) for name, kind in pairs]
        figures[row] = np.where(alike, each.aligned(part, names)[np.arange(len(names)), places], np.nan)
    return figures


def _gaps(complete: Floats, rows: Floats) -> Floats:
    """The stability index of rows with and without a value, each batch beside all before it; NaN of the first."""
    there, of = np.nan_to_num(complete * rows), np.nan_to_num(rows)
    total, seen = np.cumsum(of, axis=0) - of, np.cumsum(there, axis=0) - there
    with np.errstate(all="ignore"):
        half = 0.5 / rows
        p, q = ((share + half) / (1 + 2 * half) for share in (complete, np.where(total > 0, seen / total, np.nan)))
        return (p - q) * np.log(p / q * (1 - q) / (1 - p))
