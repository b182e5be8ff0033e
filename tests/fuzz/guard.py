"""The guard against mutants: what it lets through is run among canaries, and so is a share of what it refuses."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from execution_engine.guard import UnableToAllow, read_condition, read_query
from tests.fuzz.guard_mutants import Mutant, mutant
from tests.fuzz.guard_sandbox import Sandbox
from tests.integration.engines import guarded
from tests.unit.execution_engine.guard import golden

SECONDS = 15.0  # for one statement: a killed Spark takes longer than that to come back
Tell = Callable[[int, int, int], None]  # how many are done, of how many, and how many touched a canary


@dataclass(kw_only=True)
class Tally:
    """How mutants ended; ``accepted``: each SQL that would be run, with the first number that gave it."""

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    accepted: dict[str, int] = field(default_factory=dict)
    refused: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)

    def add(self, other: "Tally") -> None:
        """Adds what another process found."""
        self.ends += other.ends
        self.accepted = other.accepted | self.accepted
        self.refused += other.refused
        self.faults += other.faults
        self.slowest = max(self.slowest, other.slowest)

    @property
    def count(self) -> int:
        """The number of mutants."""
        return sum(self.ends.values())


def judge(start: int, count: int) -> Tally:
    """What the guard says of ``count`` mutants from number ``start``."""
    tally = Tally()
    for seed in range(start, start + count):
        one = mutant(seed)
        kind = "with an attack" if one.is_attack else "honest"
        began = time.process_time()
        try:
            tally.accepted.setdefault(allowed(one), seed)
            tally.ends[kind, "accepted"] += 1
        except UnableToAllow:
            tally.ends[kind, "refused"] += 1
            if one.is_attack:
                tally.refused.append(seed)
        except Exception as error:  # the guard must answer every text; anything else is a fault of its own
            tally.ends[kind, "fault"] += 1
            tally.faults.append(f"{seed}: {type(error).__name__}: {error}")
        tally.slowest = max(tally.slowest, (time.process_time() - began, seed))
    return tally


def allowed(one: Mutant) -> str:
    """The SQL that would be run for the mutant; UnableToAllow if none."""
    if one.is_condition:
        return _asked(read_condition(one.text, golden.COLUMNS).sql)
    return read_query(one.text, golden.TABLES, golden.COLUMNS).over(guarded.VIEWS)


def unguarded(one: Mutant) -> str:
    """The SQL that would be run for the mutant if there were no guard."""
    return _asked(one.text) if one.is_condition else one.text


def _asked(condition: str) -> str:
    return f"select count(*) from guarded_trips where ({condition})"


@dataclass(kw_only=True)
class Runs:
    """What became of the statements run, and which touched a canary."""

    ends: Counter[str] = field(default_factory=Counter)
    touched: list[tuple[int, tuple[str, ...], str]] = field(default_factory=list)

    @property
    def canaries(self) -> Counter[str]:
        """How often each canary was touched."""
        return Counter(name for _, names, _ in self.touched for name in names)


def run_accepted(sandbox: Sandbox, tally: Tally, tell: Tell) -> Runs:
    """Runs all that the guard lets through, mutants with an attack in them first."""
    order = sorted(tally.accepted.items(), key=lambda item: (not mutant(item[1]).is_attack, item[1]))
    return _run(sandbox, order, tell, fresh=False)


def run_refused(sandbox: Sandbox, tally: Tally, most: int, tell: Tell) -> Runs:
    """Runs up to ``most`` as if there were no guard: the attacks as they are, then mutants that the guard refuses."""
    attacks = [(text, -1) for texts in golden.payloads().values() for text in texts]
    seeds = random.Random(len(tally.refused)).sample(tally.refused, len(tally.refused))
    chosen: dict[str, int] = {}
    for sql, seed in chain(attacks, ((unguarded(mutant(seed)), seed) for seed in seeds)):
        if len(chosen) < most and sandbox.may_run(sql):
            chosen.setdefault(sql, seed)
    return _run(sandbox, list(chosen.items()), tell, fresh=True)


def _run(sandbox: Sandbox, statements: Sequence[tuple[str, int]], tell: Tell, *, fresh: bool) -> Runs:
    runs = Runs()
    for count, (sql, seed) in enumerate(statements, 1):
        told = sandbox.run(sql, SECONDS, fresh=fresh)
        runs.ends[told.ended] += 1
        if told.touched:
            runs.touched.append((seed, told.touched, sql))
        tell(count, len(statements), len(runs.touched))
    return runs
