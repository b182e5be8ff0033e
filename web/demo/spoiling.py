"""What faults do to the rows of a partition."""

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from .faults import Fault, FaultKind

KILOMETRES_A_MILE = 1.609344
DOUBLED_ROWS = 10
ONE_IN = 5  # of all rows, in one datacenter or in all


def spoilt(rows: pa.Table, fault: Fault) -> pa.Table:
    """The rows as the fault leaves them."""
    return _SPOIL[fault.kind](rows)


def _lost(rows: pa.Table) -> pa.Table:
    """Without every fifth row."""
    return rows.filter(pa.array(number % ONE_IN != 0 for number in range(rows.num_rows)))


def _doubled(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(0, DOUBLED_ROWS)])


def _in_kilometres(rows: pa.Table) -> pa.Table:
    miles = rows.column("distance")
    kilometres = pc.round(pc.multiply(miles, KILOMETRES_A_MILE)).cast(miles.type)
    return rows.set_column(rows.column_names.index("distance"), "distance", kilometres)


_SPOIL: Mapping[FaultKind, Callable[[pa.Table], pa.Table]] = {
    FaultKind.ROWS_LOST: _lost,
    FaultKind.ROWS_DOUBLED: _doubled,
    FaultKind.WRONG_VALUES: _in_kilometres,
}
