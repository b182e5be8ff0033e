"""What a rule of suggestions offers: an assertion, why, and which windows meet it (pure)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from execution_engine.profiles.column import ColumnKind, ColumnProfile

Holds = Callable[[ColumnProfile], bool]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An assertion on one column, why it is offered, and whether a window's profile meets it."""

    rule: str
    assertion: str
    why: str
    holds: Holds


def candidate(rule: str, assertion: str, why: str, holds: Holds) -> Candidate:
    """One of them."""
    return Candidate(rule=rule, assertion=assertion, why=why, holds=holds)


def are_numbers(windows: Sequence[ColumnProfile]) -> bool:
    """Whether all that is there is a number: metrics of NaN and infinities are no numbers either."""
    return all(
        window.kind is ColumnKind.NOTHING
        or (window.kind is ColumnKind.NUMBER and window.numbers is not None and window.numbers.finite == window.present)
        for window in windows
    )


def sql_name(name: str) -> str:
    """A column as a condition in SQL names it."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"
