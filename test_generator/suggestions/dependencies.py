"""Functional dependencies: columns whose values tell those of another column (pure).

Left sides are tried level by level, the small ones first, as TANE does (Huhtala et al. 1999). On a sample, each row is
compared with the first one of the same left side, in all columns at once; what is left is confirmed in all rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import floor, prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import quoted
from execution_engine.profiles.gather import column_profile
from execution_engine.profiles.profile import ColumnProfile, ValueKind
from execution_engine.profiles.report import may_be_key
from execution_engine.profiles.values import DistinctSample, Ints

from .rules import REACH, Candidate, sql_name

# Columns as numbers of their different values, which keys and dependencies are looked for in (pure).

Codes = Ints

NULL = -1
FEW = 1 << 16  # places that are cheaper to mark than codes to sort
_NESTED = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_struct, pa.types.is_map)


def is_nested(type_: pa.DataType) -> bool:
    """Lists, structs and maps, whose values are not compared."""
    return any(is_it(type_) for is_it in _NESTED)


def codes_of(column: pa.ChunkedArray) -> Codes:
    """A number for each different value, from 0 on; NULL is -1, and both zeros are one value."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
    indices = pc.dictionary_encode(column.combine_chunks()).indices
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    codes: Codes = pc.fill_null(indices, NULL).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def combined(columns: Sequence[Codes]) -> Codes:
    """A number for each different row of columns without NULL, from 0 on."""
    together = dense(columns[0])
    for column in columns[1:]:
        together = dense(together * (int(column.max(initial=0)) + 1) + column)
    return together


