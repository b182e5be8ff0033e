"""Histograms by the kernels: those of values beside what else they gather, those of bins in one job more for all.

The ends of bins must be known before anything is counted in them; where the footers tell them, the first job is saved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from execution_engine.engines.arrow.pieces import pieces_of, stored_columns
from execution_engine.engines.files.footer_statistics import told
from execution_engine.engines.gathering.groups import AskedGroups
from execution_engine.engines.gathering.histograms import Bins, bins_between, of_bins, of_values
from execution_engine.engines.gathering.selects import AskedStatistic
from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.grouped.bins import Binned
from execution_engine.engines.native.measure import names_in, tasks
from execution_engine.engines.native.task import Program
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.measures.native import Native, NativeGroups, run
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.histogram import bins_of
from execution_engine.metrics.states.group_values import MAX_GROUPS
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic
from execution_engine.read_by import Kind, Left

from .failures import OF_ALL, SPARK_ERRORS, failure_of
from .kernels import FAILED

TOO_MANY = Left(kind=Kind.ROWS, why=f"there are more than {MAX_GROUPS:,} values")


@dataclass(frozen=True, kw_only=True)
class Histograms:
    """What the kernels measured of the histograms of a scan, by key, and why the others are Spark's."""

    measured: Mapping[str, Measured] = field(default_factory=dict)
    left: Mapping[str, Left] = field(default_factory=dict)


def values_asked(source: SparkSource, wanted: Sequence[Wanted]) -> list[AskedGroups]:
    """How often each value comes, of those histograms that count values."""
    return [
        AskedGroups(by=item.spec.columns, asked=(AskedStatistic(statistic=ROWS, where=_where(source, item)),))
        for item in wanted
        if bins_of(item.spec) is None
    ]


def ends_asked(source: SparkSource, wanted: Sequence[Wanted]) -> list[AskedStatistic]:
    """The least and the greatest number, of those histograms that count in bins."""
    return [one for item in wanted if bins_of(item.spec) is not None for one in _ends(source, item)]


def taken_by_kernels(
    source: SparkSource, wanted: Sequence[Wanted], native: Native, groups: Sequence[NativeGroups]
) -> Histograms:
    """What they measured, given what they found of the ends, and of the ``groups`` that were asked for values."""
    found: dict[str, Measured | Bins | Left] = {}
    ends, rest = {**native.told, **told(source.footers, ends_asked(source, wanted))}, iter(groups)
    for item in wanted:
        count = bins_of(item.spec)
        if count is None:
            found[item.key] = _of_values(next(rest))
            continue
        low, high = _ends(source, item)
        if why := native.left.get(low) or native.left.get(high):
            found[item.key] = why
        else:
            least, greatest = (None if ends[one] is None else float(ends[one]) for one in (low, high))
            found[item.key] = bins_between(item, source.name, least, greatest, count)
    wide = {key: bins for key, bins in found.items() if isinstance(bins, Bins)}
    return Histograms(
        measured={
            **{key: each for key, each in found.items() if isinstance(each, Measured)},
            **(counted := _in_bins(source, [item for item in wanted if item.key in wide], wide)),
        },
        left={
            **{key: each for key, each in found.items() if isinstance(each, Left)},
            **{key: FAILED for key in wide if key not in counted},
        },
    )


def _of_values(found: NativeGroups) -> Measured | Left:
    if why := next(iter(found.left.values()), None):
        return why
    if found.found.too_many:
        return TOO_MANY
    (counts,) = found.found.told.values()
    texts = (text for (text,) in found.found.keys)
    return of_values({text: count for text, count in zip(texts, counts, strict=True) if count})


def _in_bins(source: SparkSource, wanted: Sequence[Wanted], bins: Mapping[str, Bins]) -> dict[str, Measured]:
    """What lies in the bins of each, in one job; nothing if that fails."""
    if not wanted:
        return {}
    assert source.listing is not None
    assert source.footers is not None
    binned = [_binned(source, item, bins[item.key]) for item in wanted]
    names = {name for each in binned for node in (each.of, each.where) if node for name in names_in(node)}
    stored = stored_columns(source.listing, source.columns)
    columns = {name: column for name, column in stored.items() if name in names}
    program = Program(asked=(), counted=(), columns=columns, binned=tuple(binned))
    cut = tasks(list(pieces_of(source.listing, source.footers)), source.footers.rows, 1 if source.small else None)
    try:
        gleaned = run(source.session, program, [[(0, some)] for some in cut], rows=source.rows)[0]
    except SPARK_ERRORS as error:
        if failure_of(error, source.name).reason in OF_ALL:
            raise
        return {}
    if any(each.failed for each in gleaned):
        return {}
    measured = {}
    for at, item in enumerate(wanted):
        *counts, nulls = np.sum([each.bins[at] for each in gleaned], axis=0).tolist()
        measured[item.key] = of_bins(bins[item.key], {**dict(enumerate(counts)), None: nulls})
    return measured


def _binned(source: SparkSource, item: Wanted, bins: Bins) -> Binned:
    (column,) = item.spec.columns
    where = _where(source, item)
    return Binned(
        of=compiled(source.write.number(column)),
        where=None if where is None else compiled(where),
        low=bins.low,
        width=bins.width,
        bins=bins.count,
    )


def _ends(source: SparkSource, item: Wanted) -> list[AskedStatistic]:
    """The least and the greatest number, as doubles; the footers may know them of the column."""
    (column,) = item.spec.columns
    of, where = (source.write.number(column),), _where(source, item)
    return [
        AskedStatistic(statistic=Statistic(gather=gather, of=of, column=column), where=where)
        for gather in (Gather.MIN, Gather.MAX)
    ]


def _where(source: SparkSource, item: Wanted) -> str | None:
    return None if item.spec.where is None else source.write.condition(item.spec.where)
