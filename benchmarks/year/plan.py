"""What happens to the table in a year: which day lands with which error, and which days have a hiccup of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

import numpy as np
import pyarrow as pa

from test_generator.challenge.injector import ErrorKind, inject

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
LEARNED_DAYS = 30  # without a fault, before suggestions are asked for
WEEK = 7
HICCUPS = 0.1  # of the other days


class Hiccup(StrEnum):
    """What passes by itself, soon after the partition was due."""

    LATE = "late"
    HALF_LOADED = "half loaded"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A day whose partition lands with an error of the injector, in about ``share`` of its rows."""

    day: date
    kind: ErrorKind
    share: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The year's faults in their order, and the days with a hiccup: how long after it was due a day was right."""

    faults: tuple[Fault, ...]
    hiccups: Mapping[date, tuple[Hiccup, timedelta]]


def plan_of(tables: Mapping[date, pa.Table], seed: int) -> Plan:
    """One fault on a random day of each whole week after the first thirty days; every kind that changes this table
    comes once before any comes again. A tenth of the other days have a hiccup of at most 50 minutes.
    """
    generator, days = np.random.default_rng(seed), sorted(tables)
    faults: list[Fault] = []
    waiting: list[ErrorKind] = []
    for start in range(LEARNED_DAYS, len(days) - WEEK + 1, WEEK):
        day = days[start + int(generator.integers(WEEK))]
        share = SHARES[int(generator.integers(len(SHARES)))]
        own_seed = int(generator.integers(1_000_000))
        while True:
            waiting = waiting or _shuffled(generator)
            kind = waiting.pop()
            if inject(tables[day], kind, share, own_seed).changed:
                break
        faults.append(Fault(day=day, kind=kind, share=share, seed=own_seed))
    spoilt = {fault.day for fault in faults}
    hiccups = {
        day: (list(Hiccup)[int(generator.integers(2))], timedelta(minutes=int(generator.integers(5, 51))))
        for day in days
        if generator.random() < HICCUPS and day not in spoilt
    }
    return Plan(faults=tuple(faults), hiccups=hiccups)


def _shuffled(generator: np.random.Generator) -> list[ErrorKind]:
    kinds: Sequence[ErrorKind] = tuple(ErrorKind)
    return [kinds[at] for at in generator.permutation(len(kinds))]