def dense(codes: Codes) -> Codes:
    """The same without gaps: a number from 0 on for each different one."""
    bound = int(codes.max(initial=-1)) + 1
    if bound > max(FEW, 4 * len(codes)):
        ordered: Codes = np.unique(codes, return_inverse=True)[1]
        return ordered
    there = np.zeros(bound, np.bool_)
    there[codes] = True
    places: Codes = np.cumsum(there) - 1
    return places[codes]


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables, in the columns that have one name each, and types that go together."""
    names = []
    for name in dict.fromkeys(name for table in tables for name in table.column_names):
        fields = [[table.schema.field(at) for at in table.schema.get_all_field_indices(name)] for table in tables]
        if max(map(len, fields)) < 2:
            with suppress(pa.ArrowTypeError, pa.ArrowInvalid):
                pa.unify_schemas([pa.schema(group) for group in fields if group], promote_options="permissive")
                names.append(name)
    parts = [table.select([name for name in names if name in table.column_names]) for table in tables]
    return pa.concat_tables(parts, promote_options="permissive")


MOST_LEFT = 2  # columns on the left side: with more, tables have dependencies that are chance
LEAST_SHARE = 0.999  # of the rows, that a dependency keeps
LEAST_EXPECTED = 30.0  # rows that would break it by chance; a hundredth of them may
SAMPLE = 50_000  # rows, or
MOST_CELLS = 20_000_000  # values of the sample
MOST_SETS = 5_000  # left sides that are looked at
MOST_CONFIRMED = 400_000_000  # rows that are read to confirm what the sample says
MOST_FOUND = 500
_FIRST_LOOK = 64  # pairs of rows
_LOOKED_AT = 1_000_000  # values at most, in the second look


@dataclass(frozen=True)
class Dependency:
    """Rows that are alike in the ``left`` columns are alike in the ``right`` one; NULL on the left says nothing.

    ``share`` of the rows keep it: those that have the most frequent value of their left side. NULL on the right is a
    value. ``expected``: how many rows would break it, if one column of the left said nothing beside the others; of the
    columns the one where these are fewest. ``has_null``: on the left.
    """

    left: tuple[str, ...]
    right: str
    share: float
    expected: float
    has_null: bool = False


def dependencies(
    table: pa.Table,
    windows: Ints | None = None,
    *,
    least_share: float = LEAST_SHARE,
    least_expected: float = LEAST_EXPECTED,
) -> list[Dependency]:
    """The minimal dependencies of a table, those with small left sides first; nothing follows from keys and constants.

    ``windows``: a number for each row, such as of its day; what differs between windows alone is not expected to.
    Numbers with fractions are on no left side, lists and the like on none. Of tables so wide or long that the bounds
    above are reached, the others are left out.
    """
    rows = table.num_rows
    names = [name for name in table.column_names if not is_nested(table.schema.field(name).type)]
    if rows < 2 or len(names) < 2:
        return []
    of_rows = np.zeros(rows, np.int64) if windows is None else windows
    search = _Search(table, names, of_rows, least_share, least_expected)
    for size in range(1, MOST_LEFT + 1):
        for left in search.lefts(size):
            search.look_at(left)
            if search.is_over:
                return search.results
    return search.results


def without_implied(tested: Sequence[Dependency]) -> list[Dependency]:
    """Without those that follow from the others: not a → c where there are a → b and b → c."""
    remaining = sorted(tested, key=lambda dependency: (len(dependency.left), -dependency.expected))
    for dependency in reversed(list(remaining)):
        others = [other for other in remaining if other is not dependency and other.share == 1]
        follows, size = set(dependency.left), -1
        while len(follows) > size:
            size = len(follows)
            follows |= {other.right for other in others if follows >= set(other.left)}
        if dependency.right in follows:
            remaining.remove(dependency)
    return remaining


class _Search:
    """The columns as codes, those of a sample of rows together and those of all rows once they are asked for; what was
    found so far, and what need not be looked at for it."""

    def __init__(self, table: pa.Table, names: Sequence[str], windows: Ints, share: float, expected: float) -> None:
        self.table, self.names, self.windows = table, tuple(names), windows
        self.least_share, self.least_expected = share, expected
        size = min(table.num_rows, SAMPLE, max(1000, MOST_CELLS // len(names)))
        chosen = np.random.default_rng(0).permutation(table.num_rows)[:size]
        self.is_cut = size < table.num_rows
        sampled = table.select(list(names)).take(pa.array(chosen))
        self.sample = np.column_stack([codes_of(column).astype(np.int32) for column in sampled.columns])
        self.distinct = self.sample.max(axis=0) + 1
        self.by_chance = np.array([_alike_by_chance(column) for column in self.sample.T])
        self.has_null = [bool(table.column(name).null_count) for name in names]
        self.results: list[Dependency] = []
        self.is_over = False
        self._whole: dict[int, Codes] = {}
        self._lefts_of: dict[int, list[frozenset[int]]] = {}
        self._implied: list[tuple[frozenset[int], int]] = []  # without a NULL on the right, and without exception
        self._keys: list[frozenset[int]] = []
        self._looked_at = self._confirmed = 0

    def lefts(self, size: int) -> Iterator[tuple[int, ...]]:
        """Left sides of so many columns, those with the fewest values first: none is a key, or follows in part."""
        repeats = np.flatnonzero((self.distinct > 1) & (self.distinct < len(self.sample))).tolist()
        columns = {at: self.table.column(self.names[at]) for at in repeats}
        fit = [  # whole numbers with gaps often come as doubles
            at
            for at, column in columns.items()
            if not pa.types.is_floating(column.type) or pc.all(pc.equal(column, pc.floor(column)), min_count=0).as_py()
        ]
        for chosen in combinations(sorted(fit, key=lambda at: self.distinct[at]), size):
            left = frozenset(chosen)
            follows = any(right in left and others <= left for others, right in self._implied)
            if not follows and not any(key <= left for key in self._keys):
                yield tuple(sorted(chosen))

    def look_at(self, left: tuple[int, ...]) -> None:
        """Confirms what the sample says of a left side."""
        self._looked_at += 1
        self.is_over = self._looked_at >= MOST_SETS
        rights = self._rights(left)
        if not len(rights):
            return
        lefts = [self._codes(at) for at in left]
        present = np.logical_and.reduce([codes >= 0 for codes in lefts])
        lefts = [codes[present] for codes in lefts]
        groups, windows = combined(lefts), self.windows[present]
        within = [combined([windows, *lefts[:at], *lefts[at + 1 :]]) for at in range(len(lefts))]
        repeated = len(groups) - 1 - int(combined([groups, windows]).max(initial=-1))
        for right in rights.tolist():
            self._confirmed += len(present)
            if self._confirmed > MOST_CONFIRMED or len(self.results) >= MOST_FOUND:
                self.is_over = True
                return
            codes = self._codes(right)[present]
            expected = repeated * (1 - max(_alike_by_chance(codes, others) for others in within))
            share = _share(groups, codes)
            broken = round((1 - share) * len(codes))
            if share >= self.least_share and expected >= max(self.least_expected, 100 * broken, 1e-9):
                names, has_null = tuple(self.names[at] for at in left), any(self.has_null[at] for at in left)
                self.results.append(Dependency(names, self.names[right], share, expected, has_null))
                self._lefts_of.setdefault(right, []).append(frozenset(left))
                if share == 1 and not self.has_null[right]:
                    self._implied.append((frozenset(left), right))

    def _codes(self, at: int) -> Codes:
        """Of all rows."""
        if at not in self._whole:
            if len(self._whole) * self.table.num_rows > MOST_CELLS:
                self._whole.clear()
            self._whole[at] = codes_of(self.table.column(self.names[at]))
        return self._whole[at]

    def _rights(self, left: tuple[int, ...]) -> Ints:
        """The columns that may follow from a left side, by the sample."""
        # the rows that repeat the values of an earlier one, and the first one that has the same; NULL repeats nothing
        values = self.sample[:, left]
        rows = np.flatnonzero((values >= 0).all(axis=1))
        groups = combined([column[rows].astype(np.int64) for column in values.T])
        first_of = np.empty(int(groups.max(initial=-1)) + 1, np.int64)
        first_of[groups[::-1]] = rows[::-1]
        first = first_of[groups]
        repeats = first != rows
        rows, first = rows[repeats], first[repeats]
        if not len(rows):
            if not self.is_cut:
                self._keys.append(frozenset(left))
            return np.empty(0, np.int64)
        implied_rights = [
            right for right, lefts in self._lefts_of.items() if any(other <= set(left) for other in lefts)
        ]
        rights = np.setdiff1d(np.arange(self.sample.shape[1]), [*left, *implied_rights])
        for look in (_FIRST_LOOK, max(_FIRST_LOOK, _LOOKED_AT // max(len(rights), 1))):
            differ = (self.sample[np.ix_(rows[:look], rights)] != self.sample[np.ix_(first[:look], rights)]).sum(axis=0)
            rights = rights[differ <= (0.0 if self.least_share == 1 else 3 + 0.03 * len(rows[:look]))]
        if self.is_cut:  # what few rows say may be by chance
            rights = rights[len(rows) * (1 - self.by_chance[rights]) >= min(self.least_expected, 10.0)]
        return rights


def _share(groups: Codes, right: Codes) -> float:
    """The share of the rows that have the most frequent right side of their group."""
    if not len(groups):
        return 1.0
    wide = int(right.max()) + 2  # NULL is a value
    groups_of_pairs, counts = _counted(groups * wide + right - NULL, wide)
    firsts = np.flatnonzero(np.diff(groups_of_pairs, prepend=-1))
    return float(np.maximum.reduceat(counts, firsts).sum() / len(groups))


def _counted(pairs: Codes, wide: int) -> tuple[Codes, Ints]:
    """The first of each different pair, and how often it occurs; ``wide`` second ones there may be."""
    if int(pairs.max()) < max(FEW, 4 * len(pairs)):
        counts = np.bincount(pairs)
        there = np.flatnonzero(counts)
        return there // wide, counts[there]
    distinct, counts = np.unique(pairs, return_counts=True)
    return distinct // wide, counts


def _alike_by_chance(codes: npt.NDArray[np.signedinteger], groups: Ints | None = None) -> float:
    """How probable it is that two rows, of the same group, have the same value."""
    if not len(codes):
        return 1.0
    if groups is None:
        return float(((np.bincount(codes - NULL) / len(codes)) ** 2).sum())
    wide = int(codes.max()) + 2
    of_group, counts = _counted(groups * wide + codes - NULL, wide)
    return float((counts**2 / np.bincount(groups)[of_group]).sum() / len(codes))


# Minimal keys of a table: the fewest columns whose values together tell every row from all others (pure).
#
# Level by level: a set of columns is looked at where the product of their numbers of different values can be the
# number of rows (as HCA does, Abedjan and Naumann 2011). What is unique in a sample is confirmed in all rows.

MOST_COLUMNS = 5  # of a key
KEY_SAMPLE = 20_000  # rows
MOST_KEY_SETS = 20_000  # sets of columns that are looked at


def minimal_keys(table: pa.Table, most_columns: int = MOST_COLUMNS, most_keys: int = 20) -> list[tuple[str, ...]]:
    """The sets of as few columns as possible that are unique and complete in all rows.

    Numbers with fractions and nested columns are no keys to anybody, and are left out.
    """
    if table.num_rows < 2:
        return []
    columns = dict(zip(table.column_names, table.columns, strict=True))
    codes = {
        name: codes_of(column)
        for name, column in columns.items()
        if not (column.null_count or is_nested(column.type) or pa.types.is_floating(column.type))
    }
    distinct = {name: int(column_codes.max()) + 1 for name, column_codes in codes.items()}
    by_distinct = sorted((name for name in codes if distinct[name] > 1), key=lambda name: -distinct[name])
    rows = np.random.default_rng(0).permutation(table.num_rows)[:KEY_SAMPLE]
    sampled = {name: np.unique(column_codes[rows], return_inverse=True)[1] for name, column_codes in codes.items()}
    keys: list[tuple[str, ...]] = []
    looked_at = 0
    for size in range(1, most_columns + 1):
        for chosen in combinations(by_distinct, size):  # those with the most different values first
            if prod(distinct[name] for name in chosen) < table.num_rows:
                continue
            names = tuple(name for name in codes if name in chosen)
            looked_at += 1
            if looked_at > MOST_KEY_SETS or len(keys) == most_keys:
                return keys
            if _is_unique(sampled[name] for name in names) and _is_unique(codes[name] for name in names):
                keys.append(names)
        if keys:
            return keys
    return []


def is_key(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether the columns are complete, and every row has values of its own in them."""
    columns = [table.column(name) for name in names]
    return not any(column.null_count for column in columns) and _is_unique(map(codes_of, columns))


