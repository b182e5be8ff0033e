"""Attribution: the smallest combination of column values that explains why a metric of a day broke, or that none does.

The question is asked once a metric is known to be broken. Whether it is, is for tests, ``anomalies`` and ``novelty``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import gammaln

from execution_engine.metrics.expressions import written

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Days, cut into cells. A cell is one combination of values; only cells are read, never rows.

PAST_DAYS = 14  # of the same kind, that a day is compared with
FEWEST_DAYS = 7  # below it nobody can say what is usual for a slice
TINY = 1e-300


class Measure(StrEnum):
    """What broke, which says what cells hold and what chance does to them."""

    ROWS = "rows"
    SUM = "sum"
    SHARE = "share"  # of rows that are complete, hit, lost, or whatever else can be counted
    MEAN = "mean"


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Days of one table, the oldest first; the last is the day to explain, the others are its past.

    Days should be alike (Mondays to Fridays, Saturdays or Sundays), and none should be known to be bad. ``codes`` is
    (cells, columns), each a place in the ``values`` of its column; all other arrays are (days, cells). ``part`` has the
    rows, the sums, the rows that are hit, or the sums of a mean. ``whole`` has all rows, or the values of a mean; rows
    alone need none. ``squares`` has the sums of squares of a mean. ValueError where shapes do not fit.
    """

    measure: Measure
    columns: Sequence[str]
    values: Sequence[Sequence[Any]]
    codes: Ints
    part: Floats
    whole: Floats | None = None
    squares: Floats | None = None
    columns_left_out: Mapping[str, str] = field(default_factory=dict)  # with the reason

    def __post_init__(self) -> None:
        shapes = {"part": self.part, "whole": self.whole, "squares": self.squares}
        required = {Measure.ROWS: 1, Measure.SUM: 2, Measure.SHARE: 2, Measure.MEAN: 3}[self.measure]
        for name, array in list(shapes.items())[:required]:
            if array is None or array.shape != (len(self.part), len(self.codes)):
                raise ValueError(f"{name} of a {self.measure} must be {len(self.part)} days by {len(self.codes)} cells")
        if self.codes.ndim != 2 or not self.codes.size or self.codes.shape[1] != len(self.columns):
            raise ValueError(f"codes must have a row for each cell and a column for each of {', '.join(self.columns)}")
        for name, array in shapes.items():
            if array is not None and not np.isfinite(array).all():
                raise ValueError(f"{name} has numbers that are not finite: leave NaN and infinities out of the sums")
        if self.measure is Measure.SHARE and self.whole is not None and not _fits(self.part, self.whole):
            raise ValueError("part of a share must be from 0 to whole in each cell: give hits, and all rows")
        if len(self.part) < 2:
            raise ValueError("a day is explained by its past: give one past day at least")


def _fits(part: Floats, whole: Floats) -> bool:
    return bool(((part >= 0) & (part <= whole)).all())


def cells_of(
    measure: Measure, columns: Sequence[str], days: Sequence[pa.Table], left_out: Mapping[str, str] | None = None
) -> Cells:
    """One table of cells a day, the oldest first: ``columns``, and ``part``, ``whole``, ``squares`` as far as needed.

    A cell that a day lacks has nothing on it; rows of the same values are added up. A missing value is a value, None.
    """
    table = pa.concat_tables(days, promote_options="permissive")
    day = np.repeat(np.arange(len(days)), [len(cells) for cells in days])
    values, codes = [], np.zeros((len(table), len(columns)), np.int64)
    for at, name in enumerate(columns):
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        values.append(encoded.dictionary.to_pylist())
        codes[:, at] = encoded.indices.to_numpy(zero_copy_only=False)
    cell = group_codes(codes)
    _, first = np.unique(cell, return_index=True)
    place = day * len(first) + cell

    def grid(name: str) -> Floats | None:
        if name not in table.column_names:
            return None
        weights = table[name].cast(pa.float64()).to_numpy()
        sums: Floats = np.bincount(place, weights, len(days) * len(first)).astype(np.float64)
        return sums.reshape(len(days), len(first))

    part = grid("part")
    if part is None:
        raise ValueError("the cells of a day have no column part: add the rows, sums or hits of each cell")
    return Cells(
        measure=measure,
        columns=columns,
        values=values,
        codes=codes[first],
        part=part,
        whole=grid("whole"),
        squares=grid("squares"),
        columns_left_out=left_out or {},
    )


