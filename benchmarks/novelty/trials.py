"""The batches to be judged: each as it is, and once with each error in each share of its rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

import pyarrow as pa

from execution_engine.profiles.gather import ReadColumn, gathered_profile, profile_of, read_column
from execution_engine.profiles.profile import TableProfile
from test_generator.challenge.injector import SHARES, ErrorKind, inject, shares_of

SIX = tuple(ErrorKind)[:6]  # of Redyuk et al.
FIRST = 8  # batches that are accepted before the first is judged


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One batch; ``kind`` and ``share`` are None where it is sound."""

    profile: TableProfile
    kind: ErrorKind | None = None
    share: float | None = None


def judged_at(batches: int, every: int) -> list[int]:
    """The places of the batches that are judged."""
    return list(range(FIRST, batches, every))


def trials_of(table: pa.Table, before: pa.Table, kinds: tuple[ErrorKind, ...], seed: int) -> Iterator[Trial]:
    """The sound batch first; errors that change nothing are left out. Stale copies have rows of the batch before."""
    sound = {name: read_column(table[name]) for name in table.column_names}
    yield Trial(profile=profile_of(sound, table.num_rows, None))
    for kind in kinds:
        for number, share in enumerate(shares_of(kind)):
            injected = inject(table, kind, share, seed * len(SHARES) + number, before)
            if injected.changed:
                yield Trial(profile=_profiled(injected.table, injected.columns, sound), kind=kind, share=share)


def _profiled(table: pa.Table, changed: tuple[str, ...], sound: Mapping[str, ReadColumn]) -> TableProfile:
    """Anew where values have changed: in the columns that are named, or everywhere."""
    if not changed:
        return gathered_profile([table])
    columns = {**sound, **{name: read_column(table[name]) for name in changed}}
    return profile_of(columns, table.num_rows, None)


def sizes(batches: int, every: int) -> str:
    """How many are judged."""
    return f"{ceil((batches - FIRST) / every)} of {batches} batches"
