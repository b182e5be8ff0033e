"""What the fuzz of the guard says while it runs, and at the end."""

import time
from collections.abc import Callable, Sequence

from tests.fuzz.guard import Runs, Tally
from tests.fuzz.guard_canaries import KINDS
from tests.fuzz.guard_controls import Controls, of_each_kind

EVERY = 15.0  # seconds between two lines of progress


class Progress:
    """Says every few seconds how far a part is; ``seconds``: how long each part took."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.seconds: dict[str, float] = {}
        self._told_at = 0.0

    def begin(self, part: str) -> None:
        """The next part."""
        self.part, self._began = part, time.monotonic()
        self._told_at = self._began

    def done(self, count: int, total: int, touched: int = 0) -> None:
        """``count`` of ``total`` are done, and ``touched`` of them touched a canary."""
        now = time.monotonic()
        self.seconds[self.part] = now - self._began
        if now - self._told_at >= EVERY or count == total:
            self._told_at = now
            tail = f", {touched:,} touched a canary" if touched else ""
            self.say(f"{self.part}: {count:,} of {total:,} in {now - self._began:.0f} s{tail}")


def judged(tally: Tally) -> str:
    """What the guard said of the mutants."""
    ends = ("accepted", "refused", "fault")
    lines = [f"{'mutants':>28}{_row(ends)}"]
    for kind in ("with an attack", "honest"):
        lines.append(f"{kind:>28}{_row([f'{tally.ends[kind, end]:,}' for end in ends])}")
    lines.append(f"slowest answer of the guard: {tally.slowest[0] * 1000:.0f} ms (mutant {tally.slowest[1]})")
    return "\n".join(lines)


def ran(accepted: Runs, refused: Runs) -> str:
    """How the statements ended that were run."""
    ends = ("gave rows", "refused by Spark", "took too long")
    lines = [f"{'run in Spark':>28}{_row((*ends, 'touched a canary'))}"]
    for name, one in (("accepted, each unlike", accepted), ("refused, guard off", refused)):
        lines.append(
            f"{name:>28}{_row([f'{count:,}' for count in (*(one.ends[end] for end in ends), len(one.touched))])}"
        )
    return "\n".join(lines)


def touched(hardened: Controls, bare: Controls, refused: Runs, accepted: Runs) -> str:
    """For each kind of canary, what touched it."""
    heads = ("control, bare Spark", "control, our Spark", "refused, guard off", "accepted")
    lines = [f"{'touched':>28}{_row(heads)}"]
    for kind, total in sorted(of_each_kind().items(), key=lambda item: KINDS.index(item[0])):
        controls = [f"{one.alive[kind]} of {total}" for one in (bare, hardened)]
        lines.append(f"{kind:>28}{_row((*controls, *(f'{one.canaries[kind]:,}' for one in (refused, accepted))))}")
    for kind in KINDS:
        sql = next((sql for _, names, sql in refused.touched if kind in names), None)
        lines += [] if sql is None else [f"touched {kind} with the guard off: {sql[:150]!r}"]
    lines += [f"stopped by Spark's own settings: {sql}\n    {why[:150]}" for sql, why in hardened.dead.items()]
    return "\n".join(lines)


def took(progress: Progress, machine: str) -> str:
    """How long each part took, and all of them."""
    parts = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in progress.seconds.items())
    return f"in all {sum(progress.seconds.values()) / 60:.1f} minutes on {machine}: {parts}"


def _row(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>21}" for cell in cells)