def _is_unique(columns: Iterable[Codes]) -> bool:
    rows = combined(list(columns))
    return len(np.unique(rows)) == len(rows)


# Inclusion dependencies: columns whose values all occur in a key of another dataset, as foreign keys do (pure).
#
# What the smallest keys of both columns' values say is a candidate; each is confirmed in all rows.

DOUBTFUL = 0.05  # of the sampled rows, which may miss theirs: what is confirmed is looked at more closely
FEWEST_VALUES = 3  # different ones, of a column whose name does not agree


@dataclass(frozen=True, kw_only=True)
class Key:
    """A column of another dataset that tells its rows apart, and all of its values."""

    dataset: str
    column: str
    profile: ColumnProfile
    values: pa.Array


@dataclass(frozen=True, kw_only=True)
class Inclusion:
    """``share`` of the rows that have a value in ``column`` have one that is in ``key``."""

    column: str
    key: Key
    share: float


def keys_of(dataset: str, rows: pa.Table) -> list[Key]:
    """The columns that others may refer to: texts or whole numbers, there in every row and different in each."""
    keys = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        profile = column_profile(column) if _may_refer(column.type) else None
        if profile is not None and profile.rows > 1 and may_be_key(profile):
            values = pc.unique(_plain(column))
            if len(values) == profile.rows:
                keys.append(Key(dataset=dataset, column=name, profile=profile, values=values))
    return keys


