"""What the kernels tell of the rows of small files, as one task in this process: all that is asked, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from execution_engine.engines.files.footer_statistics import FooterStatistics, told
from execution_engine.engines.files.listing import Listing
from execution_engine.engines.gathering.groups import FoundGroups, PlannedGroups, measured_by, of_no_rows
from execution_engine.engines.gathering.histograms import NOTHING, Bins
from execution_engine.engines.gathering.selects import AskedStatistic, Keyed
from execution_engine.engines.native.histograms import (
    binning,
    bins_of_ends,
    ends_asked,
    in_bins,
    of_groups,
    values_asked,
)
from execution_engine.engines.native.measure import (
    MOST_ROWS,
    drafted,
    drafted_groups,
    found_of,
    found_of_groups,
    with_groups,
)
from execution_engine.engines.native.reading import Piece, Stored
from execution_engine.engines.native.task import Gleaned, Program, glean
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.metrics.definitions.histogram import bins_of
from execution_engine.metrics.expressions import PLAIN, Expressions
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.metrics.states.statistics import Value

from .pieces import pieces_of, stored_columns


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The measurements of a scan that are not made of statistics and groupings of all its rows."""

    grouped: Sequence[PlannedGroups] = ()
    histograms: Sequence[Wanted] = ()
    write: Expressions = PLAIN

    def __len__(self) -> int:
        return sum(len(each.items) for each in self.grouped) + len(self.histograms)

    def of_no_rows(self) -> dict[str, Measured]:
        """What they are where there are no rows, by their keys."""
        none = [of_no_rows(each.asked) for each in self.grouped]
        return _measured_by(self.grouped, none) | {item.key: NOTHING for item in self.histograms}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is known of all rows, and by their keys the measurements ``Beside``."""

    told: Mapping[AskedStatistic, Value]
    counted: Mapping[Keyed, Frequencies] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a table: its name, files and columns, as assertions write them → Spark's type."""

    name: str
    listing: Listing
    footers: FooterStatistics
    columns: Mapping[str, str]

    def are_few(self, most_bytes: int) -> bool:
        """Whether they may be read here: fewer bytes than these, and no more rows than one task keeps."""
        return not self.footers.rows or (self.listing.size < most_bytes and self.footers.rows <= MOST_ROWS)

    @cached_property
    def stored(self) -> dict[str, Stored]:
        """The plain columns."""
        return stored_columns(self.listing, self.columns)

    def glean(self, program: Program) -> list[Gleaned]:
        """What one task finds in all of them; nothing is read for a program that asks for nothing."""
        asks = program.asked or program.counted or program.grouped or program.binned
        return [glean(program, self.pieces)] if asks else [Gleaned()]

    @cached_property
    def pieces(self) -> list[Piece]:
        """All row groups of all files."""
        newest = self.listing.newest.path
        pieces = [piece for piece, _ in pieces_of(self.listing, self.footers)]
        return [replace(piece, footer=self.listing.footer) if piece.path == newest else piece for piece in pieces]


def found_in(rows: Rows, asked: Sequence[AskedStatistic], keyed: Sequence[Keyed], beside: Beside) -> Found | None:
    """What the kernels find; None where these leave anything to Spark."""
    of_footers = told(rows.footers, ends := ends_asked(beside.histograms, beside.write))
    more = [one for one in dict.fromkeys(ends) if one not in of_footers and one not in asked]
    draft = drafted(rows.stored, [*asked, *more], keyed, alone=True)
    by = [*(each.asked for each in beside.grouped), *values_asked(beside.histograms, beside.write)]
    groups = [drafted_groups(rows.stored, each, rows=rows.footers.rows) for each in by]
    if draft.left or any(each.left for each in groups):
        return None
    gleaned = rows.glean(with_groups(draft.program, groups))
    found, counted, left = found_of(draft, gleaned)
    of_groups = [found_of_groups(each, gleaned, at) for at, each in enumerate(groups)]
    if left or any(left_of_groups for _, left_of_groups in of_groups):
        return None
    every = [groups_found for groups_found, _ in of_groups]
    histograms = _histograms(rows, beside, {**of_footers, **found}, every[len(beside.grouped) :])
    if histograms is None:
        return None
    measured = _measured_by(beside.grouped, every[: len(beside.grouped)]) | histograms
    return Found(told=found, counted=counted, measured=measured)


def _measured_by(grouped: Sequence[PlannedGroups], found: Sequence[FoundGroups]) -> dict[str, Measured]:
    """The measurements by columns, from the groups of each."""
    return {
        item.key: measured_by(item, each.planned, groups)
        for each, groups in zip(grouped, found, strict=True)
        for item in each.items
    }


def _histograms(
    rows: Rows, beside: Beside, ends: Mapping[AskedStatistic, Value], values: Sequence[FoundGroups]
) -> dict[str, Measured] | None:
    """From the ends of their bins and the counts of their values; what lies in bins takes another look at the rows."""
    rest, write = iter(values), beside.write
    found = {
        item.key: of_groups(next(rest)) if bins_of(item.spec) is None else bins_of_ends(item, write, rows.name, ends)
        for item in beside.histograms
    }
    wide = [(item, bins) for item in beside.histograms if isinstance(bins := found[item.key], Bins)]
    counted = in_bins(wide, rows.glean(binning(wide, write, rows.stored)))
    measured = {**{key: each for key, each in found.items() if isinstance(each, Measured)}, **counted}
    return measured if len(measured) == len(found) else None
