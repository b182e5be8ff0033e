"""CPU-seconds and wall time of one call: of this process, its JVM and its workers, those that have ended included."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, sleep
from typing import TypeVar

import psutil

T = TypeVar("T")
SETTLE_SECONDS = 3.0
STEP_SECONDS = 0.1
IDLE = 0.2  # of one core: what remains when nothing is left to do


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a call cost, in seconds; ``cpu`` with what it left the JVM to do, such as collecting its garbage."""

    wall: float
    cpu: float


def metered(call: Callable[[], T]) -> tuple[T, Cost]:
    """What the call gave and what it cost; what measuring costs is left out."""
    others, own, started = children_seconds(), own_seconds(), monotonic()
    result = call()
    wall, spent = monotonic() - started, own_seconds() - own
    return result, Cost(wall=wall, cpu=spent + settled_children_seconds() - others)


def own_seconds() -> float:
    """CPU-seconds spent so far by this process, and by children of its that it has seen end."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def children_seconds() -> float:
    """CPU-seconds spent so far by all processes that this one started and that still run, and by theirs that ended."""
    return sum(seconds_of(process) for process in psutil.Process().children(recursive=True))


def settled_children_seconds() -> float:
    """The same, once it has stopped growing."""
    deadline = monotonic() + SETTLE_SECONDS
    spent = children_seconds()
    while monotonic() < deadline:
        sleep(STEP_SECONDS)
        before, spent = spent, children_seconds()
        if spent - before < IDLE * STEP_SECONDS:
            break
    return spent


def seconds_of(process: psutil.Process) -> float:
    """Of one process and of its children that have ended; 0 when it has just ended itself."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return sum(getattr(times, kind, 0.0) for kind in ("user", "system", "children_user", "children_system"))
