"""How often keys come under many clauses: as a Counter over the rows says."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.engines.gathering import Keyed
from execution_engine.engines.native.evaluation import RowBatch
from execution_engine.engines.native.hashing import key_hashes
from execution_engine.engines.native.measure import Draft, drafted, merged_results
from execution_engine.engines.native.partials import Partials
from execution_engine.engines.native.reading import Stored
from execution_engine.engines.native.task import TaskResult, from_bytes, task_result
from execution_engine.engines.native.values import values_of
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.states.frequencies import Counts, Frequencies

COLUMNS = {
    "a": Stored(spark="bigint", arrow=pa.int64()),
    "b": Stored(spark="string", arrow=pa.string()),
    "c": Stored(spark="bigint", arrow=pa.int64()),
}
Row = tuple[int | None, str | None, int | None]
Task = Sequence[Sequence[Row]]  # its batches


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A grouping, and in Python which rows meet its condition."""

    keyed: Keyed
    meets: Callable[[Row], bool]


CONDITIONS: tuple[tuple[str | None, Callable[[Row], bool]], ...] = (
    (None, lambda row: True),
    ("a is null", lambda row: row[0] is None),
    ("b = 'text 1' or c > 10", lambda row: row[1] == "text 1" or (row[2] is not None and row[2] > 10)),
    ("c < -1", lambda row: False),
)


