"""Histograms by the kernels: those of values beside what else they gather, those of bins in one job more for all.

The ends of bins must be known before anything is counted in them; where the footers tell them, the first job is saved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from execution_engine.engines.arrow.pieces import pieces_of, stored_columns
from execution_engine.engines.files.footer_statistics import told
from execution_engine.engines.gathering.histograms import Bins
from execution_engine.engines.gathering.selects import AskedStatistic
from execution_engine.engines.native.histograms import (
    Wide,
    binning,
    bins_of_ends,
    ends_asked,
    ends_of,
    in_bins,
    of_groups,
)
from execution_engine.engines.native.measure import tasks
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.measures.native import Native, NativeGroups, run
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.definitions.histogram import bins_of
from execution_engine.metrics.states.statistics import Value
from execution_engine.read_by import Left

from .failures import OF_ALL, SPARK_ERRORS, failure_of
from .kernels import FAILED


@dataclass(frozen=True, kw_only=True)
class Histograms:
    """What the kernels measured of the histograms of a scan, by key, and why the others are Spark's."""

    measured: Mapping[str, Measured] = field(default_factory=dict)
    left: Mapping[str, Left] = field(default_factory=dict)


def taken_by_kernels(
    source: SparkSource, wanted: Sequence[Wanted], native: Native, groups: Sequence[NativeGroups]
) -> Histograms:
    """What they measured, given what they found of the ends, and of the ``groups`` that were asked for values."""
    ends, rest = {**native.told, **told(source.footers, ends_asked(wanted, source.write))}, iter(groups)
    found = {
        item.key: _of_values(next(rest)) if bins_of(item.spec) is None else _of_ends(source, item, native, ends)
        for item in wanted
    }
    wide = [(item, bins) for item in wanted if isinstance(bins := found[item.key], Bins)]
    counted = _in_bins(source, wide)
    return Histograms(
        measured={**{key: each for key, each in found.items() if isinstance(each, Measured)}, **counted},
        left={
            **{key: each for key, each in found.items() if isinstance(each, Left)},
            **{item.key: FAILED for item, _ in wide if item.key not in counted},
        },
    )


def _of_values(found: NativeGroups) -> Measured | Bins | Left:
    return next(iter(found.left.values()), None) or of_groups(found.found)


def _of_ends(
    source: SparkSource, item: Wanted, native: Native, ends: Mapping[AskedStatistic, Value]
) -> Measured | Bins | Left:
    low, high = ends_of(item, source.write)
    return native.left.get(low) or native.left.get(high) or bins_of_ends(item, source.write, source.name, ends)


def _in_bins(source: SparkSource, wide: Wide) -> dict[str, Measured]:
    """What lies in the bins of each, in one job; nothing if that fails."""
    if not wide:
        return {}
    assert source.listing is not None
    assert source.footers is not None
    program = binning(wide, source.write, stored_columns(source.listing, source.columns))
    cut = tasks(list(pieces_of(source.listing, source.footers)), source.footers.rows, 1 if source.small else None)
    try:
        gleaned = run(source.session, program, [[(0, some)] for some in cut], rows=source.rows)[0]
    except SPARK_ERRORS as error:
        if failure_of(error, source.name).reason in OF_ALL:
            raise
        return {}
    return in_bins(wide, gleaned)
