"""The rules that profiles cannot answer: keys, and what columns tell of others, looked for in all rows (pure)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import pyarrow as pa

from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import quoted
from execution_engine.profiles.profile import ColumnProfile

from .dependencies import (
    Dependency,
    Inclusion,
    Key,
    codes_of,
    combined,
    dependencies,
    inclusions,
    is_key,
    minimal_keys,
    share_included,
    without_implied,
)
from .rules import REACH, sql_name

MOST_KEYS = 5
MOST_DEPENDENCIES = 20


@dataclass(frozen=True, kw_only=True)
class OfRows:
    """An assertion on some columns, why it is offered, and whether a window's rows meet it."""

    rule: str
    columns: tuple[str, ...]
    assertion: str
    why: str
    holds: Callable[[pa.Table], bool]

    def holds_in(self, rows: pa.Table | None) -> bool:
        """Not where a column is not there, or its rows are not known."""
        return rows is not None and set(self.columns) <= set(rows.column_names) and self.holds(rows)


def of_keys(rows: pa.Table) -> Iterator[OfRows]:
    """The fewest columns that together tell all rows apart."""
    for names in minimal_keys(rows, most_keys=MOST_KEYS):
        yield OfRows(
            rule="Key",
            columns=names,
            assertion=f"uniqueness({_listed(names)}) = 1",
            why="no two rows were alike in them",
            holds=lambda window, names=names: is_key(window, names),  # type: ignore[misc]
        )


def of_dependencies(rows: pa.Table, lengths: Sequence[int]) -> Iterator[OfRows]:
    """Columns that tell another one: the largest evidence first; ``lengths``: of the windows in the rows."""
    found = without_implied(dependencies(rows, np.repeat(np.arange(len(lengths)), lengths)))
    for one in found[:MOST_DEPENDENCIES]:
        yield _exact(one) if one.share == 1 else _approximate(one, rows, lengths)


def of_inclusions(rows: pa.Table, profiles: Mapping[str, ColumnProfile], keys: Sequence[Key]) -> Iterator[OfRows]:
    """Columns whose values are those of another dataset's key."""
    for one in inclusions(rows, profiles, keys):
        yield _reference(one)


def share_of_left_sides(rows: pa.Table, left: Sequence[str], right: str) -> float:
    """How many left sides there are for each pair of a left and a right side: 1 where the left tells the right."""
    lefts = [codes_of(rows.column(name)) for name in left]
    present = np.logical_and.reduce([codes >= 0 for codes in lefts])
    if not present.any():
        return 1.0
    groups = combined([codes[present] for codes in lefts])
    pairs = combined([groups, codes_of(rows.column(right))[present] + 1])
    return float((groups.max() + 1) / (pairs.max() + 1))


def _exact(one: Dependency) -> OfRows:
    few, many = _counts(one)
    return OfRows(
        rule="FunctionalDependency",
        columns=(*one.left, one.right),
        assertion=f"{many} = {few}",
        why=f"{' and '.join(one.left)} told {one.right} in all rows",
        holds=lambda window: share_of_left_sides(window, one.left, one.right) == 1,
    )


def _approximate(one: Dependency, rows: pa.Table, lengths: Sequence[int]) -> OfRows:
    few, many = _counts(one)
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    parts = [rows.slice(start, length) for start, length in zip(starts, lengths, strict=True)]
    shares = [share_of_left_sides(part, one.left, one.right) for part in parts]
    least = max(0.0, floor(100 * (min(shares) - REACH / 2 * float(np.std(shares)))) / 100)
    share = floor(100_000 * one.share) / 1000
    return OfRows(
        rule="FunctionalDependency",
        columns=(*one.left, one.right),
        assertion=f"{few} / {many} >= {least:g}",
        why=f"{' and '.join(one.left)} told {one.right} in {share:g} % of the rows, not in all",
        holds=lambda window: share_of_left_sides(window, one.left, one.right) >= least,
    )


def _counts(one: Dependency) -> tuple[str, str]:
    """How many left sides there are, and how many pairs of a left and a right side; NULL on the left says nothing."""
    where = (
        "" if not one.has_null else f", where={quoted(' and '.join(f'{sql_name(n)} is not null' for n in one.left))}"
    )
    return f"distinct_count({_listed(one.left)}{where})", f"distinct_count({_listed((*one.left, one.right))}{where})"


def _reference(one: Inclusion) -> OfRows:
    key = one.key
    least = "= 1" if one.share == 1 else ">= 0.99"
    share = floor(100_000 * one.share) / 1000
    told, rest = ("all values", "") if one.share == 1 else (f"{share:g} % of the values", ", the others not")
    call = f"referential_integrity({written(one.column)}, {quoted(key.dataset)}, to={quoted(written(key.column))})"
    bound = 1.0 if one.share == 1 else 0.99
    return OfRows(
        rule="InclusionDependency",
        columns=(one.column,),
        assertion=f"{call} {least}",
        why=f"{told} were among the {key.profile.rows:,} of {key.dataset}.{key.column}{rest}",
        holds=lambda window: share_included(window.column(one.column), key.values) >= bound,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(written, names))
