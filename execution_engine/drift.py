"""Drift: how far the values of a column are from those of a reference, by four measures of two distributions.

Whether a batch is unlike its accepted past is for ``novelty``, which asks these measures.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import chdtri

from execution_engine.profiles.lints import SECRETS, lints_of
from execution_engine.profiles.numbers import Numbers, Points
from execution_engine.profiles.profile import ColumnKind, ColumnProfile, Profile
from execution_engine.profiles.report import HIDDEN, shown
from execution_engine.profiles.values import Floats, Ints, Keys, ValueCounts

# The bins that two columns are compared over: of numbers by the reference's deciles, of other values one for each.

DECILES = np.arange(1, 10) / 10
HEAVY = 0.05  # of the reference's rows: a decile that so many rows have is a bin of its own
FEWEST = 5  # rows that chance would give the smaller side of a value with a bin of its own (Cochran, 1954)
MOST = 1000  # values with a bin of their own


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Numbers above ``low`` and up to ``high`` (both included where they are equal), a value, or all other values."""

    low: float | None = None  # None: no bound
    high: float | None = None
    value: Any = None
    is_rest: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Binned:
    """How many rows of both sides are in each bin; no bin is empty on both."""

    found: Ints
    before: Ints
    bins: Sequence[Bin]


def bins_of_numbers(found: Numbers, before: Numbers) -> Binned:
    """Over the deciles of ``before``. Both sides must have a finite number."""
    edges = np.unique(before.points.quantiles(DECILES))
    below, upto = (before.points.share_up_to(edges, included=included) for included in (False, True))
    bounds: list[tuple[float, bool]] = []  # each with whether the rows that have it are on its left
    for edge, heavy in zip(edges.tolist(), (upto - below >= HEAVY).tolist(), strict=True):
        bounds += [(edge, False), (edge, True)] if heavy else [(edge, True)]
    numbers, left = (np.array(each) for each in zip(*bounds, strict=True))
    counts = [np.diff(_ends(side, numbers, left), prepend=0, append=side.finite) for side in (found, before)]
    sides = [None, *numbers.tolist(), None]
    bins = [Bin(low=low, high=high) for low, high in pairwise(sides)]
    return _occupied(counts[0], counts[1], bins)


def bins_of_values(found: ValueCounts, before: ValueCounts) -> Binned:
    """A bin for each value that is frequent enough, and one of all others.

    A value that only one side kept has a bin where the other side cannot have as many rows of it.
    """
    keys = np.union1d(found.keys, before.keys)
    ours, theirs = _counts(found, keys), _counts(before, keys)
    n, m = found.rows, before.rows
    known = (ours > 0) & (theirs > 0)
    known |= (theirs == 0) & (ours / n > before.hidden / m)
    known |= (ours == 0) & (theirs / m > found.hidden / n)
    frequent = known & ((ours + theirs) * (min(n, m) / (n + m)) >= FEWEST)
    at = np.flatnonzero(frequent)
    at = at[np.lexsort((keys[at], -(ours + theirs)[at]))][:MOST]
    bins = [*(Bin(value=_label(key, found, before)) for key in keys[at]), Bin(is_rest=True)]
    counts = [np.append(side[at], rows - side[at].sum()) for side, rows in ((ours, n), (theirs, m))]
    return _occupied(counts[0], counts[1], bins)


def _ends(side: Numbers, numbers: np.ndarray[Any, Any], left: np.ndarray[Any, Any]) -> Ints:
    """How many rows are left of each bound."""
    below, upto = (side.points.share_up_to(numbers, included=included) for included in (False, True))
    ends: Ints = np.rint(np.where(left, upto, below) * side.finite).astype(np.int64)
    return ends


def _occupied(found: Ints, before: Ints, bins: Sequence[Bin]) -> Binned:
    there = (found > 0) | (before > 0)
    return Binned(
        found=found[there],
        before=before[there],
        bins=[each for each, has_rows in zip(bins, there.tolist(), strict=True) if has_rows],
    )


def _counts(values: ValueCounts, keys: Keys) -> Ints:
    counts = np.zeros(len(keys), np.int64)
    counts[np.searchsorted(keys, values.keys)] = values.counts
    return counts


def _label(key: np.uint64, *sides: ValueCounts) -> Any:
    """The value, where a side still knows it."""
    for side in sides:
        label = side.labels[side.keys == key]
        if len(label) and label[0] is not None:
            return label[0]
    return None


# Four measures of two distributions, over the same bins or the same numbers (pure).
#
# Sources: the population stability index, Siddiqi, Credit Risk Scorecards (2006); the distance, Lin, Divergence
# Measures
# Based on the Shannon Entropy (1991), and Endres and Schindelin (2003) for its root; V, Cramér (1946).


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


# One column beside another, and all columns of two profiles.

SOME, LARGE = 0.1, 0.25  # the stability indices from which credit scoring speaks of some, and of large drift
BY_CHANCE = 0.01  # of comparisons without drift have a column that is said to be beyond chance
MOSTLY_OTHERS = 0.5  # of the rows of both sides: then values hardly repeat, and their shapes are compared