def group_codes(codes: Ints) -> Ints:
    """For each row of ``codes`` (rows, columns) the number of its combination, from 0 on."""
    groups = np.zeros(len(codes), np.int64)
    for column in codes.T:
        groups = np.unique(groups * (int(column.max()) + 1) + column, return_inverse=True)[1].reshape(-1)
    return groups


# What each cell of each day was to be, by all other days; and what chance does to it.

DECAY = 0.8  # the weight of a day beside that of the day after it: tables change their schedules
OUTLIER = 3 * 1.48  # median deviations from the median, from which a past day teaches nothing
HEAVINESS = 4.0  # degrees of freedom of Student's t: cells have heavier tails than a normal distribution
COUNT_FLOOR = 0.2  # rows² that a cell varies by, and rows that one of a new value was to have
PRIOR_ROWS = 10.0  # that a cell's share is drawn to that of the whole table by
MOST_ROWS = 60.0  # that a cell's past share counts as: shares move from day to day, however many rows there are
NEW_PART = 1e-3  # of a usual cell's sum, that a new value was to have
MOST_FACTOR = 1e9
HIT_SHARE = 0.5  # of the rows of a slice that a fault hits, where the measure does not say it


@dataclass(frozen=True, kw_only=True, eq=False)
class Expectation:
    """All are (days, cells). Each past day is judged by the other past days, today by all of them.

    ``reach``: what a factor moves, the expectation with a little for values that are new. ``spread``: the variance of a
    cell; of a share, the number of rows that it is believed as.
    """

    measure: Measure
    seen: Floats
    expected: Floats
    rows: Floats
    reach: Floats
    spread: Floats

    @property
    def change(self) -> Floats:
        """What there is beyond what was expected."""
        return self.seen - self.expected

    def of(self, days: slice, cells: npt.NDArray[np.bool_]) -> "Expectation":
        """Those days and cells alone."""
        names = ("seen", "expected", "rows", "reach", "spread")
        return replace(self, **{name: getattr(self, name)[days][:, cells] for name in names})


def expectation_of(cells: Cells) -> Expectation:
    """What each cell of each day was to be. Shares are told of the side that is the smaller one in the past."""
    part, whole = cells.part, cells.whole
    if cells.measure in (Measure.ROWS, Measure.SUM) or whole is None:
        return _of_totals(cells.measure, part, part if whole is None else whole, day_weights(part))
    if is_other_side(cells):
        part = whole - part
    weights = day_weights(ratios(part, whole))
    days = 1 / np.square(weights).sum(axis=1, keepdims=True)  # so many days of weight 1 would tell as much
    past_part, past_whole = days * (weights @ part[:-1]), days * (weights @ whole[:-1])
    if cells.measure is Measure.SHARE or cells.squares is None:
        return _of_shares(part, whole, past_part, past_whole)
    return _of_means(part, whole, past_part, past_whole, days * (weights @ cells.squares[:-1]))


def is_other_side(cells: Cells) -> bool:
    """Whether a share is looked at from its other side, which was the smaller one in the past."""
    if cells.measure is not Measure.SHARE or cells.whole is None:
        return False
    return bool(2 * cells.part[:-1].sum() > cells.whole[:-1].sum())


def ratios(part: Floats, whole: Floats) -> Floats:
    """Of each day, as a column."""
    return np.asarray(part.sum(axis=1, keepdims=True) / np.maximum(whole.sum(axis=1, keepdims=True), TINY))


