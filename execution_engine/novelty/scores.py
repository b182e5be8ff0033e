"""From statistics and their history to z's, and from the largest of them to a score with its threshold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, sqrt

import numpy as np
from scipy.special import betainc, ndtri, stdtrit

from execution_engine.profiles.values import Floats, Ints

from .statistics import RARE, STATISTICS

LARGEST_Z = 1000.0  # beyond, one is as far as another
FEWEST = 4  # batches of history that a statistic needs
FALSE_ALARMS = 0.01  # of one family of z's
# Three families, each with the share of sound batches that its largest z may alarm: how many rows there are and how
# many repeat another, rare counts, and all others. What is loud in one does not deafen the others.
BUDGETS = np.array([0.001, 0.001, 0.0017])
# How many batches of sampling noise a floor is believed for, before history shows less. What is rare has a tail of its
# own for short histories; on the scale of shares a few rows are far from none.
FLOOR_WEIGHT, RARE_FLOOR_WEIGHT = 1.0, 3.0
_RARE = np.array([statistic.rare for statistic in STATISTICS.values()])
_FLOOR_WEIGHTS = np.where(_RARE, RARE_FLOOR_WEIGHT, FLOOR_WEIGHT)
_RARE_PLACES = np.flatnonzero(_RARE)
_RARE_SIGNS = np.array([STATISTICS[name].rare_sign for name in RARE])
ONE_SIDED = np.array([statistic.is_distance for statistic in STATISTICS.values()])
_OPEN = np.array([statistic.is_open for statistic in STATISTICS.values()])
# the prior of a history's log scores
PRIOR_WEIGHT, PRIOR_SPREAD, PRIOR_FACTOR = 10.0, 0.22, 0.9
QUIETEST = 3  # of these spreads below the mean: no score of history counts as less


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchHistory:
    """Of T batches what ``ColumnStatistics`` says of each column: arrays (T, columns, …)."""

    scaled: Floats
    floors: Floats
    least: Floats
    shown: Floats
    rare: Floats
    of: Floats

    @cached_property
    def sums(self) -> "_Sums":
        """Of all batches."""
        has_value = ~np.isnan(self.scaled)
        count = has_value.sum(axis=0).astype(np.float64)
        mean = np.where(has_value, self.scaled, 0.0).sum(axis=0) / np.maximum(count, 1)
        apart = np.where(has_value, self.scaled - mean, 0.0)
        excess = ((apart / np.where(has_value, self.floors, 1.0)) ** 2).sum(axis=0)
        return _Sums(count=count, mean=mean, squares=(apart**2).sum(axis=0), excess=excess)


def of_one(history: BatchHistory, scaled: Floats, floors: Floats, least: Floats) -> Floats:
    """The z of each statistic of a batch, given its history; NaN where there is none, or too little history."""
    return _z(history.sums, scaled, floors, least)


@dataclass(frozen=True, kw_only=True, eq=False)
class Like:
    """A few batches that one is compared with, in place of all: of each statistic the mean and of how many batches,
    and what was counted out of how many. ``draws`` is 0 where too few have the statistic.
    """

    mean: Floats
    draws: Floats
    rare: Floats
    of: Floats


def z_beside(
    history: BatchHistory,
    like: Like,
    batch: Mapping[str, Floats],
    off: Floats | float = 0.0,
    without: int | None = None,
) -> Floats:
    """The z of a batch beside the mean of a few, by the spread of all; NaN where too few have the statistic.

    ``off`` is taken off its statistics. ``without``: the place in history of a batch that its spread shall not be of.
    """
    sums = history.sums if without is None else history.sums.without(history.scaled[without], history.floors[without])
    sums, draws = replace(sums, mean=like.mean), np.maximum(like.draws, 1)
    z = np.where(like.draws > 0, _z(sums, batch["scaled"] - off, batch["floors"], batch["least"], draws), np.nan)
    return combined(z, _rare_z(like.rare, like.of, _rare_sums(history)[2], batch["rare"], batch["of"]))


def combined(z: Floats, rare: Floats) -> Floats:
    """The z of each statistic, or that of its rare count where this is larger; distances only where they grow."""
    z = np.where(ONE_SIDED & (z < 0), 0.0, z)
    own = z[..., _RARE_PLACES]
    z[..., _RARE_PLACES] = np.where(np.nan_to_num(rare) > np.abs(np.nan_to_num(own)), rare * _RARE_SIGNS, own)
    return z


def nearer(z: Floats, other: Floats) -> Floats:
    """Of two comparisons of each statistic the one that is less apart; a NaN is none."""
    return np.where(np.abs(other) < np.abs(z), other, z)


def leave_one_out(history: BatchHistory) -> Floats:
    """The z of each statistic of each batch of history, given the others: (T, …)."""
    others = history.sums.without(history.scaled, history.floors)
    return _z(others, history.scaled, history.floors, history.least)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sums:
    """How many batches have a statistic, their mean, their squared deviations, and these in units of the floors."""

    count: Floats
    mean: Floats
    squares: Floats
    excess: Floats

    def without(self, scaled: Floats, floors: Floats) -> "_Sums":
        """Those that are left without a batch, or without each of some in turn: (…, columns, statistics)."""
        has_value = ~np.isnan(scaled)
        count = self.count - has_value
        with np.errstate(all="ignore"):
            apart = np.where(has_value, scaled - self.mean, 0.0)
            rest = np.maximum(count, 1)
            squares = np.maximum(self.squares - apart**2 * self.count / rest, 0.0)
            excess = np.maximum(self.excess - np.where(has_value, (apart / floors) ** 2, 0.0), 0.0)
        return _Sums(count=count, mean=self.mean - apart / rest, squares=squares, excess=excess)


def _z(sums: _Sums, scaled: Floats, floors: Floats, least: Floats, draws: Floats | float | None = None) -> Floats:
    """(x − m) / √(v (1 + 1/T) + floor²) through Student's t, of more degrees of freedom where the floor prevails.

    ``draws``: of how many batches m is the mean, where it is not of all T.
    """
    with np.errstate(all="ignore"):
        spread = sums.squares / (sums.count - 1) * (1 + 1 / (sums.count if draws is None else draws))
        small = np.minimum(
            1.0, np.sqrt((_FLOOR_WEIGHTS + sums.excess) / (_FLOOR_WEIGHTS + sums.count))
        )  # less spread than sampling would give
        small = np.where(_OPEN, 1.0, small)
        whole = spread + np.maximum(floors * small, least) ** 2
        freedom = (sums.count - 1) * (whole / np.maximum(spread, whole * 1e-6)) ** 2
        t = (scaled - sums.mean) / np.sqrt(whole)
        return np.where(sums.count >= FEWEST, normal_of_t(t, freedom), np.nan)


def normal_of_t(t: Floats, freedom: Floats) -> Floats:
    """The normal z with the tail of Student's t (Wallace, Bounds on Normal Approximations, 1959); never overflows."""
    size = np.sqrt(freedom * np.log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
    return np.sign(t) * np.minimum(size, LARGEST_Z)


def rare_of_one(history: BatchHistory, rare: Floats, of: Floats) -> Floats:
    """The z of each count of a batch, given the counts of its history; NaN where there are none."""
    return _rare_z(*_rare_sums(history), rare, of)


def rare_leave_one_out(history: BatchHistory) -> Floats:
    """The z of each count of each batch of history, given the others: (T, …)."""
    total, rows, spread = _rare_sums(history)
    total, rows = total - np.nan_to_num(history.rare), rows - np.nan_to_num(history.of)
    return _rare_z(total, rows, np.broadcast_to(spread, total.shape), history.rare, history.of)


def _rare_sums(history: BatchHistory) -> tuple[Floats, Floats, Floats]:
    """All that was counted, out of how many, and how many times more the counts spread than chance has them spread."""
    has_count = ~np.isnan(history.rare)
    count = has_count.sum(axis=0)
    rare, of = np.nan_to_num(history.rare), np.nan_to_num(history.of)
    total, rows = rare.sum(axis=0), of.sum(axis=0)
    with np.errstate(all="ignore"):
        expected = of * (total / rows)
        chi2 = np.where(expected > 0, (rare - expected) ** 2 / expected, 0.0).sum(axis=0)
        spread = np.maximum(1.0, chi2 / (count - 1))
    return total, np.where(count >= FEWEST, rows, np.nan), spread


def _rare_z(total: Floats, rows: Floats, spread: Floats, rare: Floats, of: Floats) -> Floats:
    """The upper tail of the Gamma-Poisson distribution, with half of the count's own probability, as a normal z."""
    with np.errstate(all="ignore"):
        share = of / (rows + of)
        at_least = np.where(rare > 0, betainc(np.maximum(rare, 1e-9), total + 0.5, share), 1.0)
        more = betainc(rare + 1, total + 0.5, share)
        tail = 0.5 * (at_least + more)
        z = np.where(tail > 1e-290, -ndtri(tail), np.sqrt(np.maximum(-2 * np.log(share) * rare, 0.0)))
        return np.clip(z / np.sqrt(spread), -LARGEST_Z, LARGEST_Z)


def largest(z: Floats) -> Floats:
    """The largest |z| of each family of each batch: (…, families); 0 where there is none."""
    sizes, family = np.nan_to_num(np.abs(z)), families(z.shape[-2])
    return np.stack([sizes[..., family == at].max(axis=-1, initial=0.0) for at in range(len(BUDGETS))], axis=-1)


def families(columns: int) -> Ints:
    """The family of each statistic of each column, of which the first is the whole batch: (columns, statistics)."""
    return np.where(_RARE, 1, np.where(np.arange(columns)[:, None] == 0, 0, 2))


def thresholds(scores: Floats, z: Floats) -> Floats:
    """Of each family, given what ``largest`` was in history; never less than Bonferroni's bound of normal z's."""
    family = families(len(z))
    counts = [max(1, int((~np.isnan(z[family == at])).sum())) for at in range(len(BUDGETS))]
    learned = [threshold(scores[:, at], counts[at], BUDGETS[at]) for at in range(len(BUDGETS))]
    bounds: Floats = np.maximum(learned, -ndtri(BUDGETS / 2 / np.array(counts)))
    return bounds


def threshold(scores: Floats, statistics: int, false_alarms: float = FALSE_ALARMS) -> float:
    """The score that this share of batches exceeds by chance, given those of its history.

    Log scores are normal with unknown mean and spread (normal-inverse-gamma); before any history the mean is that of
    the largest of so many independent z's. A score far below that one counts as no more than far below: batches that
    are all alike, as of a table that seldom changes, say how quiet it is, and not that anything may happen to it.
    """
    typical = -float(ndtri(0.25 / max(statistics, 1)))  # 0.5 / F, two-sided
    prior = log(PRIOR_FACTOR * typical)
    quiet = prior - QUIETEST * PRIOR_SPREAD
    logs = np.maximum(np.log(np.maximum(scores[np.isfinite(scores)], 1e-6)), quiet)
    count = len(logs)
    own = float(logs.mean()) if count else prior
    weight, shape = PRIOR_WEIGHT + count, 0.5 * (PRIOR_WEIGHT + count)
    mean = (PRIOR_WEIGHT * prior + count * own) / weight
    squares = PRIOR_WEIGHT * PRIOR_SPREAD**2 + float(((logs - own) ** 2).sum())
    squares += PRIOR_WEIGHT * count / weight * (own - prior) ** 2
    scale = sqrt(0.5 * squares * (weight + 1) / (shape * weight))
    return exp(mean + float(stdtrit(2 * shape, 1 - false_alarms)) * scale)
