"""Which key, partition and freshness SLA the evidence of a dataset proposes, in the words of a catalog file (pure)."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from assay.time.durations import format_duration
from assay.time.windows import Granularity, Partitioning, UnableToPartition, Window
from execution_engine.language.serialise import length_shown
from execution_engine.vitals.arrival import LEAST_SLACK, SLACK
from execution_engine.vitals.commits import beats_of
from execution_engine.vitals.conformal import FEWEST, upper_bound

KEY, PARTITION, FRESHNESS = "primary_key", "partition", "slas.freshness"
KEY_ENDINGS = ("id", "key")  # of the names of columns that are meant as keys
FEWEST_FOLDERS = 2
LEAST_NAMED = 0.5  # of the periods from the first folder to the last
FRACTIONS = ("float", "double", "real", "decimal", "numeric")  # types of columns that are no keys to anybody
MISSED = 0.01  # of the partitions, that a proposed SLA lets be late
STEPS = tuple(timedelta(minutes=minutes) for minutes in (15, 60, 6 * 60, 24 * 60))  # SLAs are multiples of one
MOST_STEPS = 8  # of a size, before SLAs are rounded up to the next size
LONGEST = timedelta(days=30)  # SLA that is proposed
MOST_BEATS = 1.5  # in a partition's time: of more, commits do not say which one completed it


@dataclass(frozen=True, kw_only=True)
class ProposedValue:
    """A value for a field that nobody gives, both as a catalog file has them, and the evidence as a sentence."""

    field: str
    value: Any
    evidence: str

    @property
    def patch(self) -> dict[str, Any]:
        """The correction that accepts it."""
        section, _, name = self.field.rpartition(".")
        return {section: {name: self.value}} if section else {name: self.value}


@dataclass(frozen=True, kw_only=True)
class KeyTrial:
    """Columns that told all rows apart in windows of the past, and on how many later windows that held."""

    columns: tuple[str, ...]
    fitted: int
    held: int
    tried: int


def propose_key(trials: Sequence[KeyTrial], types: Mapping[str, str]) -> ProposedValue | None:
    """The fewest columns that told all rows apart in every window, those first that are called as keys are.

    ``types`` are those of the columns that are declared. Numbers with fractions are in no key.
    """
    whole = [
        trial
        for trial in trials
        if not any(types.get(column, "").lower().startswith(FRACTIONS) for column in trial.columns)
    ]
    sound = [trial for trial in whole if 0 < trial.tried == trial.held]
    if not sound:
        return None
    trial = min(sound, key=lambda trial: (len(trial.columns), sum(map(_has_other_name, trial.columns))))
    windows = trial.fitted + trial.tried
    columns = ", ".join(trial.columns)
    evidence = f"{columns}: no two rows of the last {windows} partitions are alike in it, and none lacks it."
    if len(sound) > 1:
        evidence += f" {len(sound) - 1} more would do: the suggestions list them."
    return ProposedValue(field=KEY, value=list(trial.columns), evidence=evidence)


def _has_other_name(column: str) -> bool:
    return not column.casefold().endswith(KEY_ENDINGS)


def propose_partition(partition: Mapping[str, str], count: int, last: str) -> ProposedValue | None:
    """The partition that so many folders name, up to that of the key ``last``.

    One folder alone proposes none, and neither do folders that leave out more periods than they name: each of these
    would be missing.
    """
    column, first, granularity = partition["column"], partition["first"], Granularity(partition["granularity"])
    partitioning = Partitioning(granularity=granularity, key_format=partition.get("key_format", ""))
    try:
        oldest, newest = partitioning.window(first), partitioning.window(last)
    except UnableToPartition:  # behind the end of the calendar, as 9999-12-31
        return None
    if count < max(FEWEST_FOLDERS, LEAST_NAMED * ((newest.end - oldest.start) / oldest.duration)):
        return None
    article = "an" if granularity is Granularity.HOUR else "a"
    evidence = (
        f"Its {count} folders are called {column}={first} to {column}={last}, {article} {granularity} each."
        " Days are taken for those of UTC."
    )
    return ProposedValue(field=PARTITION, value=dict(partition), evidence=evidence)


def propose_freshness(lengths: Sequence[float], *, allowed: timedelta, source: str) -> ProposedValue | None:
    """The SLA that a hundredth of the partitions misses, by how many seconds the last ones took, the oldest first.

    ``allowed`` is what holds without an SLA; ``source`` says what tells of the lengths.
    """
    if len(lengths) < FEWEST:
        return None
    middle = float(np.median(lengths))
    bound = max(upper_bound(np.array(lengths), MISSED), middle * (1 + SLACK), middle + LEAST_SLACK)
    sla = _round_up(timedelta(seconds=bound))
    if sla > LONGEST:
        return None
    usual, longest = (length_shown(Decimal(round(length))) for length in (middle, max(lengths)))
    evidence = (
        f"{source}: its last {len(lengths)} partitions were complete {usual} after their end as a rule, and"
        f" {longest} at most. Without an SLA, its tier allows {format_duration(allowed)}."
    )
    return ProposedValue(field=FRESHNESS, value=format_duration(sla), evidence=evidence)


def _round_up(length: timedelta) -> timedelta:
    """The next multiple of the first step that is coarse enough."""
    step = next((step for step in STEPS if length <= MOST_STEPS * step), STEPS[-1])
    return max(1, -(-length // step)) * step


def completion_lengths(commits: Sequence[datetime], windows: Sequence[Window]) -> list[float]:
    """How many seconds after the end of each window the next commits were over; both the oldest first.

    Windows before the first commit and behind the last say nothing. Of a table with several loads in the time of a
    window no commit is known to be the last of one: nothing is returned.
    """
    beats = beats_of(commits)
    seen = [window for window in windows if beats and beats[0].start <= window.end <= beats[-1].start]
    if not seen:
        return []
    starts = [beat.start for beat in beats]
    within = bisect_left(starts, seen[-1].end) - bisect_left(starts, seen[0].start)
    if within > MOST_BEATS * len(seen):
        return []
    return [(beats[bisect_left(starts, window.end)].end - window.end).total_seconds() for window in seen]
