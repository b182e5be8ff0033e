"""Drift: how far the values of a column are from those of a reference, by four measures of two distributions.

Whether a batch is unlike its accepted past is for ``novelty``, which asks these measures.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import chdtri

from execution_engine.profiles.lints import has_secrets
from execution_engine.profiles.profile import ColumnProfile, TableProfile, ValueKind
from execution_engine.profiles.report import HIDDEN, json_value
from execution_engine.profiles.values import Floats, Ints, Numbers, Points, ValueCounts

# The bins that two columns are compared over: of numbers by the reference's deciles, of other values one for each.

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
class BinCounts:
    """How many rows of both sides are in each bin; no bin is empty on both."""

    now: Ints
    before: Ints
    bins: Sequence[Bin]

    @classmethod
    def of(cls, now: Ints, before: Ints, bins: Sequence[Bin]) -> "BinCounts":
        """Without bins that are empty on both sides."""
        there = (now > 0) | (before > 0)
        return cls(now=now[there], before=before[there], bins=[bins[at] for at in np.flatnonzero(there).tolist()])


def bins_of_numbers(now: Numbers, before: Numbers) -> BinCounts:
    """Over the deciles of ``before``. Both sides must have a finite number."""
    edges = np.unique(before.points.quantiles(np.arange(1, 10) / 10))
    below, upto = (before.points.share_up_to(edges, included=included) for included in (False, True))
    bounds: list[tuple[float, bool]] = []  # each with whether the rows that have it are on its left
    for edge, heavy in zip(edges.tolist(), (upto - below >= HEAVY).tolist(), strict=True):
        bounds += [(edge, False), (edge, True)] if heavy else [(edge, True)]
    numbers, left = (np.array(column) for column in zip(*bounds, strict=True))

    def counts(side: Numbers) -> Ints:
        below, upto = (side.points.share_up_to(numbers, included=included) for included in (False, True))
        ends = np.rint(np.where(left, upto, below) * side.finite).astype(np.int64)
        rows: Ints = np.diff(ends, prepend=0, append=side.finite)
        return rows

    bins = [Bin(low=low, high=high) for low, high in pairwise([None, *numbers.tolist(), None])]
    return BinCounts.of(counts(now), counts(before), bins)


def bins_of_values(now: ValueCounts, before: ValueCounts) -> BinCounts:
    """A bin for each value that is frequent enough, and one of all others.

    A value that only one side kept has a bin where the other side cannot have as many rows of it.
    """
    keys = np.union1d(now.keys, before.keys)
    ours, theirs = np.zeros((2, len(keys)), np.int64)
    labels = np.full(len(keys), None, np.object_)
    for side, counts in ((before, theirs), (now, ours)):
        at = np.searchsorted(keys, side.keys)
        counts[at] = side.counts
        labels[at] = np.where(side.labels == None, labels[at], side.labels)  # noqa: E711 - of each
    n, m = now.rows, before.rows
    is_comparable = (ours > 0) & (theirs > 0)
    is_comparable |= (theirs == 0) & (ours / n > before.hidden / m)
    is_comparable |= (ours == 0) & (theirs / m > now.hidden / n)
    at = np.flatnonzero(is_comparable & ((ours + theirs) * (min(n, m) / (n + m)) >= FEWEST))
    at = at[np.lexsort((keys[at], -(ours + theirs)[at]))][:MOST]
    bins = [*(Bin(value=label) for label in labels[at].tolist()), Bin(is_rest=True)]
    counts_now, counts_before = (np.append(side[at], rows - side[at].sum()) for side, rows in ((ours, n), (theirs, m)))
    return BinCounts.of(counts_now, counts_before, bins)


# Four measures of two distributions, over the same bins or the same numbers (pure).
#
# Sources: the population stability index, Siddiqi, Credit Risk Scorecards (2006); the distance, Lin, Divergence
# Measures Based on the Shannon Entropy (1991), and Endres and Schindelin (2003) for its root; V, Cramér (1946).


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


def kolmogorov_smirnov(now: Points, before: Points) -> float:
    """The largest difference of the shares of rows up to any number: 0 (alike) to 1; NaN where either has no rows."""
    numbers = np.union1d(now.numbers, before.numbers)
    if not len(now.numbers) or not len(before.numbers):
        return float("nan")
    return float(np.abs(now.share_up_to(numbers) - before.share_up_to(numbers)).max())


def chi_square(now: Ints, before: Ints) -> float:
    """Pearson's statistic of the table of two rows; every bin must have a row in one of them at least."""
    table = np.array([now, before], np.float64)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


# One column beside another, and all columns of two profiles.

