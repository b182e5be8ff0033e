"""All columns as one family of tests: has any drifted, at one false alarm in a hundred batches however many there are?

The maximum over a family follows Westfall and Young, Resampling-Based Multiple Testing (1993).
"""

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from scipy.special import ndtri

from execution_engine.drift import MOSTLY_OTHERS
from execution_engine.profiles.profile import TableProfile, ValueKind
from execution_engine.profiles.values import Floats

from .batch import LAST_NUMBERS, Batch, Pool, edges_of
from .columns import changed_columns, moved_cause, with_new_values
from .past import Past
from .scores import FALSE_ALARMS, FEWEST, LARGEST_Z, normal_of_t, threshold
from .statistics import PLACE, RARE, STATISTICS, WHOLE_BATCH, Notation
from .verdict import NoveltyVerdict

# How far each column of a batch, and of each batch before it, was from what had been accepted by then.
#
# A column has one distance: of numbers and times the population stability index, of all else the Jensen-Shannon
# divergence of values, or of shapes where values hardly repeat. Missing values are a distance by themselves.

BITS = 8 * log(2)  # a chi-square is so many times rows and divergence, where both are small
NUMBERS, VALUES, SHAPES, MISSING = "stability", "values_distance", "shapes_distance", "complete"
_ROWS = {NUMBERS: "zero", VALUES: "values_new", SHAPES: "shapes_new", MISSING: "complete"}  # whose rows are counted


@dataclass(frozen=True, kw_only=True, eq=False)
class FamilyDistances:
    """Of each test a column and its statistic; arrays (batches, tests), of which the last batch is the one judged.

    NaN where a batch was not compared. ``expected``: the distance that sampling alone would give, on the average.
    ``degrees``: of the chi-square that it then is. ``before``: the batches that each was compared with.
    """

    tests: tuple[tuple[str, str], ...]
    values: Floats
    distances: Floats
    expected: Floats
    degrees: Floats
    before: Floats


def distances_of(batch: Batch, past: Past) -> FamilyDistances:
    """Of all columns of the past that the batch has in their kind."""
    tests, degrees = [], []
    for name in past.names:
        pool = past.pools.get(name)
        if name == WHOLE_BATCH or name not in batch.kinds:
            continue
        tests.append((name, MISSING))
        degrees.append(1.0)
        if pool is not None and batch.kinds[name] is pool.kind and (compared := _compared(past, pool, name)):
            tests.append((name, compared[0]))
            degrees.append(compared[1])
    names = [name for name, _ in tests]
    values = _gathered(past, batch, names, [PLACE[statistic] for _, statistic in tests], "shown")
    rows = _gathered(past, batch, names, [RARE.index(_ROWS[statistic]) for _, statistic in tests], "of")
    is_missing, is_numbers = (np.array([statistic == which for _, statistic in tests]) for which in (MISSING, NUMBERS))
    # the stability index of rows with and without a value, each batch beside all before it; NaN of the first
    there, of = np.nan_to_num(values * rows), np.nan_to_num(rows)
    total, seen = np.cumsum(of, axis=0) - of, np.cumsum(there, axis=0) - there
    with np.errstate(all="ignore"):
        half, share_before = 0.5 / rows, np.where(total > 0, seen / total, np.nan)
        p, q = ((share + half) / (1 + 2 * half) for share in (values, share_before))
        gaps = (p - q) * np.log(p / q * (1 - q) / (1 - p))
    distances = np.where(is_missing, gaps, np.where(is_numbers, values, values**2))
    distances[np.isnan(rows)] = np.nan
    by_row = np.array(degrees) / np.where(is_missing | is_numbers, 1.0, BITS)
    has_distance = ~np.isnan(distances)
    before = (
        np.cumsum(has_distance, axis=0) - has_distance + 1.0
    )  # the first of all made the pool, and was compared with nothing
    return FamilyDistances(
        tests=tuple(tests),
        values=values,
        distances=distances,
        expected=by_row / rows,
        degrees=np.array(degrees),
        before=np.where(is_numbers, np.minimum(before, LAST_NUMBERS), before),
    )


def _compared(past: Past, pool: Pool, name: str) -> tuple[str, float] | None:
    """The statistic that a column is compared by, and its degrees of freedom."""
    if pool.kind in (ValueKind.NUMBER, ValueKind.TIME):
        count = len(pool.numbers.quantiles)
        return (NUMBERS, float(max(1, len(edges_of(pool.numbers))))) if count else None
    if not pool.values.rows:
        return None
    at = past.names.index(name)
    distinct = past.history.shown[:, at, PLACE["distinct"]]
    rows = float(np.nanmedian(past.history.of[:, at, RARE.index("values_new")]))
    statistic, values = VALUES, pool.values
    if pool.shapes.rows and np.nanmedian(distinct) > MOSTLY_OTHERS:
        statistic, values = SHAPES, pool.shapes
    usual = np.append(values.counts, values.cut) / values.rows * rows  # of as many rows
    return statistic, max(1.0, float(np.minimum(usual, 1.0).sum()) - 1)  # rarer than one of them counts for less


