"""Contenders of one environment against g in the same process: samples by name, and who was stopped."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.data.spoilt import ROWS as SPOILT_ROWS
from benchmarks.data.spoilt import spoilt_trips

from .child import Child, Event, UnableToRun
from .environments import Environment
from .meter import Cost

PATIENCE = 5  # × the base: who takes longer is stopped, and counts as slower
LEAST_SECONDS = 90.0  # given to everyone: at small sizes a peer is slow, but its figure is soon there
START_SECONDS = 1_800.0


@dataclass(frozen=True, kw_only=True)
class Course:
    """What is checked, how often, and how often before that to warm up; first the spoilt table, where there is one."""

    path: str
    rows: int
    repeats: int
    warm_ups: int = 1
    spoilt: bool = True
    hurry: bool = True  # whether who is much slower than the first is stopped
    limits: Mapping[str, float] = field(default_factory=dict)  # what a contender's CPU × may be at most


@dataclass(kw_only=True)
class Race:
    """What one environment gave at one size; ``found`` is what failed on the spoilt table, ``failed`` on the sound."""

    environment: str
    pyspark: str = ""
    base: str = "g"  # what the others are divided by
    costs: dict[str, list[Cost]] = field(default_factory=lambda: defaultdict(list))
    checks: dict[str, int] = field(default_factory=dict)
    found: dict[str, frozenset[str]] = field(default_factory=dict)
    failed: dict[str, frozenset[str]] = field(default_factory=dict)
    cannot: dict[str, frozenset[str]] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    def ratio(self, name: str, kind: str = "cpu") -> float:
        """The median of the rounds' own ratios to the base, per check: what slows a round down slows both."""
        pairs = zip(self.costs[name], self.costs[self.base], strict=False)
        ratios: list[float] = [getattr(own, kind) / getattr(base, kind) for own, base in pairs]
        return median(ratios) * self.checks[self.base] / self.checks[name]

    def disagreements(self, name: str) -> frozenset[str]:
        """The checks on which it says another thing than what was written by hand; not those it cannot say."""
        by_hand = "g_400" if name.endswith("_400") else self.base
        if by_hand not in self.failed or self.checks[name] != self.checks[by_hand]:
            return self.failed[name]
        differing = self.failed[name] ^ self.failed[by_hand]
        differing |= self.found.get(name, frozenset()) ^ self.found.get(by_hand, frozenset())
        return frozenset(check for check in differing if check.split(" of ")[0] not in self.cannot.get(name, ()))


def race(environment: Environment, names: Sequence[str], course: Course) -> Race:
    """Each contender in turns, after all were seen to find what is wrong with the spoilt table."""
    order = {
        "names": list(names),
        "spoilt": {"path": str(spoilt_trips()), "rows": SPOILT_ROWS} if course.spoilt else None,
        "sound": {"path": course.path, "rows": course.rows},
        "rounds": course.repeats + course.warm_ups,
    }
    result = Race(environment=environment.name, base=names[0], limits=course.limits)
    child = Child(environment.python(), "benchmarks.engine.runner", order)
    try:
        for event in _events(child, result, course.hurry):
            _take(event, result, course.warm_ups)
    finally:
        child.close()
    return result


def _events(child: Child, result: Race, hurry: bool) -> Iterator[Event]:
    """Until the end, or until somebody has to be stopped; the reason is noted."""
    running, seconds, base = "", START_SECONDS, 0.0
    try:
        while (event := child.event(seconds)) is not None:
            running = event.get("name", running)
            if event["event"] == "ran" and running == result.base:
                base = event["wall"]
            limited = hurry and event["event"] == "running" and running != result.base
            seconds = max(LEAST_SECONDS, PATIENCE * base) if limited else START_SECONDS
            yield event
    except TimeoutError:
        result.stopped[running] = f"stopped after {seconds:.0f} s"
    except UnableToRun as error:
        result.stopped[running] = str(error)


def _take(event: Event, result: Race, warm_ups: int) -> None:
    match event["event"]:
        case "started":
            result.pyspark = event["pyspark"]
        case "found":
            result.found[event["name"]] = frozenset(event["failed"])
            result.cannot[event["name"]] = frozenset(event["cannot"])
        case "ran":
            result.failed[event["name"]] = frozenset(event["failed"])
            result.checks[event["name"]] = event["checks"]
            if event["round"] >= warm_ups:
                result.costs[event["name"]].append(Cost(wall=event["wall"], cpu=event["cpu"]))


def as_json(result: Race) -> dict[str, Any]:
    """All samples, rounded to milliseconds."""
    costs = {
        name: [{"wall": round(cost.wall, 3), "cpu": round(cost.cpu, 3)} for cost in costs]
        for name, costs in result.costs.items()
    }
    return {
        "environment": result.environment,
        "pyspark": result.pyspark,
        "base": result.base,
        "checks": result.checks,
        "costs": costs,
        "disagreements": {name: sorted(result.disagreements(name)) for name in costs},
        "stopped": result.stopped,
        "limits": dict(result.limits),
    }