SOME, LARGE = 0.1, 0.25  # the stability indices from which credit scoring speaks of some, and of large drift
BY_CHANCE = 0.01  # of comparisons without drift have a column that is said to be beyond chance
MOSTLY_OTHERS = 0.5  # of the rows of both sides: then values hardly repeat, and their shapes are compared


class DriftLevel(StrEnum):
    """How far a column is from the reference, in a word."""

    CHANCE = "within chance"
    LITTLE = "little"
    SOME = "some"
    LARGE = "large"
    GONE = "gone"
    NEW = "new"
    KIND = "another kind"
    UNKNOWN = "not compared"


BY_SIZE = (DriftLevel.CHANCE, DriftLevel.LITTLE, DriftLevel.SOME, DriftLevel.LARGE)
DRIFTED = frozenset({DriftLevel.LARGE, DriftLevel.GONE, DriftLevel.KIND})


class DriftBasis(StrEnum):
    """What of a column two sides are compared by."""

    NUMBERS = "numbers"
    VALUES = "values"
    SHAPES = "shapes"  # of texts that hardly repeat


@dataclass(frozen=True, kw_only=True)
class MovedBin:
    """The bin whose share changed most, with its share now and before."""

    bin: Bin
    share: float
    before: float


@dataclass(frozen=True, kw_only=True)
class Distances:
    """Of the values that are there: missing ones, NaN and infinities are in no bin."""

    compared: DriftBasis
    psi: float
    js: float
    ks: float | None  # of numbers and times alone
    chi2: float
    degrees: int
    v: float  # Cramér's
    moved: MovedBin | None  # None: every bin has the same share


@dataclass(frozen=True, kw_only=True)
class ColumnDrift:
    """One column of two profiles; without distances where a side has no values, or values of another kind.

    ``missing``: the stability index of the rows with and without a value. The level is that of the further of both.
    """

    name: str
    column: ColumnProfile | None
    before: ColumnProfile | None
    level: DriftLevel
    distances: Distances | None = None
    missing: float | None = None


def drifts_of(
    profile: TableProfile, before: TableProfile, large: float = LARGE, without: Iterable[str] = ()
) -> list[ColumnDrift]:
    """Every column of either profile, the furthest first; ``large`` is the stability index of a drift that is large."""
    hidden = {name.casefold() for name in without}
    names = [name for name in dict.fromkeys([*profile.columns, *before.columns]) if name.casefold() not in hidden]
    drifts = [_drift_of(name, profile.columns, before.columns, large, len(names)) for name in names]
    return sorted(drifts, key=_order)


def distances_of(column: ColumnProfile, before: ColumnProfile) -> Distances | None:
    """None where a side has no values that can be compared."""
    numbers, past = column.numbers, before.numbers
    if column.kind in (ValueKind.NUMBER, ValueKind.TIME) and numbers is not None and past is not None:
        if not numbers.finite or not past.finite:
            return None
        ks = kolmogorov_smirnov(numbers.points, past.points)
        return _measured(DriftBasis.NUMBERS, bins_of_numbers(numbers, past), ks)
    if not column.values.rows or not before.values.rows:
        return None
    values = bins_of_values(column.values, before.values)
    others = min(values.now[-1] / values.now.sum(), values.before[-1] / values.before.sum())
    are_mostly_others = values.bins[-1].is_rest and others > MOSTLY_OTHERS
    if column.texts is not None and before.texts is not None and are_mostly_others:
        return _measured(DriftBasis.SHAPES, bins_of_values(column.texts.shapes, before.texts.shapes))
    return _measured(DriftBasis.VALUES, values)


def _drift_of(
    name: str, ours: Mapping[str, ColumnProfile], theirs: Mapping[str, ColumnProfile], large: float, columns: int
) -> ColumnDrift:
    column, before = ours.get(name), theirs.get(name)
    drift = ColumnDrift(name=name, column=column, before=before, level=DriftLevel.UNKNOWN)
    if column is None or before is None:
        return replace(drift, level=DriftLevel.GONE if column is None else DriftLevel.NEW)
    empty = ValueKind.NOTHING in (column.kind, before.kind)
    if column.kind is not before.kind and not empty:
        return replace(drift, level=DriftLevel.KIND)
    distances, missing = None if empty else distances_of(column, before), None
    if column.rows and before.rows:  # rows without and with a value as two bins
        counts = [np.array([side.nulls, side.present]) for side in (column, before)]
        missing = _measured(DriftBasis.VALUES, BinCounts.of(counts[0], counts[1], (Bin(), Bin(is_rest=True))))
    levels = []
    for distance in (distances, missing):
        if distance is None:
            continue
        # chance is of all columns, their values and gaps, together: one of a hundred tables says more (Bonferroni)
        if not distance.degrees or distance.chi2 <= chdtri(distance.degrees, BY_CHANCE / (2 * columns)):
            levels.append(DriftLevel.CHANCE)
        elif distance.psi > large:
            levels.append(DriftLevel.LARGE)
        else:
            levels.append(DriftLevel.SOME if distance.psi > min(SOME, large) else DriftLevel.LITTLE)
    level = max(levels, key=BY_SIZE.index, default=DriftLevel.UNKNOWN)
    return replace(drift, level=level, distances=distances, missing=None if missing is None else missing.psi)


