"""Four measures of two distributions, over the same bins or the same numbers (pure).

Sources: the population stability index, Siddiqi, Credit Risk Scorecards (2006); the distance, Lin, Divergence Measures
Based on the Shannon Entropy (1991), and Endres and Schindelin (2003) for its root; V, Cramér (1946).
"""

import numpy as np
from scipy.special import chdtri

from execution_engine.profiles.hashing import Floats, Ints
from execution_engine.profiles.points import Points


def smoothed(shares: Floats, rows: float) -> Floats:
    """Shares of bins, with half a row of ``rows`` more in each bin: none is 0."""
    half = 0.5 / rows
    return (shares + half) / (1 + half * len(shares))


def stability_index(p: Floats, q: Floats) -> float:
    """The population stability index of two distributions, of which no share is 0: in nats, 0 where they are alike."""
    return float((p - q) @ np.log(p / q))


def jensen_shannon(p: Floats, q: Floats, q_alone: float = 0.0) -> float:
    """√ of the Jensen-Shannon divergence to base 2: 0 (alike) to 1.

    ``q_alone``: what the second distribution has where the first has nothing.
    """
    both = p + q
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(2 * p / both), 0.0) + np.where(q > 0, q * np.log2(2 * q / both), 0.0)
    return float(np.sqrt(min(1.0, max(0.0, 0.5 * (float(terms.sum()) + q_alone)))))


def kolmogorov_smirnov(found: Points, before: Points) -> float:
    """The largest difference of the shares of rows up to any number: 0 (alike) to 1; NaN where either has no rows."""
    numbers = np.union1d(found.numbers, before.numbers)
    if not len(found.numbers) or not len(before.numbers):
        return float("nan")
    return float(np.abs(found.share_up_to(numbers) - before.share_up_to(numbers)).max())


def chi_square(found: Ints, before: Ints) -> float:
    """Pearson's statistic of the table of two rows; every bin must have a row in one of them at least."""
    table = np.array([found, before], np.float64)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


def largest_by_chance(degrees: int, probability: float) -> float:
    """The chi-square that two samples of one distribution exceed with this probability."""
    return float(chdtri(degrees, probability)) if degrees else 0.0
