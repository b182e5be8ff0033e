"""Where a batch breaks the schema that was inferred from those before it."""

from collections.abc import Iterator, Mapping
from math import inf

import numpy as np
import numpy.typing as npt

from execution_engine.novelty.columns import changed_columns
from execution_engine.novelty.measures.measure import above, below
from execution_engine.novelty.measures.statistics import PLACE, RARE, Shown
from execution_engine.novelty.past import Past
from execution_engine.novelty.verdict import Cause, Status, Verdict
from execution_engine.profiles.column import ColumnProfile
from execution_engine.profiles.lints import are_secret
from execution_engine.profiles.profile import Profile

from .infer import infer
from .schema import ColumnSchema

Counts = tuple[float, ...]
Floats = npt.NDArray[np.float64]

MOST_NEW = 10  # values outside a domain that an anomaly names


def judged(profile: Profile, past: Past) -> Verdict:
    """The verdict by the schema: its score is the number of anomalies, and any is too many."""
    causes, notes = changed_columns(profile, past)
    columns = infer(past).columns
    for name, column in profile.columns.items():
        if name in columns and column.rows:
            causes += _of_column(name, column, columns[name], past)
    status = Status.NOVEL if causes else Status.LIKE
    return Verdict(status=status, score=float(len(causes)), threshold=0.0, causes=tuple(causes), notes=notes)


def _of_column(name: str, column: ColumnProfile, schema: ColumnSchema, past: Past) -> Iterator[Cause]:
    """The anomalies of one column; of values of another kind no more is said, as this is an anomaly of its own."""
    at = past.names.index(name)
    share = column.present / column.rows
    if schema.presence is not None and share < schema.presence - _one_row(column, past, at):
        yield Cause(
            column=name, statistic="share of complete values", shown=Shown.SHARE, value=share, expected=None,
            low=schema.presence, high=1.0, z=inf, before=_before(past.history.shown[:, at, PLACE["complete"]]),
        )  # fmt: skip
    if column.kind is schema.kind:
        before = {each: _before(past.history.rare[:, at, place]) for place, each in enumerate(RARE)}
        yield from _of_values(name, column, schema, before)
        yield from _of_numbers(name, column, schema, before)


def _of_values(name: str, column: ColumnProfile, schema: ColumnSchema, before: Mapping[str, Counts]) -> Iterator[Cause]:
    if schema.domain is not None:
        values, known = column.values, len(schema.domain)
        new = ~np.isin(values.keys, schema.domain)
        if count := int(values.counts[new].sum()) + values.cut:
            order = np.lexsort((values.keys[new], -values.counts[new]))[:MOST_NEW]
            labels = tuple(label for label in values.labels[new][order].tolist() if label is not None)
            words = f"rows outside the {known} known values" if known > 1 else "rows without the one known value"
            yield _counted(name, words, count, before["values_new"], () if are_secret(labels) else labels)
    if schema.is_unique and (count := round(column.present - column.distinct)) > 0:
        yield _counted(name, "rows that repeat a value", count)


def _of_numbers(
    name: str, column: ColumnProfile, schema: ColumnSchema, before: Mapping[str, Counts]
) -> Iterator[Cause]:
    numbers = column.numbers
    if numbers is None or not numbers.finite:
        return
    if schema.low is not None and (count := round(below(numbers, schema.low))):
        yield _counted(name, f"rows below {schema.low:,.6g}", count, before["below"])
    if schema.high is not None and (count := round(above(numbers, schema.high))):
        yield _counted(name, f"rows above {schema.high:,.6g}", count, before["above"])
    if schema.is_whole and (count := numbers.finite - numbers.wholes):
        yield _counted(name, "numbers with a fraction", count, before["broken"])


def _one_row(column: ColumnProfile, past: Past, at: int) -> float:
    """Of a batch that is smaller than the usual one, one missing value alone is no news."""
    usual = float(np.nanmedian(past.history.of[:, at, RARE.index("complete")]))
    return 1.5 / column.rows if column.rows < usual else 1e-9


def _counted(name: str, words: str, count: float, before: Counts = (), new: tuple[object, ...] = ()) -> Cause:
    return Cause(
        column=name, statistic=words, shown=Shown.COUNT, value=count, expected=0.0, z=inf, new_values=new, before=before
    )


def _before(history: Floats) -> Counts:
    return tuple(history.tolist())