@st.composite
def rows(draw: st.DrawFn, most: int) -> list[Row]:
    """Rows of few keys or of many, with nulls or without."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    number = draw(st.integers(0, most))
    kinds = draw(st.sampled_from([1, 3, 40, 900, 10**9]))
    shares = draw(st.tuples(*[st.sampled_from([0, 0.1, 0.9, 1])] * 3))  # of nulls, in each column
    skew = draw(st.sampled_from([1, 8]))  # of the latter few keys are many of the rows, and many keys the others
    drawn = (random.random((number, 3)) ** skew * [kinds, min(kinds, 40), 90]).astype(int).tolist()
    nulls = (random.random((number, 3)) < shares).tolist()
    return [
        (None if no_a else a, None if no_b else f"text {b}", None if no_c else c)
        for (a, b, c), (no_a, no_b, no_c) in zip(drawn, nulls, strict=True)
    ]


@st.composite
def asked(draw: st.DrawFn, bounds: int, most: int = 2) -> list[Asked]:
    """Groupings of few columns, each under some conditions, in any order."""
    random, found = Random(draw(st.integers(0, 2**32))), {}
    for columns in draw(st.sets(st.sampled_from([("a",), ("b",), ("a", "b")]), min_size=1, max_size=most)):
        for sql, meets in (*CONDITIONS, *map(_above, range(bounds))):
            present, partial = random.choice([(), (), ("c",), ("b", "c")]), random.random() < 0.3
            keyed = Keyed(grouping=Grouping(columns=columns, present=present, partial=partial), where=sql)
            found[keyed] = Asked(keyed=keyed, meets=meets)
    return random.sample(list(found.values()), len(found))


def _above(bound: int) -> tuple[str, Callable[[Row], bool]]:
    return f"c > {bound}", lambda row: row[2] is not None and row[2] > bound


TASKS = st.lists(st.lists(rows(most=40), max_size=3), max_size=3)


LARGE = st.lists(rows(most=2_500), max_size=2)  # batches whose few keys are tallied, if they are few


@given(tasks=TASKS, large=LARGE, some=asked(bounds=6))
def test_keys_under_several_clauses_are_counted_as_row_by_row(
    tasks: list[Task], large: list[list[Row]], some: list[Asked]
) -> None:
    assert_counted([*tasks, large], some)


@given(tasks=TASKS, some=asked(bounds=65, most=1))
def test_keys_under_more_clauses_than_a_word_has_bits_are_counted_as_row_by_row(
    tasks: list[Task], some: list[Asked]
) -> None:
    assert_counted(tasks, some)


def assert_counted(tasks: Sequence[Task], some: Sequence[Asked]) -> None:
    """The frequencies of all tasks are those of all rows."""
    draft = drafted(COLUMNS, [], [one.keyed for one in some])
    _, counted, left = merged_results(draft, [task_of(draft, task) for task in tasks])
    assert not draft.left
    assert not left
    every = [row for task in tasks for batch in task for row in batch]
    for one in some:
        assert occurrences(counted[one.keyed]) == by_hand(one, every)
        assert are_in_order(counted[one.keyed])


def task_of(draft: Draft, batches: Task) -> TaskResult:
    """What a task sends of these rows."""
    partials = Partials(statistics=draft.program.statistics, counted=draft.program.counted)
    for batch in batches:
        partials.add(batch_of(batch))
    return from_bytes(task_result(partials).to_bytes())


def batch_of(given_: Sequence[Row]) -> RowBatch:
    def column(name: str) -> pa.Array:
        stored = COLUMNS[name]
        return values_of(pa.array([row["abc".index(name)] for row in given_], stored.arrow), stored.spark)

    return RowBatch(rows=len(given_), columns=column)


def by_hand(one: Asked, given_: Sequence[Row]) -> tuple[Counter[int], Counter[int]]:
    """The keys of the rows that count, by their hashes: those that are whole, and those that are not."""
    grouping = one.keyed.grouping
    whole: Counter[Row] = Counter()
    without: Counter[Row] = Counter()
    for row in given_:
        values = dict(zip("abc", row, strict=True))
        if not one.meets(row) or any(values[name] is None for name in grouping.present):
            continue
        nulls = [values[name] is None for name in grouping.columns]
        is_keyless = all(nulls) if grouping.partial else any(nulls)
        key = tuple(values[name] if name in grouping.columns else None for name in "abc")
        (without if is_keyless else whole)[key] += 1  # type: ignore[index]
    return hashed(grouping.columns, whole), hashed(grouping.columns, without)


def hashed(columns: Sequence[str], keys: Counter[Row]) -> Counter[int]:
    batch = batch_of(list(keys))
    found = key_hashes([batch.columns(name) for name in columns]).tolist() if keys else []
    return Counter(dict(zip(found, keys.values(), strict=True)))


def occurrences(found: Frequencies) -> tuple[Counter[int], Counter[int]]:
    whole, without = (
        Counter(
            dict.fromkeys(each.single.tolist(), 1) | dict(zip(each.repeated.tolist(), each.times.tolist(), strict=True))
        )
        for each in (found.whole, found.with_nulls)
    )
    return whole, without


def are_in_order(found: Frequencies) -> bool:
    """Sorted, no key twice, and those that are repeated more than once."""
    return all(_is_in_order(each) for each in (found.whole, found.with_nulls))


def _is_in_order(counts: Counts) -> bool:
    rise = all((np.diff(array.astype(object)) > 0).all() for array in (counts.single, counts.repeated))
    return rise and bool((counts.times > 1).all())


@pytest.mark.parametrize(
    ("keys", "rows", "sent"),
    [(1, 5_000, 1), (300, 5_000, 300), (5_000, 5_000, 0), (300, 3_000, 0)],
    ids=["one key", "few keys", "each its own", "few keys of so few rows that these are less to send"],
)
def test_a_task_sends_few_keys_once_each_and_many_row_by_row(keys: int, rows: int, sent: int) -> None:
    of_a = [Keyed(grouping=Grouping(columns=("a",)), where=f"c > {bound}") for bound in range(12)]
    draft = drafted(COLUMNS, [], of_a)
    ((hashes, marks, few, times), _) = task_of(draft, [[(at % keys, "text", 20) for at in range(rows)]]).keys[0]
    assert len(hashes) + int(times[0].sum()) == rows
    assert marks.shape == (2, len(hashes))
    assert times.shape == (12, len(few))
    assert 0.9 * sent <= len(few) <= sent
    assert len(hashes) == rows if sent == 0 else len(hashes) < 100


def test_few_keys_of_several_batches_are_added_up_with_the_rare_ones_among_them() -> None:
    of_a = [Keyed(grouping=Grouping(columns=("a",)), where=where) for where in (None, "c > 0")]
    draft = drafted(COLUMNS, [], of_a)
    batches: list[list[Row]] = [[(at % keys, None, at % 2) for at in range(3_000)] for keys in (7, 3, 100)]
    random = Random(20260301)
    batches.append([(random.randrange(500), None, 1) for _ in range(12_000)])  # a sample does not have all of them
    batches.append([(at if at % 4 == 0 else 5, None, 1) for at in range(3_000)])  # a quarter are keys of their own
    _, counted, _ = merged_results(draft, [task_of(draft, batches[:2]), task_of(draft, batches[2:])])
    every = [row for batch in batches for row in batch]
    assert occurrences(counted[of_a[0]])[0] == hashed("a", Counter((a, None, None) for a, _, _ in every))
    assert occurrences(counted[of_a[1]])[0] == hashed("a", Counter((a, None, None) for a, _, c in every if c))
    for one in of_a:
        alone = drafted(COLUMNS, [], [one])
        _, counted_alone, _ = merged_results(alone, [task_of(alone, batches)])
        assert occurrences(counted_alone[one]) == occurrences(counted[one])


def test_a_clause_that_is_for_spark_to_judge_leaves_the_others_of_the_same_key() -> None:
    of_a = [Keyed(grouping=Grouping(columns=("a",)), where=where) for where in ("b rlike 'x$'", None, "c > 0")]
    draft = drafted(COLUMNS, [], of_a)
    _, counted, left = merged_results(draft, [task_of(draft, [[(1, "x\n", 1), (1, "y", 0)], [(2, "x", 1)]])])
    assert list(left) == of_a[:1]
    assert [counted[each].summary.rows for each in of_a[1:]] == [3, 2]


def test_a_key_that_is_for_spark_to_hash_is_left_under_every_clause() -> None:
    keyed = [Keyed(grouping=Grouping(columns=(name,)), where=where) for name in "ba" for where in (None, "c > 0")]
    draft = drafted(COLUMNS, [], keyed)
    _, counted, left = merged_results(draft, [task_of(draft, [[(1, "x" * 5_000, 1)], [(2, "x", 1)]])])
    assert list(left) == keyed[:2]
    assert [counted[each].summary.rows for each in keyed[2:]] == [2, 2]
