"""Columns of a batch beside those of its past: which are gone, of another kind, or new."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from execution_engine.profiles.profile import TableProfile, ValueKind
from execution_engine.profiles.values import Floats

from .batch import matched
from .days import LEARNING
from .past import Past
from .statistics import PLACE, WHOLE_BATCH, Notation
from .verdict import Cause

MOST_NEW = 10  # values never seen before that a cause names
USUALLY_NEW = 0.05  # of the rows of a usual batch: from here on a new value says nothing


def changed_columns(profile: TableProfile, past: Past) -> tuple[list[Cause], tuple[str, ...]]:
    """Columns that are gone or of another kind, and notes of those that are new or not yet known well enough."""
    causes, notes = [], []
    last = past.batches[-len(past.history.scaled) :]
    for name in sorted({*past.names, *profile.columns} - {WHOLE_BATCH}):
        kinds = [batch.kinds[name] for batch in last if name in batch.kinds]
        column = profile.columns.get(name)
        if column is None:
            if len(kinds) == len(last):
                causes.append(_of_words(name, "column", "missing", "there"))
            continue
        value_kinds = {kind for kind in kinds if kind is not ValueKind.NOTHING}
        if value_kinds and column.kind not in (*value_kinds, ValueKind.NOTHING):
            causes.append(_of_words(name, "kind of the values", column.kind, " or ".join(sorted(value_kinds))))
        if not kinds:
            notes.append(f"{name} is new: it is judged once {LEARNING} batches with it are accepted")
        elif len(kinds) < LEARNING:
            notes.append(f"{name} is known from {len(kinds)} batches alone: little of it can be judged")
    return causes, tuple(notes)


def moved_cause(
    name: str | None,
    words: str,
    notation: Notation,
    value: float,
    usual: Floats,
    z: float,
    before: Floats,
    when: str = "",
) -> Cause:
    """A statistic that moved, beside those of the batches that it was compared with, and of the last ones."""
    numbers = usual[~np.isnan(usual)]
    low, high = np.quantile(numbers, [0.05, 0.95]).tolist()
    return Cause(
        column=name,
        statistic=words,
        notation=notation,
        value=value,
        expected=float(np.median(numbers)),
        low=low,
        high=high,
        when=when,
        z=z,
        before=tuple(before.tolist()),
    )


def with_new_values(causes: Sequence[Cause], profile: TableProfile, past: Past) -> list[Cause]:
    """The first cause of each column names the column's new values."""
    first = {cause.column: at for at, cause in reversed(list(enumerate(causes))) if cause.column is not None}
    renewed = [replace(cause, new_values=()) for cause in causes]
    for name, at in first.items():
        column, pool = profile.columns.get(name), past.pools.get(name)
        if column is None or pool is None or pool.values.cut or pool.kind is not column.kind:
            continue
        usual = past.history.shown[:, past.names.index(name), PLACE["values_new"]]
        if not np.nanmedian(np.append(usual, 0.0)) > USUALLY_NEW:  # else they are nothing new, as those of an id
            new_values = column.values.labels_of(matched(column.values, pool.values) == 0, MOST_NEW)
            renewed[at] = replace(causes[at], new_values=new_values)
    return renewed


def _of_words(column: str, statistic: str, value: str, expected: str) -> Cause:
    return Cause(column=column, statistic=statistic, notation=Notation.NUMBER, value=value, expected=expected, z=inf)