def day_weights(levels: Floats) -> Floats:
    """(days, past days): what each past day tells of each day, by their distance; odd days tell nothing of others."""
    totals, past = levels.sum(axis=1)[:-1], len(levels) - 1
    deviations = np.abs(totals - np.median(totals))
    teaches = deviations <= OUTLIER * np.median(deviations) + 1e-9 * np.abs(totals).max()
    if past < FEWEST_DAYS or 2 * teaches.sum() < past:
        teaches = np.ones(past, np.bool_)
    weights = DECAY ** np.abs(np.arange(past + 1)[:, None] - np.arange(past)[None, :]) * teaches
    if past > 1:
        weights[np.arange(past), np.arange(past)] = 0.0
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), TINY))


def _of_totals(measure: Measure, part: Floats, rows: Floats, weights: Floats) -> Expectation:
    """Cells are calmer or wilder than Poisson by one factor; half of each cell's variance is its own."""
    expected, again = weights @ part[:-1], np.square(weights).sum(axis=1, keepdims=True)
    size = np.abs(expected)
    if len(part) > 3:
        variance = np.maximum(weights @ np.square(part[:-1]) - expected**2, 0) / np.maximum(1 - again, 0.05)
    else:
        variance = size.copy()
    pooled = variance.sum(axis=1, keepdims=True) / np.maximum(size.sum(axis=1, keepdims=True), TINY) * size
    variance = (1 + again) * 0.5 * (variance + pooled)
    if measure is Measure.ROWS:
        new_part, floor = COUNT_FLOOR, COUNT_FLOOR
    else:
        new_part = NEW_PART * expected.mean(axis=1, keepdims=True)
        floor = 1e-6 * pooled.mean(axis=1, keepdims=True) + 1e-12 * np.square(part).max() + TINY
    return Expectation(
        measure=measure,
        seen=part,
        expected=expected,
        rows=expected if measure is Measure.ROWS else weights @ rows[:-1],
        reach=expected + new_part,
        spread=np.maximum(variance, floor),
    )


def _of_shares(part: Floats, rows: Floats, past_part: Floats, past_rows: Floats) -> Expectation:
    level = past_part.sum(axis=1, keepdims=True) / np.maximum(past_rows.sum(axis=1, keepdims=True), TINY)
    share = np.clip((past_part + PRIOR_ROWS * level) / (past_rows + PRIOR_ROWS), 1e-9, 1 - 1e-9)
    trust = np.minimum(past_rows + PRIOR_ROWS, MOST_ROWS)
    return Expectation(
        measure=Measure.SHARE, seen=part, expected=rows * share, rows=rows, reach=rows * share, spread=trust + 0 * rows
    )


def _of_means(part: Floats, rows: Floats, past_part: Floats, past_rows: Floats, squares: Floats) -> Expectation:
    """A cell's mean is drawn to that of all by as much as values vary within cells beside between them."""
    counts, all_rows = np.maximum(past_rows, TINY), np.maximum(past_rows.sum(axis=1, keepdims=True), TINY)
    level = past_part.sum(axis=1, keepdims=True) / all_rows
    freedom = np.maximum(past_rows - 1, 0)
    within = np.maximum(squares - past_part**2 / counts, 0)
    pooled = within.sum(axis=1, keepdims=True) / np.maximum(freedom.sum(axis=1, keepdims=True), 1)
    within = (within + 2 * pooled) / (freedom + 2)
    between = (past_rows * (past_part / counts - level) ** 2).sum(axis=1, keepdims=True) / all_rows
    between -= pooled / np.maximum(past_rows.mean(axis=1, keepdims=True), 1)
    between = np.maximum(between, 1e-6 * level**2 + TINY)
    prior = within / between
    mean = (past_part + prior * level) / np.maximum(past_rows + prior, TINY)
    mean = np.where(past_rows > 0, mean, level)
    of_mean = np.where(past_rows > 0, within / np.maximum(past_rows + prior, TINY), between)
    variance = (
        rows * within + rows**2 * (of_mean + 1e-8 * level**2) + 1e-9 * level**2 + 1e-12 * np.square(part).max() + TINY
    )
    return Expectation(
        measure=Measure.MEAN, seen=part, expected=rows * mean, rows=rows, reach=rows * mean, spread=variance
    )