def _measured(compared: DriftBasis, binned: BinCounts, ks: float | None = None) -> Distances:
    rows = int(binned.now.sum()), int(binned.before.sum())
    p, q = binned.now / rows[0], binned.before / rows[1]
    chi2 = chi_square(binned.now, binned.before)
    at = int(np.abs(p - q).argmax())
    return Distances(
        compared=compared,
        psi=stability_index(smoothed(p, min(rows)), smoothed(q, min(rows))),
        js=jensen_shannon(p, q),
        ks=ks,
        chi2=chi2,
        degrees=len(p) - 1,
        v=sqrt(chi2 / sum(rows)),
        moved=MovedBin(bin=binned.bins[at], share=float(p[at]), before=float(q[at])) if p[at] != q[at] else None,
    )


def _order(drift: ColumnDrift) -> tuple[float, str]:
    """Those that are gone or of another kind first, then by their index; what is not compared last."""
    if drift.level in (DriftLevel.GONE, DriftLevel.KIND):
        return -inf, drift.name
    indices = [drift.distances.psi if drift.distances else None, drift.missing]
    return -max((index for index in indices if index is not None), default=-1.0), drift.name


# Drift in words and figures, as one JSON object (pure).


def described(drift: ColumnDrift) -> dict[str, Any]:
    """One column; a figure that it has not is None.

    ``text`` is such as "dest: PSI 0.31, large: LIS in 31.00 % of rows (before 2.00 %)".
    """
    distances, column, before = drift.distances, drift.column, drift.before
    is_of_missing = drift.missing is not None and (distances is None or drift.missing > distances.psi)
    moved: dict[str, Any] | None = None  # the rows whose share changed most: those without a value, if these drifted
    if column is not None and before is not None:
        if is_of_missing and drift.missing:
            moved = {"what": "no value", "share": _missing_share(column), "before": _missing_share(before)}
        elif distances is not None and distances.moved is not None:
            what = _words(distances.moved.bin, distances.compared, column, before)
            moved = {"what": what, "share": distances.moved.share, "before": distances.moved.before}
    if drift.level is DriftLevel.KIND:
        kinds = [side.kind.value for side in (column, before) if side is not None]
        text = f"{kinds[0]} (before {kinds[1]})"
    elif drift.level in (DriftLevel.GONE, DriftLevel.NEW):
        text = drift.level.value
    else:
        figures = [] if distances is None else [f"PSI {distances.psi:.2g}"]
        figures += [f"PSI of missing values {drift.missing:.2g}"] if is_of_missing else []
        text = ", ".join([*figures, drift.level.value])
        if moved:
            text += f": {moved['what']} in {_percent(moved['share'])} of rows (before {_percent(moved['before'])})"
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
        "missing": _missing_share(column),
        "missing_before": _missing_share(before),
        "missing_psi": drift.missing,
        "moved": moved,
        "text": f"{drift.name}: {text}",
    }


def _words(bin_: Bin, compared: DriftBasis, column: ColumnProfile, before: ColumnProfile) -> str:
    if compared is DriftBasis.NUMBERS:
        low, high = (
            f"{bound:,.6g}" if isinstance(bound, float) else None if bound is None else str(bound)
            for bound in (json_value(bin_.low, column), json_value(bin_.high, column))
        )
        if low is None:
            return f"up to {high}"
        if high is None:
            return f"above {low}"
        return low if low == high else f"above {low} up to {high}"
    what = "shape" if compared is DriftBasis.SHAPES else "value"
    if bin_.is_rest:
        return f"other {what}s"
    if compared is DriftBasis.VALUES and (has_secrets(column) or has_secrets(before)):
        return HIDDEN
    if column.kind is ValueKind.TRUTH and bin_.value is not None:
        return str(bool(bin_.value)).lower()
    return f"one {what}" if bin_.value is None else str(json_value(bin_.value, column))


def _missing_share(column: ColumnProfile | None) -> float | None:
    return column.nulls / column.rows if column is not None and column.rows else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}".replace("%", " %")
