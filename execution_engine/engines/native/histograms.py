"""Histograms by the kernels: those of values as groups of rows, those of bins once their ends are known.

What is asked for them, and what follows from what was found (pure); who runs the program is left to the caller.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from execution_engine.engines.gathering.groups import AskedGroups, FoundGroups
from execution_engine.engines.gathering.histograms import Bins, bins_between, of_bins, of_values
from execution_engine.engines.gathering.selects import AskedStatistic
from execution_engine.engines.native.grouped.bins import Binned
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.metrics.definitions.histogram import bins_of
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.states.group_values import MAX_GROUPS
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Value
from execution_engine.read_by import Kind, Left

from .compiled import compiled
from .measure import names_in
from .reading import Stored
from .task import Gleaned, Program

TOO_MANY = Left(kind=Kind.ROWS, why=f"there are more than {MAX_GROUPS:,} values")

Wide = Sequence[tuple[Wanted, Bins]]  # histograms whose numbers are to be counted in these bins


def values_asked(wanted: Sequence[Wanted], write: Expressions) -> list[AskedGroups]:
    """How often each value comes, of those histograms that count values."""
    return [
        AskedGroups(by=item.spec.columns, asked=(AskedStatistic(statistic=ROWS, where=_where(item, write)),))
        for item in wanted
        if bins_of(item.spec) is None
    ]


def ends_asked(wanted: Sequence[Wanted], write: Expressions) -> list[AskedStatistic]:
    """The least and the greatest number, of those histograms that count in bins."""
    return [one for item in wanted if bins_of(item.spec) is not None for one in ends_of(item, write)]


def ends_of(item: Wanted, write: Expressions) -> tuple[AskedStatistic, AskedStatistic]:
    """The least and the greatest number of one, as doubles; the footers may know them of the column."""
    (column,) = item.spec.columns
    of, where = (write.number(column),), _where(item, write)
    low, high = (
        AskedStatistic(statistic=Statistic(gather=gather, of=of, column=column), where=where)
        for gather in (Gather.MIN, Gather.MAX)
    )
    return low, high


def of_groups(found: FoundGroups) -> Measured | Left:
    """A histogram of values, given what was found of ``values_asked``."""
    if found.too_many:
        return TOO_MANY
    (counts,) = found.told.values()
    texts = (text for (text,) in found.keys)
    return of_values({text: count for text, count in zip(texts, counts, strict=True) if count})


def bins_of_ends(item: Wanted, write: Expressions, name: str, ends: Mapping[AskedStatistic, Value]) -> Bins | Measured:
    """The bins of one that counts in them, or the measurement where there are none; ``name``: of the table."""
    least, greatest = (None if ends[one] is None else float(ends[one]) for one in ends_of(item, write))
    return bins_between(item, name, least, greatest, bins_of(item.spec) or 1)


def binning(wide: Wide, write: Expressions, stored: Mapping[str, Stored]) -> Program:
    """Counts what lies in the bins of all of them."""
    binned = tuple(_binned(item, write, bins) for item, bins in wide)
    names = {name for each in binned for node in (each.of, each.where) if node for name in names_in(node)}
    columns = {name: column for name, column in stored.items() if name in names}
    return Program(asked=(), counted=(), columns=columns, binned=binned)


def in_bins(wide: Wide, gleaned: Sequence[Gleaned]) -> dict[str, Measured]:
    """The histograms by their keys, from what the tasks of ``binning`` found; nothing if one of them failed."""
    if any(each.failed for each in gleaned):
        return {}
    measured = {}
    for at, (item, bins) in enumerate(wide):
        *counts, nulls = np.sum([each.bins[at] for each in gleaned], axis=0).tolist()
        measured[item.key] = of_bins(bins, {**dict(enumerate(counts)), None: nulls})
    return measured


def _binned(item: Wanted, write: Expressions, bins: Bins) -> Binned:
    (column,) = item.spec.columns
    where = _where(item, write)
    return Binned(
        of=compiled(write.number(column)),
        where=None if where is None else compiled(where),
        low=bins.low,
        width=bins.width,
        bins=bins.count,
    )


def _where(item: Wanted, write: Expressions) -> str | None:
    return None if item.spec.where is None else write.condition(item.spec.where)
