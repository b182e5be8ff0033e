"""The rows of a table of one race: medians, ratios and who disagreed."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.engine.race import Race

HEADINGS = ("", "CPU s", "wall s", "CPU ×", "wall ×", "checks/s", "n", "PySpark", "")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One race of one part of the benchmark, under its heading."""

    name: str
    heading: str
    race: Race


def rows(race: Race) -> Iterator[tuple[str, ...]]:
    """One for each contender; the ratios are to the first, for the same number of checks."""
    for name, costs in race.costs.items():
        cpu, wall = median(cost.cpu for cost in costs), median(cost.wall for cost in costs)
        ratios = (f"{race.ratio(name):.2f}", f"{race.ratio(name, 'wall'):.2f}") if race.costs[race.base] else ("", "")
        pace = f"{race.checks[name] / wall:.0f}"
        yield (name, f"{cpu:.2f}", f"{wall:.2f}", *ratios, pace, str(len(costs)), race.pyspark, _remark(race, name))
    for name, why in race.stopped.items():
        if name not in race.costs:
            yield (name, "", "", "", "", "", "0", race.pyspark, why)


def _remark(race: Race, name: str) -> str:
    differing = sorted(race.disagreements(name))
    remarks = [f"disagrees: {', '.join(differing[:5])}"] if differing else []
    remarks += [race.stopped[name]] if name in race.stopped else []
    return "; ".join(remarks)
