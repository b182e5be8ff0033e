"""What a broken metric would be, were some slices of its rows as they usually are."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from execution_engine.attribution import FEWEST_DAYS, Cells, Measure, cells_of, day_weights
from execution_engine.engines.protocol import Engine, Part, Table

from .reading import CellReader, UnableToSearch, column_types, with_rows
from .rules import Subject, columns_worth_counting

WHOLE_CHANGE = 0.8  # of the change of a cause that its slices must hold, to say that it does not explain a value
Slices = Sequence[Mapping[str, Any]]  # the value of each column of each


def metric_as_usual(
    engine: Engine,
    table: Table,
    part: Part,
    past: Sequence[Part],
    subject: Subject,
    slices: Slices,
    *,
    sensitive: Collection[str] = (),
) -> tuple[float, float]:
    """The metric of the part as it is, and with what past parts had in the slices in place of what it has there.

    All parts are read once. Raises UnableToSearch, as where the table lacks a column of theirs, or any such row.
    """
    named = {column.casefold() for values in slices for column in values}
    types = {name: type_ for name, type_ in column_types(table, part).items() if name.casefold() in named}
    columns, left_out = columns_worth_counting(
        types, partition_column=table.partition_column, sensitive=sensitive, subject=subject
    )
    if len(columns) < len(named):
        raise UnableToSearch("the table has not all of its columns, or they may not be counted", left_out)
    reader = CellReader(engine=engine, table=table, subject=subject, types=types)
    counted = reader.tables([*past, part], [columns])[0]
    days = [day for day in counted if day is not None]
    if len(days) < len(counted):
        raise UnableToSearch("its columns cannot be counted on some of the windows", reader.left_out)
    if len(days := with_rows(days)) <= FEWEST_DAYS:
        raise UnableToSearch(f"{len(days) - 1} windows of the past have rows, fewer than {FEWEST_DAYS}")
    return figure_as_usual(cells_of(subject.measure, columns, days), slices)


def figure_as_usual(cells: Cells, slices: Slices) -> tuple[float, float]:
    """The same of cells that are counted already."""
    inside = _is_inside(cells, slices)
    whole = cells.part if cells.whole is None else cells.whole
    if not whole[:, inside].any():
        raise UnableToSearch("the table has no row of the slice")
    weights = day_weights(cells.part)[-1]
    seen, usual = [], []
    for figures in (cells.part, whole):
        seen.append(figures[-1].sum())
        usual.append(figures[-1][~inside].sum() + weights @ figures[:-1][:, inside].sum(axis=1))
    if cells.measure in (Measure.ROWS, Measure.SUM):
        return float(seen[0]), float(usual[0])
    if not seen[1] or not usual[1]:
        raise UnableToSearch("no row is left")
    return float(seen[0] / seen[1]), float(usual[0] / usual[1])


def _is_inside(cells: Cells, slices: Slices) -> npt.NDArray[np.bool_]:
    """Which cells are of one of the slices."""
    columns = {name.casefold(): at for at, name in enumerate(cells.columns)}
    inside = np.zeros(len(cells.codes), np.bool_)
    for values in slices:
        of_slice = np.ones(len(cells.codes), np.bool_)
        for name, value in values.items():
            at = columns[name.casefold()]
            of_slice &= np.array([own == value for own in cells.values[at]], np.bool_)[cells.codes[:, at]]
        inside |= of_slice
    return inside