# How much likelier a slice's cells are once one factor moved all of them. Rows are hit or spared at random.


def log_t(change: Floats, variance: Floats) -> Floats:
    """Student's log density, but for what is the same at all places."""
    return -0.5 * np.log(variance) - 0.5 * (HEAVINESS + 1) * np.log1p(change**2 / (HEAVINESS * variance))


def log_beta_binomial(hits: Floats, rows: Floats, share: Floats, trust: Floats) -> Floats:
    """The log probability of so many hits, but for what does not depend on the share."""
    yes, no = share * trust, (1 - share) * trust
    ways = gammaln(hits + yes) + gammaln(rows - hits + no) - gammaln(rows + trust)
    return np.asarray(ways - gammaln(yes) - gammaln(no) + gammaln(trust))


def shares(now: Expectation) -> Floats:
    """(days, cells): those that were expected; cells without rows tell nothing, whatever theirs are."""
    return np.asarray(np.where(now.rows > 0, now.expected / np.maximum(now.rows, TINY), 0.5))


def log_chance(now: Expectation) -> Floats:
    """(days, cells): how likely each cell is where nothing moved."""
    if now.measure is Measure.SHARE:
        return log_beta_binomial(now.seen, now.rows, shares(now), now.spread)
    return log_t(now.change, now.spread)


def log_fault(now: Expectation, factor: Floats) -> Floats:
    """(days, cells): how likely each cell is where a fault moved it by a factor, one for each cell or all of a day.

    A factor of -0.5 takes half of what there was, 1 doubles it. A share that rises does so in rows that were not hit.
    """
    if now.measure is Measure.SHARE:
        share = shares(now)
        share = np.where(factor >= 0, share + factor * (1 - share), share * (1 + factor))
        return log_beta_binomial(now.seen, now.rows, np.clip(share, 1e-9, 1 - 1e-9), now.spread)
    if now.measure is Measure.ROWS:
        hit = np.minimum(np.abs(factor), 1)
        return log_t(now.change - factor * now.reach, now.spread + now.reach * hit * (1 - hit))
    move, miss = factor * now.reach, np.clip((1 - HIT_SHARE) ** now.rows, TINY, 1 - 1e-12)
    hit = log_t(now.change - move, now.spread * (1 + np.minimum(factor**2, 100)) + move**2 / np.maximum(now.rows, 1))
    return np.asarray(np.logaddexp(np.log(miss) + log_chance(now), np.log1p(-miss) + hit))


def factors(now: Expectation, change: Floats, reach: Floats, rows: Floats) -> Floats:
    """What one factor moved sums of cells by."""
    if now.measure is Measure.SHARE:
        reach = np.where(change >= 0, rows - reach, reach)
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(change / np.where(np.abs(reach) < TINY, TINY, reach), -MOST_FACTOR, MOST_FACTOR))


def gains(now: Expectation) -> Floats:
    """(days): the log likelihood ratio of one factor for all cells of a day."""
    factor = factors(now, *(cells.sum(axis=1, keepdims=True) for cells in (now.change, now.reach, now.rows)))
    return np.asarray((log_fault(now, factor) - log_chance(now)).sum(axis=1))


# The search: all slices of up to three columns at once, the likeliest one, and whether it is worth a word.