class Level(StrEnum):
    """How far a column is from the reference, in a word."""

    CHANCE = "within chance"
    LITTLE = "little"
    SOME = "some"
    LARGE = "large"
    GONE = "gone"
    NEW = "new"
    KIND = "another kind"
    UNKNOWN = "not compared"


BY_SIZE = (Level.CHANCE, Level.LITTLE, Level.SOME, Level.LARGE)
DRIFTED = frozenset({Level.LARGE, Level.GONE, Level.KIND})


class Compared(StrEnum):
    """What of a column two sides are compared by."""

    NUMBERS = "numbers"
    VALUES = "values"
    SHAPES = "shapes"  # of texts that hardly repeat


@dataclass(frozen=True, kw_only=True)
class Moved:
    """The bin whose share changed most, with its share now and before."""

    bin: Bin
    share: float
    before: float


@dataclass(frozen=True, kw_only=True)
class Distances:
    """Of the values that are there: missing ones, NaN and infinities are in no bin."""

    compared: Compared
    psi: float
    js: float
    ks: float | None  # of numbers and times alone
    chi2: float
    degrees: int
    v: float  # Cramér's
    moved: Moved | None  # None: every bin has the same share


@dataclass(frozen=True, kw_only=True)
class ColumnDrift:
    """One column of two profiles; without distances where a side has no values, or values of another kind.

    ``missing``: the stability index of the rows with and without a value. The level is that of the further of both.
    """

    name: str
    column: ColumnProfile | None
    before: ColumnProfile | None
    level: Level
    distances: Distances | None = None
    missing: float | None = None


def drifts_of(
    profile: Profile, before: Profile, large: float = LARGE, without: Iterable[str] = ()
) -> list[ColumnDrift]:
    """Every column of either profile, the furthest first; ``large`` is the stability index of a drift that is large."""
    hidden = {name.casefold() for name in without}
    names = [name for name in dict.fromkeys([*profile.columns, *before.columns]) if name.casefold() not in hidden]
    found = [_drift_of(name, profile.columns, before.columns, large, len(names)) for name in names]
    return sorted(found, key=_order)


def distances_of(column: ColumnProfile, before: ColumnProfile) -> Distances | None:
    """None where a side has no values that can be compared."""
    numbers, past = column.numbers, before.numbers
    if column.kind in (ColumnKind.NUMBER, ColumnKind.TIME) and numbers is not None and past is not None:
        if not numbers.finite or not past.finite:
            return None
        ks = kolmogorov_smirnov(numbers.points, past.points)
        return _measured(Compared.NUMBERS, bins_of_numbers(numbers, past), ks)
    if not column.values.rows or not before.values.rows:
        return None
    values = bins_of_values(column.values, before.values)
    if column.texts is not None and before.texts is not None and _is_mostly_others(values):
        return _measured(Compared.SHAPES, bins_of_values(column.texts.shapes, before.texts.shapes))
    return _measured(Compared.VALUES, values)


def _drift_of(
    name: str, ours: Mapping[str, ColumnProfile], theirs: Mapping[str, ColumnProfile], large: float, columns: int
) -> ColumnDrift:
    column, before = ours.get(name), theirs.get(name)
    if column is None or before is None:
        level = Level.GONE if column is None else Level.NEW
        return ColumnDrift(name=name, column=column, before=before, level=level)
    empty = ColumnKind.NOTHING in (column.kind, before.kind)
    if column.kind is not before.kind and not empty:
        return ColumnDrift(name=name, column=column, before=before, level=Level.KIND)
    distances = None if empty else distances_of(column, before)
    missing = _missing_distances(column, before)
    levels = [_level(each, large, columns) for each in (distances, missing) if each is not None]
    return ColumnDrift(
        name=name,
        column=column,
        before=before,
        level=max(levels, key=BY_SIZE.index, default=Level.UNKNOWN),
        distances=distances,
        missing=None if missing is None else missing.psi,
    )


def _missing_distances(column: ColumnProfile, before: ColumnProfile) -> Distances | None:
    """Rows without and with a value as two bins."""
    if not column.rows or not before.rows:
        return None
    counts = [np.array([side.nulls, side.present]) for side in (column, before)]
    there = (counts[0] > 0) | (counts[1] > 0)
    bins = [each for each, has_rows in zip((Bin(), Bin(is_rest=True)), there.tolist(), strict=True) if has_rows]
    return _measured(Compared.VALUES, Binned(found=counts[0][there], before=counts[1][there], bins=bins))


def _measured(compared: Compared, binned: Binned, ks: float | None = None) -> Distances:
    rows = int(binned.found.sum()), int(binned.before.sum())
    p, q = binned.found / rows[0], binned.before / rows[1]
    chi2 = chi_square(binned.found, binned.before)
    smaller = min(rows)
    at = int(np.abs(p - q).argmax())
    moved = Moved(bin=binned.bins[at], share=float(p[at]), before=float(q[at])) if p[at] != q[at] else None
    return Distances(
        compared=compared,
        psi=stability_index(smoothed(p, smaller), smoothed(q, smaller)),
        js=jensen_shannon(p, q),
        ks=ks,
        chi2=chi2,
        degrees=len(p) - 1,
        v=sqrt(chi2 / sum(rows)),
        moved=moved,
    )


