"""How far counts and numbers of a batch are from a pooled past."""

import numpy as np
import numpy.typing as npt

from execution_engine.drift.measures import jensen_shannon, smoothed, stability_index
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
    return jensen_shannon(p, q, max(0.0, 1.0 - float(q.sum())))


def surprise(batch: Ints, past: Ints) -> float:
    """The mean negative log-likelihood of pairs of letters, in nats, each pair being seen half a time more."""
    return float(-(batch @ np.log((past + 0.5) / (past.sum() + 0.5 * len(past)))) / batch.sum())


def edges_of(past: PooledNumbers) -> Floats:
    """The different deciles of the past."""
    edges: Floats = np.unique(np.interp(_DECILES, SHARES, past.quantiles.mean(axis=0)))
    return edges


def stability(numbers: Numbers, past: PooledNumbers) -> float:
    """√ of the population stability index over the deciles of the past, each share smoothed by half a row.

    Both distributions are lines through the same quantiles: where numbers are often the same, as counts are, an edge
    moves a little with each batch, and the share up to a step would jump with it.
    """
    pooled, own = past.quantiles.mean(axis=0), numbers.points.quantiles(SHARES)
    edges = edges_of(past)
    expected, found = (np.diff(_share_up_to(edges, each), prepend=0.0, append=1.0) for each in (pooled, own))
    p, q = (smoothed(each, numbers.finite) for each in (found, expected))
    return float(np.sqrt(stability_index(p, q)))


def _share_up_to(edges: Floats, quantiles: Floats) -> Floats:
    last = np.append(quantiles[1:] > quantiles[:-1], True)  # of quantiles that are equal
    shares: Floats = np.interp(edges, quantiles[last], SHARES[last], left=0.0)
    return shares