MOST_COLUMNS = 3  # that a slice is named by
COLUMN_PRICE = 2.0  # nats that each column of a name must bring
SPEAKS_FROM = 4.0  # nats of a slice beyond all slices of its columns, and beyond its own unrest
LEAST_SHARE = 0.65  # of the change that the first slice explains, beside what the rest moves by on other days
UNREST = 0.7  # the quantile of a slice's past gains that says how calm it is; so one storm in two weeks is no matter
CHANCE = 1.07  # that quantile of twice the gain where all is chance: of chi-square with one degree of freedom
LEAST_SCORE = 0.1  # of the first slice's score that a further one has
MOST_SLICES = 3
LEAST_MOVE = 1e-9  # of what cells moved by, below which the whole stayed where it was, but for floating point
SAME_ROWS = 0.9  # of the rows that either of two slices has: both are the same rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A slice in the search: its columns by their places, its cells, and what its name costs."""

    columns: tuple[int, ...]
    cells: npt.NDArray[np.bool_]
    gain: float
    price: float

    @property
    def score(self) -> float:
        """In nats."""
        return self.gain - self.price


Groups = Mapping[tuple[int, ...], Ints]


def groups_of(codes: Ints) -> Groups:
    """The slices of each set of up to three columns: for each cell the number of its slice."""
    columns = range(codes.shape[1])
    sets = [names for count in range(1, MOST_COLUMNS + 1) for names in combinations(columns, count)]
    return {names: group_codes(codes[:, names]) for names in sets}


def likeliest_slice(
    now: Expectation, groups: Groups, scope: npt.NDArray[np.bool_], directions: Sequence[float]
) -> Candidate:
    """The best slice of today's cells in scope, of those that rose (1) or fell (-1). ``now`` has one day."""
    weight, chance = scope.astype(np.float64), log_chance(now)[0]
    best: tuple[float, tuple[int, ...], int, float, float] | None = None
    for columns, group in groups.items():
        change, reach, rows, present = (
            np.bincount(group, cells * weight).astype(np.float64)
            for cells in (now.change[0], now.reach[0], now.rows[0], 1.0)
        )
        factor = factors(now, change, reach, rows)
        gain = np.bincount(group, (log_fault(now, factor[group])[0] - chance) * weight)
        gain = np.where(np.isin(np.sign(change), directions), gain, -np.inf)
        price = float(np.log((present > 0).sum())) + COLUMN_PRICE * len(columns)
        at = int(gain.argmax())
        if best is None or gain[at] - price > best[0]:
            best = (float(gain[at]) - price, columns, at, float(gain[at]), price)
    assert best is not None  # there is a column
    _, columns, at, gain_, price = best
    return Candidate(columns=columns, cells=(groups[columns] == at) & scope, gain=gain_, price=price)


def calm_score(all_days: Expectation, slice_: Candidate) -> float:
    """The slice's score, had its cells varied as much as they did on its past days: in nats."""
    past = all_days.of(slice(0, -1), slice_.cells)
    unrest = max(1.0, float(np.quantile(2 * np.maximum(gains(past), 0), UNREST)) / CHANCE)
    if all_days.measure is Measure.SHARE:
        return slice_.gain / unrest - slice_.price
    today = all_days.of(slice(-1, None), slice_.cells)
    return float(gains(replace(today, spread=today.spread * unrest))[0]) - slice_.price


# What is said of it.


