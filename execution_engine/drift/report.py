"""Drift in words and figures, as one JSON object (pure)."""

from typing import Any

from execution_engine.profiles.column import ColumnKind, ColumnProfile
from execution_engine.profiles.lints import SECRETS, lints_of
from execution_engine.profiles.report import HIDDEN, shown

from .bins import Bin
from .columns import ColumnDrift, Compared, Level, Moved


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
        "missing": _missing(drift.column),
        "missing_before": _missing(drift.before),
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
        return {"what": "no value", "share": _missing(column), "before": _missing(before)}
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


def _missing(column: ColumnProfile | None) -> float | None:
    return column.nulls / column.rows if column is not None and column.rows else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}".replace("%", " %")
