"""The guard against mutants: what it lets through is run among canaries, and so is a share of what it refuses."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field

from execution_engine.guard import UnableToAllow, read_condition, read_query
from tests.fuzz.guard_mutants import Mutant, mutant
from tests.fuzz.guard_sandbox import Sandbox
from tests.integration.engines import guarded
from tests.unit.execution_engine.guard import golden

MAX_RUN = 1_800  # mutants run in Spark, beside the attacks themselves
MAX_REFUSED_RUN = 200  # of them, some that the guard refuses: to see that the canaries live
SECONDS = 15.0  # for one statement: a killed Spark takes longer than that to come back


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
            if one.is_attack and not one.is_condition:
                tally.refused.append(seed)
        except Exception as error:  # the guard must answer every text; anything else is a fault of its own
            tally.ends[kind, "fault"] += 1
            tally.faults.append(f"{seed}: {type(error).__name__}: {error}")
        tally.slowest = max(tally.slowest, (time.process_time() - began, seed))
    return tally


def allowed(one: Mutant) -> str:
    """The SQL that would be run for the mutant; UnableToAllow if none."""
    if one.is_condition:
        return f"select count(*) from guarded_trips where ({read_condition(one.text, golden.COLUMNS).sql})"
    return read_query(one.text, golden.TABLES, golden.COLUMNS).over(guarded.VIEWS)


@dataclass(kw_only=True)
class Runs:
    """What became of the statements run, and which touched a canary."""

    ends: Counter[str] = field(default_factory=Counter)
    touched: list[tuple[int, tuple[str, ...], str]] = field(default_factory=list)

    @property
    def canaries(self) -> Counter[str]:
        """How often each canary was touched."""
        return Counter(name for _, names, _ in self.touched for name in names)


def run_accepted(sandbox: Sandbox, tally: Tally, most: int) -> Runs:
    """Runs what the guard lets through, mutants with an attack in them first."""
    chance = random.Random(len(tally.accepted))
    order = sorted(tally.accepted.items(), key=lambda item: (not mutant(item[1]).is_attack, chance.random()))
    runs = Runs()
    for sql, seed in order[:most]:
        _note(runs, sandbox, sql, seed, fresh=False)
    return runs


def run_refused(sandbox: Sandbox, tally: Tally, most: int) -> Runs:
    """Runs the attacks as they are, then ``most`` mutants that the guard refuses, as if there were no guard."""
    runs = Runs()
    attacks = [(text, -1) for texts in golden.payloads().values() for text in texts]
    mutants = [(one.text, one.seed) for one in map(mutant, tally.refused[: 3 * most])]
    usable = [(sql, seed) for sql, seed in (*attacks, *mutants) if sandbox.may_run(sql)]
    for sql, seed in usable[: sum(seed < 0 for _, seed in usable) + most]:
        _note(runs, sandbox, sql, seed, fresh=True)
    return runs


def _note(runs: Runs, sandbox: Sandbox, sql: str, seed: int, *, fresh: bool) -> None:
    told = sandbox.run(sql, SECONDS, fresh=fresh)
    runs.ends[told.ended] += 1
    if told.touched:
        runs.touched.append((seed, told.touched, sql))


def table(tally: Tally, accepted: Runs, refused: Runs) -> str:
    """What was tried and what came of it."""
    ends = ("accepted", "refused", "fault")
    lines = [f"{'mutants':>28}{''.join(f'{end:>20}' for end in ends)}"]
    for kind in ("with an attack", "honest"):
        lines.append(f"{kind:>28}{''.join(f'{tally.ends[kind, end]:>20,}' for end in ends)}")
    runs = ("gave rows", "refused by Spark", "took too long")
    lines.append(f"{'run in Spark':>28}{''.join(f'{end:>20}' for end in (*runs, 'touched a canary'))}")
    for name, one in ((f"accepted ({len(tally.accepted):,} unlike)", accepted), ("refused, guard off", refused)):
        counts = "".join(f"{one.ends[end]:>20,}" for end in runs)
        lines.append(f"{name:>28}{counts}{len(one.touched):>20,}")
    lines.append(f"canaries touched with the guard off: {dict(refused.canaries)}")
    lines.append(f"slowest answer of the guard: {tally.slowest[0] * 1000:.0f} ms (mutant {tally.slowest[1]})")
    return "\n".join(lines)