class Reason(StrEnum):
    """Why no slice explains a change."""

    FEW_DAYS = "few days"
    NO_CHANGE = "no change"
    EVEN = "all moved alike"
    SCATTERED = "the best slice holds too little of the change"
    USUAL = "the best slice moved no more than it usually does"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Rows with these values. ``expected`` and ``seen`` are rows, sums, hits, or of a mean the means.

    ``share_of_change`` is above 1 where others moved back, None where the whole did not move. ``line`` and
    ``rest_line``: the slice and all else on each day, the oldest first. ``same_rows``: names of other columns that
    nearly the same rows have.
    """

    values: Mapping[str, Any]
    expected: float
    seen: float
    share_of_rows: float
    share_of_change: float | None
    is_new: bool
    line: tuple[float, ...]
    rest_line: tuple[float, ...]
    same_rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def factor(self) -> float | None:
        """What was seen for each that was expected; None of what is new."""
        return None if self.is_new or not self.expected else self.seen / self.expected

    @property
    def name(self) -> str:
        """Such as "origin = 'EWR' and carrier = 'UA'"."""
        return name_of(self.values)

    @property
    def where(self) -> str:
        """A condition of Spark SQL that finds the rows."""
        return " AND ".join(f"{written(column)} {_equals(value)}" for column, value in self.values.items())


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The slices that explain a change, the first one first; or none, with the reason.

    ``mix``: rows came or went, and no share or mean moved within cells; then all figures are rows.
    ``expected`` and ``seen`` are of the whole; ``best_share`` is what the best slice holds of a scattered change.
    """

    measure: Measure
    slices: tuple[Slice, ...]
    columns_searched: tuple[str, ...]
    columns_left_out: Mapping[str, str]
    expected: float
    seen: float
    past_days: int
    is_rest_calm: bool = True
    is_mix: bool = False
    reason: Reason | None = None
    best_share: float = 0.0

    @property
    def sentence(self) -> str:
        """In plain English, with its full stops."""
        return " ".join(_sentences(self))

    @property
    def scope(self) -> str:
        """Which columns were searched, and which not."""
        text = f"Columns searched: {', '.join(self.columns_searched)}."
        left_out = ", ".join(f"{name} ({why})" for name, why in self.columns_left_out.items())
        return f"{text} Not searched: {left_out}." if left_out else text


def explain(cells: Cells, *, gates: bool = True, most: int = MOST_SLICES) -> Explanation:
    """What explains the change of the last day.

    Without ``gates`` the best slice is named whatever it is: for data without a past, where it is known that there is a
    slice. ``most``: the number of slices that are named at most.
    """
    all_days = expectation_of(cells)
    if gates and len(cells.part) <= FEWEST_DAYS:
        return _explanation(cells, all_days, [], reason=Reason.FEW_DAYS)
    groups, scope = groups_of(cells.codes), np.ones(len(cells.codes), np.bool_)
    today = all_days.of(slice(-1, None), scope)
    candidates: list[Candidate] = []
    reason, share = Reason.NO_CHANGE, 0.0
    while len(candidates) < most and scope.any() and today.change[0][scope].any():
        whole = (float(np.sign(today.change[0][scope].sum())),)
        best = likeliest_slice(today, groups, scope, _directions(all_days, scope) if gates else whole)
        if candidates and best.score < max(LEAST_SCORE * candidates[0].score, TINY):
            break
        share = change_share(all_days, best, scope)
        objection = _objection(all_days, best, scope, share) if gates else None
        if objection:
            reason = objection
            break
        candidates.append(best)
        scope = scope & ~best.cells
    if candidates:
        return _explanation(cells, all_days, candidates, groups=groups)
    if gates and cells.whole is not None and mix_moved(cells, all_days):
        rows = replace(cells, measure=Measure.ROWS, part=cells.whole, whole=None, squares=None)
        return replace(explain(rows, most=most), is_mix=True, measure=cells.measure)
    return _explanation(cells, all_days, [], reason=reason, best_share=share)


def _directions(all_days: Expectation, scope: npt.NDArray[np.bool_]) -> Sequence[float]:
    """That of the whole; both where the whole is where it usually is."""
    changes = all_days.change[:, scope].sum(axis=1)
    return (1.0, -1.0) if abs(changes[-1]) < 2 * usual_change(changes[:-1]) else (float(np.sign(changes[-1])),)


def change_share(all_days: Expectation, best: Candidate, scope: npt.NDArray[np.bool_]) -> float:
    """The slice's share of the change, once what the rest usually moves by is taken from the rest."""
    change, changes = all_days.change[-1][best.cells].sum(), all_days.change[:, scope & ~best.cells].sum(axis=1)
    rest = np.sign(changes[-1]) * max(abs(changes[-1]) - usual_change(changes[:-1]), 0)
    if rest * change < 0:
        return float(abs(rest) < abs(change))
    return float(change / (change + rest)) if change + rest else 0.0


