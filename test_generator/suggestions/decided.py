"""Which suggestions are offered still: not those that somebody rejected, nor those that are tests already (pure)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .suggest import Suggestion


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A suggestion that was rejected, or made a test."""

    rule: str
    columns: tuple[str, ...]
    assertion: str


def still_offered(
    found: Iterable[Suggestion], decided: Collection[Decided], asserted: Collection[str]
) -> list[Suggestion]:
    """Those of which nobody has decided: neither the same assertion, nor the same rule on the same columns.

    ``asserted``: what the dataset's live tests say. Names of columns are the same in any case.
    """
    said = {each.assertion for each in decided} | set(asserted)
    ruled = {_ruled(each.rule, each.columns) for each in decided}
    return [one for one in found if one.assertion not in said and _ruled(one.rule, one.columns) not in ruled]


def _ruled(rule: str, columns: Collection[str]) -> tuple[str, ...]:
    return (rule, *sorted(column.casefold() for column in columns))
