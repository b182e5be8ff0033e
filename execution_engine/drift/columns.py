"""One column beside another, and all columns of two profiles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, sqrt

import numpy as np

from execution_engine.profiles.column import ColumnKind, ColumnProfile
from execution_engine.profiles.profile import Profile

from .bins import Bin, Binned, bins_of_numbers, bins_of_values
from .measures import chi_square, jensen_shannon, kolmogorov_smirnov, largest_by_chance, smoothed, stability_index

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
    missing = _missing(column, before)
    levels = [_level(each, large, columns) for each in (distances, missing) if each is not None]
    return ColumnDrift(
        name=name,
        column=column,
        before=before,
        level=max(levels, key=BY_SIZE.index, default=Level.UNKNOWN),
        distances=distances,
        missing=None if missing is None else missing.psi,
    )


def _missing(column: ColumnProfile, before: ColumnProfile) -> Distances | None:
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