def _objection(all_days: Expectation, best: Candidate, scope: npt.NDArray[np.bool_], share: float) -> Reason | None:
    """Why the slice does not explain the change of the cells in scope."""
    if best.score <= gains(all_days.of(slice(-1, None), scope))[0]:
        return Reason.EVEN
    if share < LEAST_SHARE and scope.all():
        return Reason.SCATTERED
    return Reason.USUAL if calm_score(all_days, best) < SPEAKS_FROM else None


def usual_change(changes: Floats) -> float:
    """The standard deviation of past changes, by their quartiles: odd days do not count."""
    return float(np.quantile(np.abs(changes), 0.75)) / 1.15


def mix_moved(cells: Cells, all_days: Expectation) -> bool:
    """Whether the share or mean of the whole left its usual range, more by which rows there are than within cells."""
    if cells.whole is None or cells.measure is Measure.SUM:
        return False
    ratio = ratios(cells.part, cells.whole)
    moves = (ratio - day_weights(ratio) @ ratio[:-1])[:, 0]
    within = abs(all_days.change[-1].sum()) / max(all_days.rows[-1].sum(), TINY)
    return bool(abs(moves[-1]) > 3 * usual_change(moves[:-1]) and within < abs(moves[-1]) / 2)


def _explanation(
    cells: Cells, all_days: Expectation, candidates: Sequence[Candidate], groups: Groups | None = None, **fields: Any
) -> Explanation:
    """The candidates with their figures, in the caller's terms."""
    everything = np.ones(len(cells.codes), np.bool_)
    rest = everything.copy()
    for candidate in candidates:
        rest &= ~candidate.cells
    changes = all_days.change[:, rest].sum(axis=1)
    seen, expected = _figures(cells, all_days, everything)
    return Explanation(
        measure=cells.measure,
        slices=tuple(_slice(cells, all_days, candidate, groups or {}) for candidate in candidates),
        columns_searched=tuple(cells.columns),
        columns_left_out=cells.columns_left_out,
        expected=expected,
        seen=seen[-1],
        past_days=len(cells.part) - 1,
        is_rest_calm=len(changes) <= FEWEST_DAYS
        or abs(changes[-1]) <= max(2 * usual_change(changes[:-1]), 0.05 * abs(all_days.change[-1].sum())),
        **fields,
    )


def _slice(cells: Cells, all_days: Expectation, candidate: Candidate, groups: Groups) -> Slice:
    inside, change = candidate.cells, all_days.change[-1]
    rows = all_days.rows[-1]
    past = cells.part[:-1] if cells.whole is None else cells.whole[:-1]
    seen, expected = _figures(cells, all_days, inside)
    has_moved = abs(change.sum()) > LEAST_MOVE * np.abs(change).sum()
    return Slice(
        values=_values(cells, candidate.columns, int(np.flatnonzero(inside)[0])),
        expected=expected,
        seen=seen[-1],
        share_of_rows=float(rows[inside].sum() / max(rows.sum(), TINY)),
        share_of_change=float(change[inside].sum() / change.sum()) if has_moved else None,
        is_new=not past[:, inside].any(),
        line=seen,
        rest_line=_figures(cells, all_days, ~inside)[0],
        same_rows=tuple(_same_rows(cells, all_days, candidate, groups)),
    )


def _figures(cells: Cells, all_days: Expectation, inside: npt.NDArray[np.bool_]) -> tuple[tuple[float, ...], float]:
    """What was seen on each day, and what was expected today."""
    seen = cells.part[:, inside].sum(axis=1)
    expected = float(all_days.expected[-1][inside].sum())
    if is_other_side(cells):
        expected = float(all_days.rows[-1][inside].sum()) - expected
    if cells.measure is Measure.MEAN:
        rows = np.maximum(all_days.rows[:, inside].sum(axis=1), TINY)
        seen, expected = seen / rows, expected / float(rows[-1])
    return tuple(seen.tolist()), expected


def _values(cells: Cells, columns: Sequence[int], cell: int) -> dict[str, Any]:
    return {cells.columns[at]: cells.values[at][cells.codes[cell, at]] for at in columns}