def _gathered(past: Past, batch: Batch, names: list[str], places: list[int], part: str) -> Floats:
    """One figure of each test in each batch; NaN where the column was of another kind."""
    kinds = {name: past.pools[name].kind for name in names if name in past.pools}
    figures = np.full((len(past.batches) + 1, len(names)), np.nan)
    for row, member in enumerate((*past.batches, batch)):
        alike = [member.kinds.get(name) in (kinds.get(name), None, ValueKind.NOTHING) for name in names]
        figures[row] = np.where(alike, member.aligned(part, names)[np.arange(len(names)), places], np.nan)
    return figures


# One alarm for all columns: the largest standardised distance beside the same maximum of each accepted batch.

MOST_CAUSES = 20
RANKED = ceil(1 / FALSE_ALARMS) - 1  # accepted batches from which on their ranks alone bound the false alarms


def judged(profile: TableProfile, past: Past) -> NoveltyVerdict:
    """The verdict by drift: its score is the largest z of a distance."""
    causes, notes = changed_columns(profile, past)
    family = distances_of(past.batch_of(profile), past)
    z = standardised(family)
    released = [place for place, batch in enumerate(past.batches) if batch.released]
    ours: Floats = z[-1]
    for place in released:  # what it is above a batch that a person released, where this is nearer to 0
        near = (ours - z[place]) / np.sqrt(2)
        ours = np.where(np.abs(near) < np.abs(ours), near, ours)
    accepted = np.nan_to_num(np.delete(z[:-1], released, axis=0))
    bound = bound_of(accepted.max(axis=1, initial=0.0), int((~np.isnan(ours)).sum()))
    score = LARGEST_Z if causes else float(np.nan_to_num(ours).max(initial=0.0))
    if score <= bound:
        return NoveltyVerdict.of(score, bound, notes=notes)
    order = np.argsort(-np.nan_to_num(ours), kind="stable")[:MOST_CAUSES]
    for at in order[ours[order] > bound].tolist():
        (name, statistic), before, value = family.tests[at], family.values[:-1, at], float(family.values[-1, at])
        notation = Notation.SHARE if statistic == MISSING else Notation.DISTANCE
        causes.append(moved_cause(name, STATISTICS[statistic].words, notation, value, before, float(ours[at]), before))
    return NoveltyVerdict.of(score, bound, with_new_values(causes, profile, past), notes)


def standardised(family: FamilyDistances) -> Floats:
    """The z of each distance of each batch beside all others: (batches, tests); NaN where there are too few.

    A distance over what sampling and the usual difference between batches give is a chi-square over its degrees, of
    which the cube root is nearly normal (Wilson and Hilferty, 1931). No batch has a part of its own in this: in
    whatever order they came, they would have the same z's. So the largest of them is one of chance alike for each.
    """
    z: Floats
    with np.errstate(all="ignore"):
        alone = family.distances / (1 + 1 / family.before)
        between = np.maximum(0.0, np.nanmedian(alone - family.expected, axis=0))
        roots = np.cbrt(alone / (between + family.expected))
        floor = 2 / (9 * family.degrees)  # the variance of such a root
        has_root = ~np.isnan(roots)
        count = has_root.sum(axis=0)
        filled = np.where(has_root, roots, 0.0)
        mean = filled.sum(axis=0) / count
        apart = np.where(has_root, roots - mean, 0.0)
        rest = count - 1
        spread = np.maximum((apart**2).sum(axis=0) - apart**2 * count / rest, 0.0) / (rest - 1)
        whole = np.maximum(spread, floor)
        freedom = (rest - 1) * np.minimum(whole / spread, 1e3) ** 2
        t = (roots - (mean - apart / rest)) / np.sqrt(whole * (1 + 1 / rest))
        z = np.where(has_root & (rest >= FEWEST), normal_of_t(t, freedom), np.nan)
    return z


def bound_of(maxima: Floats, tests: int) -> float:
    """What the largest z of so many tests exceeds by chance in one of a hundred batches, given those of the past.

    Never less than Bonferroni's bound of normal z's. From ``RANKED`` batches on it is the maximum that one of a hundred
    batches exceeds if the order of batches tells nothing, whatever their distribution; before, a fitted tail.
    """
    least = -float(ndtri(FALSE_ALARMS / max(tests, 1)))
    count = len(maxima)
    if count < RANKED:
        return max(least, threshold(maxima, tests))
    return max(least, float(np.sort(maxima)[ceil((count + 1) * (1 - FALSE_ALARMS)) - 1]))
