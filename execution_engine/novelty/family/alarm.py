"""One alarm for all columns: the largest standardised distance beside the same maximum of each accepted batch."""

from math import ceil

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from execution_engine.novelty.columns import changed_columns, with_new_values
from execution_engine.novelty.measures.statistics import PLACE, STATISTICS, Shown
from execution_engine.novelty.past import Past
from execution_engine.novelty.scores import FALSE_ALARMS, FEWEST, LARGEST_Z, normal_of_t, threshold
from execution_engine.novelty.verdict import Cause, Status, Verdict
from execution_engine.profiles.profile import Profile

from .distances import MISSING, Distances, distances_of

Floats = npt.NDArray[np.float64]

MOST_CAUSES = 20
RANKED = ceil(1 / FALSE_ALARMS) - 1  # accepted batches from which on their ranks alone bound the false alarms


def judged(profile: Profile, past: Past) -> Verdict:
    """The verdict by drift: its score is the largest z of a distance."""
    causes, notes = changed_columns(profile, past)
    found = distances_of(past.batch_of(profile), past)
    z = standardised(found)
    ours = _beside_released(z, found, past)
    bound = bound_of(_maxima(np.delete(z[:-1], _released(past), axis=0)), int((~np.isnan(ours)).sum()))
    score = LARGEST_Z if causes else float(np.nan_to_num(ours).max(initial=0.0))
    if score <= bound:
        return Verdict(status=Status.LIKE, score=score, threshold=bound, notes=notes)
    order = np.argsort(-np.nan_to_num(ours), kind="stable")[:MOST_CAUSES]
    causes += [_cause(found, at, float(ours[at])) for at in order.tolist() if ours[at] > bound]
    causes = with_new_values(causes, profile, past)
    return Verdict(status=Status.NOVEL, score=score, threshold=bound, causes=tuple(causes), notes=notes)


def standardised(found: Distances) -> Floats:
    """The z of each distance of each batch beside all others: (batches, tests); NaN where there are too few.

    A distance over what sampling and the usual difference between batches give is a chi-square over its degrees, of
    which the cube root is nearly normal (Wilson and Hilferty, 1931). No batch has a part of its own in this: in
    whatever order they came, they would have the same z's. So the largest of them is one of chance alike for each.
    """
    z: Floats
    with np.errstate(all="ignore"):
        alone = found.distances / (1 + 1 / found.before)
        between = np.maximum(0.0, np.nanmedian(alone - found.expected, axis=0))
        roots = np.cbrt(alone / (between + found.expected))
        floor = 2 / (9 * found.degrees)  # the variance of such a root
        known = ~np.isnan(roots)
        count = known.sum(axis=0)
        filled = np.where(known, roots, 0.0)
        mean = filled.sum(axis=0) / count
        apart = np.where(known, roots - mean, 0.0)
        rest = count - 1
        spread = np.maximum((apart**2).sum(axis=0) - apart**2 * count / rest, 0.0) / (rest - 1)
        whole = np.maximum(spread, floor)
        freedom = (rest - 1) * np.minimum(whole / spread, 1e3) ** 2
        t = (roots - (mean - apart / rest)) / np.sqrt(whole * (1 + 1 / rest))
        z = np.where(known & (rest >= FEWEST), normal_of_t(t, freedom), np.nan)
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


def _maxima(z: Floats) -> Floats:
    maxima: Floats = np.nan_to_num(z).max(axis=1, initial=0.0)
    return maxima


def _released(past: Past) -> list[int]:
    return [place for place, batch in enumerate(past.batches) if batch.released]


def _beside_released(z: Floats, found: Distances, past: Past) -> Floats:
    """The z of the batch that is judged, or what it is above that of a released one, where this is nearer to 0."""
    ours: Floats = z[-1]
    for place in _released(past):
        near = (ours - z[place]) / np.sqrt(2)
        ours = np.where(np.abs(near) < np.abs(ours), near, ours)
    return ours


def _cause(found: Distances, at: int, z: float) -> Cause:
    name, statistic = found.tests[at]
    before = found.shown[:-1, at]
    known = before[~np.isnan(before)]
    low, high = np.quantile(known, [0.05, 0.95]).tolist()
    told = list(STATISTICS.values())[PLACE[statistic]]
    return Cause(
        column=name,
        statistic=told.words,
        shown=Shown.SHARE if statistic == MISSING else Shown.DISTANCE,
        value=float(found.shown[-1, at]),
        expected=float(np.median(known)),
        low=low,
        high=high,
        z=z,
        before=tuple(before.tolist()),
    )
