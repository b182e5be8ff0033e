"""What looks odd in a column at first sight, each with how much of it: questions for its owner, not errors (pure)."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .profile import ColumnProfile, ValueKind

MOST = 0.95  # of the rows, from which on a column is said to be all of a kind
SECRETS = "leaked secrets"
SOME = 0.001  # of the rows, from which on a stand-in is worth a word
FEW_ROWS = 20  # below, everything looks odd
_DATE = re.compile(r"(9999[-/.]99[-/.]99|99?[-/.]99?[-/.]9999|99999999)([ A].*)?")
_NUMBER = re.compile(r"[-+]?9+([.,]9+)?(e[-+]?9+)?")
_SECRETS = (
    ("a key of AWS", re.compile(r"(AKIA|ASIA)[0-9A-Z]{16}")),
    ("a token of GitHub", re.compile(r"(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("a token of Slack", re.compile(r"xox[abprs]-[A-Za-z0-9-]{10,}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a JSON web token", re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}")),
    ("a key of Google", re.compile(r"AIza[0-9A-Za-z_-]{30,}")),
    ("a password in an address", re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@]+@")),
)
_STAND_INS = frozenset(
    {"", "-", "--", "?", "n/a", "na", "#n/a", "nan", "nil", "none", "null", "(null)", "unknown", "undefined"}
    | {"missing", "tbd"}
)
_ODD_NUMBERS = frozenset({-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0, -99999.0})

Lint = dict[str, Any]


def lints_of(column: ColumnProfile) -> list[Lint]:
    """Each with a ``name``, a ``sentence``, and the ``share`` of the rows with a value that it is of."""
    if column.present < FEW_ROWS:
        return []
    lints = [
        {"name": name, "said": sentence, "share": min(1.0, share)}
        for rule in (_constant, _written_as_texts, _mixed_formats, _near_duplicates, _stand_ins, _secrets)
        for name, sentence, share in rule(column)
    ]
    return sorted(lints, key=lambda lint: (-lint["share"], lint["name"]))


def _constant(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    if not column.values.cut and len(column.values.keys) == 1:
        yield "constant", "every row that has a value has the same one", 1.0


def _written_as_texts(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    shapes = column.texts.shapes if column.texts else None
    if shapes is None or column.kind is not ValueKind.TEXT:
        return
    texts = shapes.frequent(len(shapes.keys))
    dates, numbers = (
        sum(count for shape, count in texts if pattern.fullmatch(str(shape))) / column.present
        for pattern in (_DATE, _NUMBER)
    )
    leads = any(str(label).startswith("0") and len(str(label)) > 1 for label, _ in column.values.frequent(1000))
    if dates >= MOST:
        yield "dates as texts", "the texts are written like dates: a date type orders and compares them", dates
    elif numbers >= MOST and not leads:
        yield "numbers as texts", "the texts are written like numbers", numbers


def _mixed_formats(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    """Several shapes of one length class that differ in marks alone, such as 2026-03-01 and 03/01/2026."""
    shapes = column.texts.shapes if column.texts else None
    if shapes is None or shapes.cut:
        return
    dates = [(shape, count) for shape, count in shapes.frequent(1000) if _DATE.fullmatch(str(shape))]
    if len({str(shape)[:10] for shape, _ in dates}) > 1:
        share = sum(count for _, count in dates) / column.present
        if share >= MOST:
            kinds = ", ".join(str(shape) for shape, _ in dates[:3])
            yield "mixed formats", f"dates are written in several ways: {kinds}", share


def _near_duplicates(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    """Values that differ in case and spaces alone."""
    if column.kind is not ValueKind.TEXT or column.values.cut:
        return
    alike: dict[str, list[tuple[str, int]]] = {}
    for label, count in column.values.frequent(len(column.values.keys)):
        alike.setdefault(" ".join(str(label).split()).casefold(), []).append((str(label), count))
    doubled = [group for group in alike.values() if len(group) > 1]
    if doubled:
        rows = sum(count for group in doubled for _, count in group[1:])  # beside the most frequent way of each
        pairs = "; ".join(f"{group[0][0]!r} and {group[1][0]!r}" for group in doubled[:3])
        yield "near duplicates", f"values differ in case or spaces alone: {pairs}", rows / column.present


def _stand_ins(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    """Values that people write where there is none: odd numbers lie at an end, far from all others."""
    numbers = column.numbers
    if column.kind is ValueKind.TEXT:
        values = [
            (label, n) for label, n in column.values.frequent(1000) if str(label).strip().casefold() in _STAND_INS
        ]
    elif column.kind is ValueKind.NUMBER and numbers is not None:
        ends = _ODD_NUMBERS & {numbers.low, numbers.high}
        values = []
        for label, n in column.values.frequent(50):
            others = numbers.points.numbers[numbers.points.numbers != float(label)]
            if float(label) in ends and len(others):
                distance, width = np.abs(others - float(label)).min(), others.max() - others.min()
                values += [(label, n)] if distance > 0.5 * width else []
    else:
        return
    share = sum(count for _, count in values) / column.present
    if values and share >= SOME:
        examples = ", ".join(repr(label) for label, _ in values[:3])
        yield "stand-ins", f"{examples} may stand for a missing value", share


def _secrets(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    """Values that open doors; none of them is told."""
    if column.kind is not ValueKind.TEXT:
        return
    labels = column.values.frequent(len(column.values.keys))
    for what, pattern in _SECRETS:
        rows = sum(count for label, count in labels if pattern.search(str(label)))
        if rows:
            sentence = f"some values look like {what}: mark the column sensitive, and have them revoked"
            yield SECRETS, sentence, rows / column.present


def has_secrets(column: ColumnProfile) -> bool:
    """Whether any of a column's values looks like one that opens doors."""
    return column.present >= FEW_ROWS and any(_secrets(column))


def are_secret(values: Iterable[object]) -> bool:
    """Whether any of the values looks like one that opens doors."""
    return any(pattern.search(str(value)) for value in values for _, pattern in _SECRETS)
