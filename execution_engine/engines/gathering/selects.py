"""Which selects gather the statistics of a scan (pure).

- Every statistic is gathered once, however many metrics ask for it.
- Sketches switch the code generation of their whole select off, so they have one of their own, unless the table is
  so small that a second job costs more than that.
- Many statistics under few where-clauses are gathered once for each combination of clauses that a row meets, and
  merged: twice the cost of one clause rather than as many times as there are clauses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.statistics import Statistic

MOST_AGGREGATES = 90  # in a select: from 100 columns on Spark generates no code
MOST_CLAUSES = 10  # in one mask: 1,024 groups at most
WORTH_A_MASK = 2.0  # statistics under a clause for each distinct one


@dataclass(frozen=True, kw_only=True)
class AskedStatistic:
    """A statistic over the rows that meet a SQL condition."""

    statistic: Statistic
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A grouping over the rows that meet a SQL condition."""

    grouping: Grouping
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Select:
    """Statistics of one select; with ``clauses`` each row counts for the mask of the clauses that it meets."""

    asked: tuple[AskedStatistic, ...]
    clauses: tuple[str, ...] = ()


def selects(asked: Sequence[AskedStatistic], *, together: bool) -> list[Select]:
    """The selects that gather everything asked; ``together``: in as few as can be, whatever they cost."""
    distinct = list(dict.fromkeys(asked))
    masked, plain = ([], distinct) if together else _worth_a_mask(distinct)
    return [*_masked(masked, together=together), *_cut(plain, together=together)]


def _worth_a_mask(asked: Sequence[AskedStatistic]) -> tuple[list[AskedStatistic], list[AskedStatistic]]:
    under = [one for one in asked if one.where is not None and one.statistic.merges]
    clauses = {one.where for one in under}
    if len(clauses) < 2 or len(under) < WORTH_A_MASK * len({one.statistic for one in under}):
        return [], list(asked)
    # statistics that are in the mask's groups anyway cost nothing there without a clause
    shared = {one.statistic for one in under}
    masked = [one for one in asked if one.statistic in shared]
    return masked, [one for one in asked if one.statistic not in shared]


def _masked(asked: Sequence[AskedStatistic], *, together: bool) -> Iterator[Select]:
    clauses = list(dict.fromkeys(one.where for one in asked if one.where is not None))
    for at in range(0, len(clauses), MOST_CLAUSES):
        some = tuple(clauses[at : at + MOST_CLAUSES])
        wanted = [one for one in asked if one.where in some or (one.where is None and at == 0)]
        gathered = list(dict.fromkeys(AskedStatistic(statistic=one.statistic) for one in wanted))
        for select in _cut(gathered, together=together):
            here = {one.statistic for one in select.asked}
            yield Select(asked=tuple(one for one in wanted if one.statistic in here), clauses=some)


def _cut(asked: Sequence[AskedStatistic], *, together: bool) -> Iterator[Select]:
    kinds = (
        [list(asked)]
        if together
        else [
            [one for one in asked if not _is_slow(one.statistic)],
            [one for one in asked if _is_slow(one.statistic)],
        ]
    )
    for kind in kinds:
        for at in range(0, len(kind), MOST_AGGREGATES):
            yield Select(asked=tuple(kind[at : at + MOST_AGGREGATES]))


def _is_slow(statistic: Statistic) -> bool:
    return statistic.is_sketch or not statistic.merges
