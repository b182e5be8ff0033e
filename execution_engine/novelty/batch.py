"""What is kept of a batch: the statistics of each of its columns, beside the pools of the columns' accepted past.

Statistics are on scales where their spread is even. A share p is arcsin √p, whose sampling noise is ½ / √n: its floor.
Lengths and counts are log(1 + x).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import asinh, log, log1p, nan, sqrt

import numpy as np
import numpy.typing as npt

from execution_engine.drift import jensen_shannon, smoothed, stability_index
from execution_engine.profiles.profile import ColumnProfile, TableProfile, ValueKind
from execution_engine.profiles.texts import CLASSES, END, GROUPS, Texts
from execution_engine.profiles.values import DistinctSample, Floats, Ints, Numbers, ValueCounts, merged_values

from .days import Day
from .statistics import PLACE, RARE, STATISTICS, WHOLE_BATCH

# The accepted past of one column, pooled: what batches are compared with, without a look at old rows.

LAST_NUMBERS = 60  # batches whose quantiles are averaged
MOST_VALUES, MOST_SHAPES = 8192, 1024
SHARES: Floats = np.unique(np.concatenate([np.linspace(0, 1, 33), [0.01, 0.99]]))  # of the quantiles
ENDS = {"low": (0.005, 0.02), "high": (0.98, 0.995)}  # the ranks about the 1 % quantile at either end


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledNumbers:
    """Of the last batches a row of quantiles each, and of mean, deviation and ends; the extremes are of all."""

    quantiles: Floats = field(default_factory=lambda: np.empty((0, len(SHARES))))
    moments: Floats = field(default_factory=lambda: np.empty((0, 4)))
    lowest: float = np.inf
    highest: float = -np.inf

    def joined(self, numbers: Numbers) -> "PooledNumbers":
        """With the numbers of one more batch."""
        if not numbers.finite:
            return self
        ends = [numbers.points.mean_between(*ranks) for ranks in ENDS.values()]
        moments = [[numbers.mean, numbers.deviation, *ends]]
        return PooledNumbers(
            quantiles=np.vstack([self.quantiles, numbers.points.quantiles(SHARES)])[-LAST_NUMBERS:],
            moments=np.vstack([self.moments, moments])[-LAST_NUMBERS:],
            lowest=min(self.lowest, numbers.low),
            highest=max(self.highest, numbers.high),
        )

    @property
    def mean(self) -> float:
        """Of the batches, each with the same weight."""
        return float(self.moments[:, 0].mean())

    @property
    def deviation(self) -> float:
        """Of a number from that mean: within batches and between them; never 0, as it is a unit."""
        unit = float(np.abs(self.moments[:, :2]).max()) or 1.0
        means, deviations = (self.moments[:, :2] / unit).T
        return max(float(np.sqrt(np.mean(deviations**2) + means.var())), 1e-6) * unit


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """Of all batches in which the column was of this kind."""

    kind: ValueKind
    values: ValueCounts = field(default_factory=ValueCounts)
    shapes: ValueCounts = field(default_factory=ValueCounts)
    pairs: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(CLASSES * CLASSES, np.int64))
    numbers: PooledNumbers = field(default_factory=PooledNumbers)

    def joined(self, column: ColumnProfile) -> "Pool":
        """With the column of one more batch; one of another kind begins anew, one without any value adds nothing."""
        if column.kind is ValueKind.NOTHING or not column.present:
            return self
        pool = self if column.kind is self.kind else Pool(kind=column.kind)
        pool = replace(pool, values=_pooled(pool.values, column.values, MOST_VALUES))
        if column.texts is not None:
            shapes = _pooled(pool.shapes, column.texts.shapes, MOST_SHAPES)
            pool = replace(pool, shapes=shapes, pairs=pool.pairs + column.texts.pairs)
        return pool if column.numbers is None else replace(pool, numbers=pool.numbers.joined(column.numbers))


def _pooled(pool: ValueCounts, batch: ValueCounts, cap: int) -> ValueCounts:
    return merged_values([pool, batch.capped(len(batch.keys), 0)], cap)


# How far counts and numbers of a batch are from a pooled past.


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
    edges: Floats = np.unique(np.interp(np.arange(1, 10) / 10, SHARES, past.quantiles.mean(axis=0)))
    return edges


def stability(numbers: Numbers, past: PooledNumbers) -> float:
    """√ of the population stability index over the deciles of the past, each share smoothed by half a row.

    Both distributions are lines through the same quantiles: where numbers are often the same, as counts are, an edge
    moves a little with each batch, and the share up to a step would jump with it.
    """
    shares = []
    for quantiles in (numbers.points.quantiles(SHARES), past.quantiles.mean(axis=0)):
        last = np.append(quantiles[1:] > quantiles[:-1], True)  # of quantiles that are equal
        up_to = np.interp(edges_of(past), quantiles[last], SHARES[last], left=0.0)
        shares.append(smoothed(np.diff(up_to, prepend=0.0, append=1.0), numbers.finite))
    return float(np.sqrt(stability_index(*shares)))


_RARE_PLACE = {name: place for place, name in enumerate(RARE)}
_OF_ENDS = 3.7  # standard errors of the mean are one of the 1 % quantile, of normal numbers
_OF_LENGTHS = {"length_low": (0.0, 0.1), "length_median": (0.4, 0.6), "length_high": (0.9, 1.0)}
MEASURED = ("scaled", "floors", "least", "shown", "rare", "of")  # the arrays of ``ColumnStatistics``
OF_PAPER = "features"  # those of the paper


class ColumnStatistics:
    """Each statistic of one column (NaN: it has none): on its scale, its floor, and as people read it.

    ``rare`` and ``of``: how many rows have what each of ``RARE`` counts, and out of how many.
    """

    def __init__(self) -> None:
        self.scaled, self.floors, self.shown = (np.full(len(STATISTICS), nan) for _ in range(3))
        self.least = np.zeros(len(STATISTICS))
        self.rare, self.of = np.full(len(RARE), nan), np.full(len(RARE), nan)

    def put(self, name: str, scaled: float, floor: float, display_value: float, least: float = 0.0) -> None:
        """One statistic; a value beyond all numbers is none."""
        place = PLACE[name]
        if np.isfinite(scaled):
            self.scaled[place], self.floors[place], self.shown[place] = scaled, floor, display_value
            self.least[place] = least if STATISTICS[name].by_rows else 0.0

    def put_share(self, name: str, count: float, of: float) -> None:
        """A share of rows; one row more or less is no news, so a third of what it changes is the least of its noise."""
        share = min(1.0, max(0.0, count / of))
        inner = share * (1 - share)
        least = min(1 / sqrt(of), 0.5 / (of * sqrt(inner)) if inner > 0 else 1.0) / 3
        self.put(name, float(np.arcsin(sqrt(share))), 0.5 / sqrt(of), share, least)
        if name in _RARE_PLACE:
            rare = count if STATISTICS[name].rare_sign > 0 else of - count
            self.rare[_RARE_PLACE[name]], self.of[_RARE_PLACE[name]] = rare, of


def row_statistics(profile: TableProfile, before: DistinctSample) -> ColumnStatistics:
    """What is known of a whole batch; ``before``: the keys of the rows of the one before it."""
    row, rows = ColumnStatistics(), profile.rows
    row.put("rows", log1p(profile.all_rows), 1 / sqrt(max(profile.all_rows, 1)), profile.all_rows)
    if rows:
        row.put_share("repeated", rows - profile.distinct, rows)
    shared, of = profile.sample.shared_with(before) if len(before.keys) else (0, 0)
    if of:
        row.put_share("stale", shared, of)
    return row


def column_statistics(column: ColumnProfile, pool: Pool | None) -> ColumnStatistics:
    """The statistics of a column; without a past of its kind, those that need none."""
    row = ColumnStatistics()
    if column.rows:
        row.put_share("complete", column.present, column.rows)
    if not column.present:
        return row
    comparable_pool = pool if pool is not None and pool.kind is column.kind and pool.values.rows else None
    values, rows = column.values, column.present
    if values.rows:
        row.put_share("most_frequent", values.most, rows)
        row.put_share("distinct", column.distinct, rows)
        row.put_share("unique", column.single, rows)
    if values.rows and comparable_pool is not None:
        past = comparable_pool.values
        before = matched(values, past)
        distance = of_values(values, past, before)
        row.put("values_distance", distance, 0.5 / sqrt(rows), distance)
        row.put_share("values_new", float(values.counts[before == 0].sum()), rows)
        if not values.cut:
            gone = float(past.counts.sum() - before.sum()) / past.rows
            row.put_share("values_gone", gone * rows, rows)
    if column.numbers is not None:
        _put_numbers(row, column.numbers, comparable_pool)
    if column.texts is not None:
        _put_texts(row, column.texts, column.present, comparable_pool)
    return row


def _put_numbers(row: ColumnStatistics, numbers: Numbers, pool: Pool | None) -> None:
    row.put_share("nan", numbers.nans, numbers.rows)
    row.put_share("infinite", numbers.infinities, numbers.rows)
    if not numbers.finite:
        return
    row.put_share("zero", numbers.zeros, numbers.finite)
    row.put_share("negative", numbers.negatives, numbers.finite)
    row.put_share("broken", numbers.finite - numbers.wholes, numbers.finite)
    if pool is None or not len(pool.numbers.moments):
        return
    past, floor = pool.numbers, 1 / sqrt(numbers.finite)
    unit = past.deviation
    row.put("mean", asinh((numbers.mean - past.mean) / unit), floor, numbers.mean)
    row.put("deviation", log(max(numbers.deviation / unit, 1e-9)), floor, numbers.deviation)
    quantiles, pooled = numbers.points.quantiles(SHARES), past.quantiles.mean(axis=0)
    for name, end in (("low", past.moments[:, 2]), ("high", past.moments[:, 3])):
        number = numbers.points.mean_between(*ENDS[name])
        row.put(name, asinh((number - end.mean()) / unit), _OF_ENDS * floor, number)
    row.put_share("below", below(numbers, past.lowest), numbers.finite)
    row.put_share("above", above(numbers, past.highest), numbers.finite)
    index = stability(numbers, past)
    row.put("stability", index, floor, index**2)
    apart = float(np.abs(quantiles - pooled).mean()) / unit
    row.put("quantiles", asinh(apart), 0.5 * floor, apart * unit)


def below(numbers: Numbers, bound: float) -> float:
    """How many rows have a number below the bound."""
    share = numbers.points.share_up_to(np.array([bound]), included=False)[0]
    return round(float(share) * numbers.finite)


def above(numbers: Numbers, bound: float) -> float:
    """How many rows have a number above the bound."""
    return numbers.finite - round(float(numbers.points.share_up_to(np.array([bound]))[0]) * numbers.finite)


def _put_texts(row: ColumnStatistics, texts: Texts, rows: int, pool: Pool | None) -> None:
    lengths, floor = texts.lengths, 0.5 / sqrt(rows)
    of_lengths = {"length_mean": lengths.mean, "length_deviation": lengths.deviation}
    of_lengths |= {name: lengths.points.mean_between(*ranks) for name, ranks in _OF_LENGTHS.items()}
    for name, length in of_lengths.items():
        row.put(name, log1p(length), floor, length)
    row.put("shapes", log1p(len(texts.shapes.keys)), floor, len(texts.shapes.keys))
    letters = texts.pairs.reshape(CLASSES, CLASSES).sum(axis=1)
    letters[END] = 0
    if total := float(letters.sum()):
        for name, classes in GROUPS.items():
            share = min(1.0, float(letters[classes.start : classes.stop].sum()) / total)
            row.put(name, float(np.arcsin(sqrt(share))), floor, share)
    if pool is None:
        return
    before = matched(texts.shapes, pool.shapes)
    distance = of_values(texts.shapes, pool.shapes, before)
    row.put("shapes_distance", distance, floor, distance)
    row.put_share("shapes_new", float(texts.shapes.counts[before == 0].sum()), rows)
    pairs, past = texts.pairs, pool.pairs
    distance = jensen_shannon(pairs / pairs.sum(), past / past.sum())
    row.put("pairs_distance", distance, floor, distance)
    share = float(pairs[past == 0].sum() / pairs.sum())
    row.put("pairs_new", float(np.arcsin(sqrt(share))), floor, share)
    nats = surprise(pairs, past)
    row.put("pairs_surprise", nats, floor, nats)


# Columns whose gaps go together, as those of flights that never left: then a gap in one of them alone is news.
#
# A share of missing values that is often large says little by itself; beside that of a companion it says much.

WORTH = 0.5  # of the variance of a column's gaps that may be left beside its companion
_COMPLETE, _BESIDE = PLACE["complete"], PLACE["beside"]


def companions(scaled: Floats) -> Ints:
    """For each column the place of the one that leaves the least variance to its complete values; -1: none does.

    ``scaled``: (batches, columns, statistics).
    """
    complete = scaled[:, :, _COMPLETE]
    with np.errstate(all="ignore"):
        gappy = np.flatnonzero(np.fmax.reduce(complete) > np.fmin.reduce(complete))
        places = np.full(complete.shape[1], -1)
        for at in gappy.tolist():
            left = (complete[:, [at]] - complete[:, gappy]).var(axis=0)
            left = np.where((gappy == at) | np.isnan(left), np.inf, left)
            best = int(np.argmin(left))
            if left[best] < WORTH * np.nanvar(complete[:, at]):
                places[at] = gappy[best]
    return places


def put_beside(arrays: dict[str, Floats], of: Ints) -> None:
    """Writes what complete values are beside those of companions into arrays (…, columns, statistics)."""
    at = np.flatnonzero(of >= 0)
    for part in ("scaled", "shown"):
        own = arrays[part][..., _COMPLETE]
        arrays[part][..., at, _BESIDE] = own[..., at] - own[..., of[at]]
    floors = arrays["floors"][..., at, _COMPLETE]
    arrays["floors"][..., at, _BESIDE] = floors * np.sqrt(2)
    arrays["least"][..., at, _BESIDE] = floors * 2 / 3  # of one row where hardly any value is missing


# The statistics of the paper's method (Redyuk et al., Automating Data Quality Validation, 2021), by column.

FEATURES = (
    "share of complete values",
    "distinct values",
    "share of the most frequent value",
    "lowest number",
    "mean",
    "highest number",
    "standard deviation",
    "index of peculiarity",
)


def features_of(column: ColumnProfile) -> Floats:
    """Of one column, in the order of FEATURES; NaN: it has none."""
    numbers, texts = column.numbers, column.texts
    of_numbers = (nan,) * 4
    if numbers is not None and numbers.finite:
        of_numbers = (numbers.low, numbers.mean, numbers.high, numbers.deviation)
    complete, most = (count / column.rows if column.rows else nan for count in (column.present, column.values.most))
    return np.array([complete, column.distinct, most, *of_numbers, nan if texts is None else texts.peculiarity])


_SEVEN_DIGITS = np.uint64(0xFFFF_FFFF_E000_0000)  # of a double: sign, exponent and 23 of 52 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Names with the whole batch first, the kind of each column, and arrays (names, …) of ``MEASURED`` and OF_PAPER.

    ``released``: it was novel, and a person said that it is right, or it is ``unanswered``: nobody said anything.
    ``day``: where it holds one local day.
    """

    names: tuple[str, ...]
    kinds: Mapping[str, ValueKind]
    arrays: Mapping[str, Floats]
    released: bool = False
    day: Day | None = None
    unanswered: bool = False

    def aligned(self, part: str, names: Sequence[str]) -> Floats:
        """An array in the order of other names; NaN where this batch has none of a name."""
        array, places = self.arrays[part], {name: place for place, name in enumerate(self.names)}
        at = np.array([places.get(name, -1) for name in names], np.int64)
        return np.where((at >= 0)[:, None], array[at], np.nan)


def batch_of(profile: TableProfile, pools: Mapping[str, Pool], before: DistinctSample) -> Batch:
    """The statistics of a batch beside the pools of what came before it, and the keys of the last rows of that.

    To seven digits: far finer than the noise of any statistic, and half as many bytes to keep for a year. Rounded here,
    and not where bytes are written, so that a past judges alike before and after.
    """
    with np.errstate(all="ignore"):
        rows = [column_statistics(column, pools.get(name)) for name, column in profile.columns.items()]
        features = [np.full(len(FEATURES), nan), *map(features_of, profile.columns.values())]
    rows = [row_statistics(profile, before), *rows]
    arrays = {part: np.array([getattr(row, part) for row in rows]) for part in MEASURED}
    rounded = {part: (array.view(np.uint64) & _SEVEN_DIGITS).view(np.float64) for part, array in arrays.items()}
    return Batch(
        names=(WHOLE_BATCH, *profile.columns),
        kinds={name: column.kind for name, column in profile.columns.items()},
        arrays={**rounded, OF_PAPER: np.array(features)},
    )