def inclusions(rows: pa.Table, profiles: Mapping[str, ColumnProfile], keys: Sequence[Key]) -> Iterator[Inclusion]:
    """Which columns refer to which keys, for 99.9 % of their rows at least; by columns, in the order of the table.

    Small whole numbers are in any column of numbers, so of numbers, and of fewer than three texts, the names must agree
    too: ``customer_id`` with ``id`` of customers, or with ``customer_id``.
    """
    for name, profile in profiles.items():
        if name not in rows.column_names or not _may_refer(rows.schema.field(name).type) or not profile.present:
            continue
        for key in keys:
            own, column = _bare(name), _bare(key.column)
            entity = _bare(key.dataset.rpartition(".")[2]).removesuffix("s")
            # ``customer_id`` and ``id`` of customers, or ``customer_id`` anywhere; not ``id`` and ``id``
            agrees = own == column != "id" or (bool(entity) and own.startswith(entity) and own.endswith(column))
            is_telling = profile.kind is ValueKind.TEXT and profile.distinct >= FEWEST_VALUES
            is_candidate = profile.kind is key.profile.kind and (is_telling or agrees)
            is_candidate = is_candidate and may_be_included(profile.sample, key.profile.sample)
            if is_candidate and (share := share_included(rows.column(name), key.values)) >= LEAST_SHARE:
                yield Inclusion(column=name, key=key, share=share)


def may_be_included(sample: DistinctSample, of_key: DistinctSample) -> bool:
    """Whether nearly all sampled values of a column are in a key, as far as the key's own sample knows."""
    in_reach = sample.keys <= of_key.keys[-1] if of_key.is_cut else np.ones(len(sample.keys), np.bool_)
    rows, missing = sample.counts[in_reach], ~np.isin(sample.keys[in_reach], of_key.keys)
    return float(rows[missing].sum()) <= DOUBTFUL * float(rows.sum())


