"""The rows of a table of one race: medians, ratios and who disagreed."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from .race import Race

HEADINGS = ("", "CPU s", "wall s", "CPU ×", "wall ×", "checks/s", "checks/s ×", "n", "PySpark", "")


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
        times, faster = _ratios(race, name) if race.costs[race.base] else (("", ""), "")
        pace = (f"{race.checks[name] / wall:.0f}", faster)
        yield (name, f"{cpu:.2f}", f"{wall:.2f}", *times, *pace, str(len(costs)), race.pyspark, _remark(race, name))
    for name, why in race.stopped.items():
        if name not in race.costs:
            yield (name, "", "", "", "", "", "", "0", race.pyspark, why)


def _ratios(race: Race, name: str) -> tuple[tuple[str, str], str]:
    """Of CPU and wall time, the less the better, and of checks a second, the more the better."""
    cpu, wall = race.ratio(name), race.ratio(name, "wall")
    return (f"{cpu:.2f}", f"{wall:.2f}"), f"{1 / wall:.2f}"


def _remark(race: Race, name: str) -> str:
    differing = sorted(race.disagreements(name))
    remarks = [f"disagrees: {', '.join(differing[:5])}"] if differing else []
    remarks += [race.stopped[name]] if name in race.stopped else []
    remarks += [f"CPU ×: limit {race.limits[name]:g}"] if name in race.limits else []
    return "; ".join(remarks)
