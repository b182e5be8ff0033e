"""The batches to be judged: each as it is, and once with each error in each share of its rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import pyarrow as pa

from execution_engine.profiles.gather import column_profile, gathered_profile
from execution_engine.profiles.profile import Profile
from test_generator.challenge.injector import ErrorKind, inject

SIX = tuple(ErrorKind)[:6]  # of Redyuk et al.
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
FIRST = 8  # batches that are accepted before the first is judged


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One batch; ``kind`` and ``share`` are None where it is sound."""

    profile: Profile
    kind: ErrorKind | None = None
    share: float | None = None


def judged_at(batches: int, every: int) -> list[int]:
    """The places of the batches that are judged."""
    return list(range(FIRST, batches, every))


def trials_of(table: pa.Table, sound: Profile, kinds: tuple[ErrorKind, ...], seed: int) -> Iterator[Trial]:
    """The sound batch first; errors that change nothing are left out."""
    yield Trial(profile=sound)
    for kind in kinds:
        for number, share in enumerate(SHARES):
            injected = inject(table, kind, share, seed * len(SHARES) + number)
            if injected.changed:
                yield Trial(profile=_profiled(injected.table, injected.columns, sound), kind=kind, share=share)


def _profiled(table: pa.Table, changed: tuple[str, ...], sound: Profile) -> Profile:
    """Anew where values have changed: in the columns that are named, or everywhere."""
    if not changed:
        return gathered_profile([table], sound.start)
    columns = {**sound.columns, **{name: column_profile(table[name], sound.start) for name in changed}}
    return Profile(rows=table.num_rows, columns=columns, start=sound.start)


def sizes(batches: int, every: int) -> str:
    """How many are judged."""
    return f"{ceil((batches - FIRST) / every)} of {batches} batches"
