"""Columns of a batch beside those of its past: which are gone, of another kind, or new."""

from math import inf

from execution_engine.profiles.column import ColumnKind
from execution_engine.profiles.profile import Profile

from .batch import WHOLE_BATCH
from .past import Past
from .statistics import Shown
from .terms import LEARNING
from .verdict import Cause


def changed_columns(profile: Profile, past: Past) -> tuple[list[Cause], tuple[str, ...]]:
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
        known = {kind for kind in kinds if kind is not ColumnKind.NOTHING}
        if known and column.kind not in (*known, ColumnKind.NOTHING):
            causes.append(_of_words(name, "kind of the values", column.kind, " or ".join(sorted(known))))
        if not kinds:
            notes.append(f"{name} is new: it is judged once {LEARNING} batches with it are accepted")
        elif len(kinds) < LEARNING:
            notes.append(f"{name} is known from {len(kinds)} batches alone: little of it can be judged")
    return causes, tuple(notes)


def _of_words(column: str, statistic: str, value: str, expected: str) -> Cause:
    return Cause(column=column, statistic=statistic, shown=Shown.NUMBER, value=value, expected=expected, z=inf)