def _level(distances: Distances, large: float, columns: int) -> Level:
    """Chance is of all columns, their values and gaps, together: one of a hundred tables says more (Bonferroni)."""
    if distances.chi2 <= largest_by_chance(distances.degrees, BY_CHANCE / (2 * columns)):
        return Level.CHANCE
    if distances.psi > large:
        return Level.LARGE
    return Level.SOME if distances.psi > min(SOME, large) else Level.LITTLE


def _is_mostly_others(values: Binned) -> bool:
    if not values.bins[-1].is_rest:
        return False
    shares = (values.found[-1] / values.found.sum(), values.before[-1] / values.before.sum())
    return bool(min(shares) > MOSTLY_OTHERS)


def _order(drift: ColumnDrift) -> tuple[float, str]:
    """Those that are gone or of another kind first, then by their index; what is not compared last."""
    if drift.level in (Level.GONE, Level.KIND):
        return -inf, drift.name
    indices = [drift.distances.psi if drift.distances else None, drift.missing]
    return -max((index for index in indices if index is not None), default=-1.0), drift.name


# Drift in words and figures, as one JSON object (pure).


def described(drift: ColumnDrift) -> dict[str, Any]:
    """One column; a figure that it has not is None."""
    distances = drift.distances
    return {
        "name": drift.name,
        "level": drift.level.value,
        "compared": distances and distances.compared.value,
        "psi": distances and distances.psi,
        "js": distances and distances.js,
        "ks": distances and distances.ks,
        "chi2": distances and distances.chi2,
        "degrees": distances and distances.degrees,
        "cramers_v": distances and distances.v,
        "missing": _missing_share(drift.column),
        "missing_before": _missing_share(drift.before),
        "missing_psi": drift.missing,
        "moved": _moved(drift),
        "text": _sentence(drift),
    }


def _sentence(drift: ColumnDrift) -> str:
    """Such as "dest: PSI 0.31, large: LIS in 31.00 % of rows (before 2.00 %)"."""
    if drift.level is Level.KIND:
        kinds = [side.kind.value for side in (drift.column, drift.before) if side is not None]
        return f"{drift.name}: {kinds[0]} (before {kinds[1]})"
    if drift.level in (Level.GONE, Level.NEW):
        return f"{drift.name}: {drift.level.value}"
    told, distances = [], drift.distances
    if distances is not None:
        told.append(f"PSI {distances.psi:.2g}")
    if drift.missing is not None and (distances is None or drift.missing > distances.psi):
        told.append(f"PSI of missing values {drift.missing:.2g}")
    said = f"{drift.name}: {', '.join([*told, drift.level.value])}"
    if moved := _moved(drift):
        said += f": {moved['what']} in {_percent(moved['share'])} of rows (before {_percent(moved['before'])})"
    return said


def _moved(drift: ColumnDrift) -> dict[str, Any] | None:
    """The rows whose share changed most: those without a value, where these are what drifted."""
    distances, column, before = drift.distances, drift.column, drift.before
    if column is None or before is None:
        return None
    if drift.missing and (distances is None or drift.missing > distances.psi):
        return {"what": "no value", "share": _missing_share(column), "before": _missing_share(before)}
    if distances is None or distances.moved is None:
        return None
    moved = distances.moved
    return {"what": _words(moved, distances.compared, column, before), "share": moved.share, "before": moved.before}


def _words(moved: Moved, compared: Compared, column: ColumnProfile, before: ColumnProfile) -> str:
    if compared is Compared.NUMBERS:
        return _range(moved.bin, column)
    what = "shape" if compared is Compared.SHAPES else "value"
    if moved.bin.is_rest:
        return f"other {what}s"
    if compared is Compared.VALUES and any(_is_secret(side) for side in (column, before)):
        return HIDDEN
    if column.kind is ColumnKind.TRUTH and moved.bin.value is not None:
        return str(bool(moved.bin.value)).lower()
    return f"one {what}" if moved.bin.value is None else str(shown(moved.bin.value, column))


def _range(numbers: Bin, column: ColumnProfile) -> str:
    low, high = (None if bound is None else _number(bound, column) for bound in (numbers.low, numbers.high))
    if low is None:
        return f"up to {high}"
    if high is None:
        return f"above {low}"
    return str(low) if low == high else f"above {low} up to {high}"


def _number(number: float, column: ColumnProfile) -> str:
    told = shown(number, column)
    return f"{told:,.6g}" if isinstance(told, float) else str(told)


def _is_secret(column: ColumnProfile) -> bool:
    return any(lint["name"] == SECRETS for lint in lints_of(column))


def _missing_share(column: ColumnProfile | None) -> float | None:
    return column.nulls / column.rows if column is not None and column.rows else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}".replace("%", " %")