def _same_rows(
    cells: Cells, all_days: Expectation, candidate: Candidate, groups: Groups
) -> Iterator[Mapping[str, Any]]:
    """Names of no more columns, none of them the candidate's, that nearly the same rows have."""
    rows = all_days.rows[-1] + np.abs(all_days.seen[-1] if cells.measure is Measure.ROWS else 0)
    cell = int(np.flatnonzero(candidate.cells)[np.argmax(rows[candidate.cells])])
    for columns, group in groups.items():
        if len(columns) <= len(candidate.columns) and not set(columns) & set(candidate.columns):
            others = group == group[cell]
            if rows[others & candidate.cells].sum() >= SAME_ROWS * rows[others | candidate.cells].sum():
                yield _values(cells, columns, cell)


def _sentences(explanation: Explanation) -> Iterator[str]:
    if explanation.is_mix:
        yield "The mix of rows moved, not what is in them."
    if not explanation.slices:
        yield _why_none(explanation)
        return
    for slice_ in explanation.slices:
        yield _slice_sentence(slice_, explanation)
    if any(map(_is_beyond, explanation.slices)):
        yield "Other rows moved back, no more than usual." if explanation.is_rest_calm else "Other rows moved back."
    else:
        yield "Nothing else moved." if explanation.is_rest_calm else "The rest moved too."


def _is_beyond(slice_: Slice) -> bool:
    return slice_.share_of_change is None or slice_.share_of_change > 1.05


def _slice_sentence(slice_: Slice, explanation: Explanation) -> str:
    rows, share = _percent(slice_.share_of_rows), slice_.share_of_change
    if share is None:
        change = "though the whole did not move"
    elif share < 0:
        change = "against the whole change"
    else:
        change = "more than the whole change" if _is_beyond(slice_) else f"{_percent(share)} of the change"
    expected, seen = _number(slice_.expected, explanation), _number(slice_.seen, explanation)
    if slice_.is_new:
        text = f"{slice_.name}: never seen before, {change} ({seen} seen)."
    else:
        factor = f", × {_digits(slice_.factor, 3)}" if slice_.factor and abs(slice_.expected) >= 0.5 else ""
        text = f"{slice_.name}: {rows} of the rows, {change} ({expected} expected, {seen} seen{factor})."
    if slice_.same_rows:
        text += f" The same rows: {'; '.join(map(name_of, slice_.same_rows))}."
    return text


def _why_none(explanation: Explanation) -> str:
    match explanation.reason:
        case Reason.FEW_DAYS:
            return f"No slice is searched for: {explanation.past_days} past days are fewer than {FEWEST_DAYS}."
        case Reason.NO_CHANGE:
            return "No slice explains it: nothing moved."
        case Reason.EVEN:
            columns = ", ".join(explanation.columns_searched)
            ratio = explanation.seen / explanation.expected if explanation.expected else 1.0
            return f"No slice explains it: {columns} moved alike (× {_digits(ratio, 3)})."
        case Reason.SCATTERED:
            return f"No slice explains it: the best one holds {_percent(explanation.best_share)} of the change."
    return "No slice explains it: the best one moved no more than it usually does."


def name_of(values: Mapping[str, Any]) -> str:
    """Such as "origin = 'EWR' and carrier is missing"."""
    parts = (
        f"{column} is missing" if value is None else f"{column} = {value if _is_number(value) else repr(str(value))}"
        for column, value in values.items()
    )
    return " and ".join(parts)


def _equals(value: Any) -> str:
    if value is None:
        return "IS NULL"
    return f"= {value}" if _is_number(value) else "= '" + str(value).replace("'", "''") + "'"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _number(value: float, explanation: Explanation) -> str:
    is_mean = explanation.measure is Measure.MEAN and not explanation.is_mix
    return _digits(value, 4) if is_mean else _digits(value, 2)


def _digits(value: float, digits: int) -> str:
    """In so many digits, and all those before the point: no large number is written in powers of ten."""
    return f"{value:,.0f}" if not value or abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
