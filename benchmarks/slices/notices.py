"""Days of flights that lose rows of one slice, and a table below them: which of its broken values are told.

``python -m benchmarks.slices.notices``. A value is broken where it leaves its usual range, three deviations by
quartiles. It has a fault of its own where it would be broken although no row were lost: then its owner is to be told,
else only that of the lost rows. Printed: by sizes alone, and with trials before sizes.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from execution_engine.attribution import Cells, Measure, cells_of, explain
from execution_engine.slices.trials import WHOLE_CHANGE, figure_as_usual

from .flights import COLUMNS, Fault, Flights, Rows, table

SEED, CASES = 11_000, 1_500
BELOW = (Fault.DROP, Fault.SUM, Fault.DISTANCE, Fault.AIR_TIME)  # the row count, a sum, two means
OWN = (1.0, 1.0, 1.05, 1.1, 0.9, 0.8)  # what all values below are multiplied by; 1: no fault of their own
MEASURES = {Fault.DROP: Measure.ROWS, Fault.SUM: Measure.SUM}


def figure(cells: Cells, day: int) -> float:
    """The value of one day."""
    part = float(cells.part[day].sum())
    return part / float(cells.whole[day].sum()) if cells.measure is Measure.MEAN and cells.whole is not None else part


def band(cells: Cells) -> tuple[float, float]:
    """The usual range of the last day."""
    low, middle, high = np.percentile([figure(cells, day) for day in range(len(cells.part) - 1)], [25, 50, 75])
    reach = 3 * (high - low) / 1.35
    return middle - reach, middle + reach


def cells_below(flights: Flights, at: int, today: Rows, value: Fault, factor: float) -> Cells:
    """A table below with this value, multiplied by a factor on the last day."""
    name = "air_time" if value is Fault.AIR_TIME else "distance"
    rows = {**today, name: today[name] * factor}
    days = [table(value, day) for day in (*(flights.rows[before] for before in flights.past[at]), rows)]
    return cells_of(MEASURES.get(value, Measure.MEAN), COLUMNS, days)


def judged(flights: Flights) -> Iterator[tuple[bool, bool, bool]]:
    """Of each broken value: whether it has a fault of its own, and whether it is told by sizes, and by trials."""
    drawn = np.random.default_rng(SEED)
    for at, spoilt, above in flights.losses(SEED, CASES):
        today = flights.rows[at]
        value, factor = BELOW[drawn.integers(len(BELOW))], float(drawn.choice(OWN))
        factor = 1.0 if value is Fault.DROP else factor
        below = cells_below(flights, at, spoilt, value, factor)
        low, high = band(below)
        seen = figure(below, -1)
        if low <= seen <= high:
            continue
        is_own = not low <= figure(cells_below(flights, at, today, value, factor), -1) <= high
        end = low if seen < low else high
        touched = 1 - len(spoilt["origin"]) / len(today["origin"])
        by_size = abs(seen - end) / max(abs(seen), abs(end)) > touched
        slices = explain(above).slices
        usual = figure_as_usual(below, [row.values for row in slices])[1] if slices else seen
        is_whole = sum(row.share_of_change or 0 for row in slices) >= WHOLE_CHANGE
        explained = bool(slices) and low <= usual <= high
        yield is_own, by_size, False if explained else True if is_whole else by_size


def main() -> None:
    """Print how many of each kind are told."""
    counts, wholes = Counter[tuple[bool, str]](), Counter[bool]()
    for is_own, by_size, by_trial in judged(Flights(weeks=1)):
        wholes[is_own] += 1
        counts[is_own, "sizes"] += by_size
        counts[is_own, "trials"] += by_trial
    print("| of broken values below | cases | told by sizes alone | told by trials before sizes |\n|---|---|---|---|")
    for is_own, words in ((True, "with a fault of their own"), (False, "that the lost rows explain")):
        whole = wholes[is_own]
        shares = (f"{counts[is_own, by] / whole:.3f}" for by in ("sizes", "trials"))
        print(f"| {words} | {whole} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
