"""How far counts and numbers of a batch are from a pooled past."""

import numpy as np
import numpy.typing as npt

from execution_engine.profiles.numbers import Numbers
from execution_engine.profiles.values import ValueCounts

from .pool import SHARES, PooledNumbers

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_DECILES = np.arange(1, 10) / 10


def matched(batch: ValueCounts, past: ValueCounts) -> Ints:
    """How often each value of the batch occurs in the past."""
    if not len(past.keys):
        return np.zeros(len(batch.keys), np.int64)
    at = np.minimum(np.searchsorted(past.keys, batch.keys), len(past.keys) - 1)
    return np.where(past.keys[at] == batch.keys, past.counts[at], 0)


def of_values(batch: ValueCounts, past: ValueCounts, before: Ints) -> float:
    """√ of the Jensen-Shannon divergence to base 2: 0 (alike) to 1; values without a count are one value together."""
    p = np.append(batch.counts, batch.cut) / batch.rows
    q = np.append(before, past.cut) / past.rows
    return of_shares(p, q, max(0.0, 1.0 - float(q.sum())))


def of_shares(p: Floats, q: Floats, q_alone: float = 0.0) -> float:
    """The same of two distributions; ``q_alone``: what the second has where the first has nothing."""
    both = p + q
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(2 * p / both), 0.0) + np.where(q > 0, q * np.log2(2 * q / both), 0.0)
    return float(np.sqrt(min(1.0, max(0.0, 0.5 * (float(terms.sum()) + q_alone)))))


def surprise(batch: Ints, past: Ints) -> float:
    """The mean negative log-likelihood of pairs of letters, in nats, each pair being seen half a time more."""
    return float(-(batch @ np.log((past + 0.5) / (past.sum() + 0.5 * len(past)))) / batch.sum())


def stability(numbers: Numbers, past: PooledNumbers) -> float:
    """√ of the population stability index over the deciles of the past, each share smoothed by half a row."""
    pooled = past.quantiles.mean(axis=0)
    edges = np.unique(np.interp(_DECILES, SHARES, pooled))
    last = np.append(pooled[1:] > pooled[:-1], True)  # of quantiles that are equal
    upto = np.interp(edges, pooled[last], SHARES[last])
    expected, found = (np.diff(each, prepend=0.0, append=1.0) for each in (upto, numbers.points.share_up_to(edges)))
    smooth = 0.5 / numbers.finite
    p, q = ((each + smooth) / (1 + smooth * len(each)) for each in (found, expected))
    return float(np.sqrt((p - q) @ np.log(p / q)))