def share_included(column: pa.ChunkedArray, values: pa.Array) -> float:
    """The share of the rows with a value whose value is one of ``values``; 1 of no rows."""
    there = _plain(column).drop_null()
    return pc.mean(pc.is_in(there, value_set=values)).as_py() if len(there) else 1.0


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _may_refer(type_: pa.DataType) -> bool:
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    return bool(is_text or (pa.types.is_integer(type_) and type_ != pa.uint64()))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Texts or whole numbers in one type each."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = column.cast(pa.int64() if pa.types.is_integer(column.type) else pa.large_string()).combine_chunks()
    if isinstance(whole, pa.Array):
        return whole
    return pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)


# What keys and dependencies say of all rows, as assertions; a window's rows meet them or not.

MOST_KEYS = 5
MOST_DEPENDENCIES = 20


def of_keys(rows: pa.Table) -> Iterator[Candidate]:
    """The fewest columns that together tell all rows apart."""
    for names in minimal_keys(rows, most_keys=MOST_KEYS):
        why = "no two rows were alike in them"
        yield Candidate("Key", f"uniqueness({_names(names)}) = 1", why, partial(is_key, names=names), names)


def of_dependencies(rows: pa.Table, lengths: Sequence[int]) -> Iterator[Candidate]:
    """Columns that tell another one: the largest evidence first; ``lengths``: of the windows in the rows."""
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    parts = [rows.slice(start, length) for start, length in zip(starts, lengths, strict=True)]
    minimal = without_implied(dependencies(rows, np.repeat(np.arange(len(lengths)), lengths)))
    for dependency in minimal[:MOST_DEPENDENCIES]:
        left, right = dependency.left, dependency.right
        where = f", where={quoted(' and '.join(f'{sql_name(name)} is not null' for name in left))}"
        condition = where if dependency.has_null else ""  # NULL on the left says nothing
        few, many = (f"distinct_count({_names(names)}{condition})" for names in (left, (*left, right)))
        relation = f"{' and '.join(left)} told {right} in"
        if dependency.share == 1:
            least, assertion, why = 1.0, f"{many} = {few}", f"{relation} all rows"
        else:
            shares = [share_of_left_sides(part, left, right) for part in parts]
            least = max(0.0, floor(100 * (min(shares) - REACH / 2 * float(np.std(shares)))) / 100)
            assertion, why = (
                f"{few} / {many} >= {least:g}",
                f"{relation} {_percent(dependency.share)} % of the rows, not in all",
            )

        def holds(window: pa.Table, dependency: Dependency = dependency, least: float = least) -> bool:
            return share_of_left_sides(window, dependency.left, dependency.right) >= least

        yield Candidate("FunctionalDependency", assertion, why, holds, (*left, right))


def of_inclusions(rows: pa.Table, profiles: Mapping[str, ColumnProfile], keys: Sequence[Key]) -> Iterator[Candidate]:
    """Columns whose values are those of another dataset's key."""
    for inclusion in inclusions(rows, profiles, keys):
        key, column = inclusion.key, inclusion.column
        bound, least, values, others = 1.0, "= 1", "all values", ""
        if inclusion.share < 1:
            bound, least, values = 0.99, ">= 0.99", f"{_percent(inclusion.share)} % of the values"
            others = ", the others not"
        call = f"referential_integrity({written(column)}, {quoted(key.dataset)}, to={quoted(written(key.column))})"
        why = f"{values} were among the {key.profile.rows:,} of {key.dataset}.{key.column}{others}"

        def holds(window: pa.Table, inclusion: Inclusion = inclusion, bound: float = bound) -> bool:
            return share_included(window.column(inclusion.column), inclusion.key.values) >= bound

        yield Candidate("InclusionDependency", f"{call} {least}", why, holds, (column,))


def share_of_left_sides(rows: pa.Table, left: Sequence[str], right: str) -> float:
    """How many left sides there are for each pair of a left and a right side: 1 where the left tells the right."""
    lefts = [codes_of(rows.column(name)) for name in left]
    present = np.logical_and.reduce([codes >= 0 for codes in lefts])
    if not present.any():
        return 1.0
    groups = combined([codes[present] for codes in lefts])
    pairs = combined([groups, codes_of(rows.column(right))[present] + 1])
    return float((groups.max() + 1) / (pairs.max() + 1))


def _percent(share: float) -> str:
    return f"{floor(100_000 * share) / 1000:g}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(written, names))
