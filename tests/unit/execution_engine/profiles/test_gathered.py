"""The profile of a column beside what numpy, scipy and pandas say of it."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import iqr

from execution_engine.profiles.gather import column_profile, gathered_profile
from execution_engine.profiles.profile import ValueKind, merged_profiles
from execution_engine.profiles.stored import from_bytes, to_bytes
from execution_engine.profiles.texts import CLASSES
from execution_engine.profiles.values import Numbers

DRAWN = np.random.default_rng(7)
NUMBERS = {
    "whole": DRAWN.integers(-50, 50, 3000),
    "normal": DRAWN.normal(3, 10, 3000),
    "skewed": np.round(DRAWN.lognormal(2, 1.5, 3000), 2),
    "constant": np.full(500, 4.5),
    "huge": DRAWN.normal(0, 1, 300) * 1e300,
}


def numbers_of(values: Any) -> Numbers:
    numbers = column_profile(pa.array(values)).numbers
    assert numbers is not None
    return numbers


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_summed_up_as_numpy_does(name: str) -> None:
    values = NUMBERS[name]
    numbers = numbers_of(values)
    unit = np.abs(values).max()
    assert (numbers.finite, numbers.low, numbers.high) == (len(values), values.min(), values.max())
    assert numbers.mean == pytest.approx(values.mean(), rel=1e-9, abs=1e-9)
    assert numbers.deviation / unit == pytest.approx((values / unit).std(), rel=1e-9, abs=1e-12)
    counts = ((values == 0).sum(), (values < 0).sum(), (values == np.floor(values)).sum())
    assert (numbers.zeros, numbers.negatives, numbers.wholes) == counts


@pytest.mark.parametrize("name", NUMBERS)
def test_quantiles_are_numbers_of_the_data_at_their_rank(name: str) -> None:
    values, shares = NUMBERS[name], np.array([0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1])
    numbers = numbers_of(values)
    found = numbers.points.quantiles(shares)
    below, upto = (np.array([compare(values, each).mean() for each in found]) for compare in (np.less, np.less_equal))
    assert (below <= shares + 1 / 1024).all()
    assert (upto >= shares - 1 / 1024).all()
    if len(np.unique(values)) <= 2048:
        assert found.tolist() == np.quantile(values, shares, method="inverted_cdf").tolist()


def test_the_mean_between_two_ranks_is_the_trimmed_mean() -> None:
    values = DRAWN.normal(size=1000)
    numbers = numbers_of(values)
    assert numbers.points.mean_between(0.1, 0.9) == pytest.approx(np.sort(values)[100:900].mean())
    assert numbers.points.mean_between(0, 1) == pytest.approx(values.mean())
    quarters = numbers.points.quantiles(np.array([0.25, 0.75]))
    assert quarters[1] - quarters[0] == pytest.approx(iqr(values, interpolation="inverted_cdf"))


def test_values_are_counted_as_pandas_does() -> None:
    texts = pd.Series(DRAWN.choice([f"value {number}" for number in range(300)], 5000))
    column = column_profile(pa.array(texts))
    assert dict(column.values.frequent(1000)) == texts.value_counts().to_dict()
    assert (column.distinct, column.values.most) == (texts.nunique(), texts.value_counts().max())
    assert column.single == (texts.value_counts() == 1).sum()


@pytest.mark.parametrize("distinct", [3_000, 20_000, 100_000])
def test_many_values_are_counted_within_a_tenth(distinct: int) -> None:
    values = pd.Series(DRAWN.integers(0, distinct, 100_000))
    column = column_profile(pa.array(values))
    assert column.distinct == pytest.approx(values.nunique(), rel=0.1)
    share = (values.value_counts() == 1).mean()
    error = 4 * np.sqrt(share * (1 - share) / 1023)  # of a sample of so many values
    assert column.single / column.distinct == pytest.approx(share, abs=error)


def test_a_key_has_as_many_values_as_rows() -> None:
    column = column_profile(pa.array(np.arange(50_000)))
    assert (column.distinct, column.single) == (50_000, 50_000)


def test_lengths_shapes_and_letters_are_those_of_the_texts() -> None:
    texts = ["N14228", "N24211", "B6", None, "Zoë", ""]
    found = column_profile(pa.array(texts)).texts
    assert found is not None
    lengths = [len(text) for text in texts if text is not None]
    assert found.lengths.mean == pytest.approx(np.mean(lengths))
    assert found.lengths.high == max(lengths)
    assert dict(found.shapes.frequent(9)) == {"A99999": 2, "A9": 1, "Aa~~": 1, "": 1}
    letters = found.pairs.reshape(CLASSES, CLASSES).sum(axis=1)[1:]
    assert letters.sum() == sum(len(text.encode()) for text in texts if text)


def test_the_index_of_peculiarity_is_that_of_its_formula() -> None:
    words = ["house", "mouse", "house", "louse", "hoxse"]
    found = column_profile(pa.array(words)).texts
    assert found is not None
    assert found.peculiarity == pytest.approx(max(map(peculiarity(words), words)))


def peculiarity(words: list[str]) -> Any:
    """The formula word for word: pairs and trigrams counted in all words, the root of the mean square of one."""

    def often(part: str) -> int:
        return sum(word[at : at + len(part)] == part for word in words for at in range(len(word)))

    def of_word(word: str) -> float:
        trigrams = [word[at : at + 3] for at in range(len(word) - 2)]
        terms = [0.5 * (np.log(often(t[:2])) + np.log(often(t[1:]))) - np.log(often(t)) for t in trigrams]
        return float(np.sqrt(np.mean(np.square(terms))))

    return of_word


def test_what_is_no_number_is_counted_apart() -> None:
    numbers = numbers_of([1.0, float("nan"), float("inf"), float("-inf"), None, -0.0, 0.0])
    assert (numbers.finite, numbers.nans, numbers.infinities, numbers.zeros) == (3, 1, 2, 2)
    assert (numbers.low, numbers.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "kind", "low", "high"),
    [
        (pa.array([date(2026, 3, 2), date(2026, 3, 1)]), ValueKind.TIME, 0, 86400),
        (pa.array([datetime(2026, 3, 1, 5), None]), ValueKind.TIME, 5 * 3600, 5 * 3600),
        (pa.array([datetime(2026, 3, 1, 5, tzinfo=UTC)]), ValueKind.TIME, 5 * 3600, 5 * 3600),
        (pa.array([timedelta(hours=2)]), ValueKind.TIME, 7200, 7200),
        (pa.array([Decimal("1.50"), Decimal("2.25")]), ValueKind.NUMBER, 1.5, 2.25),
        (pa.array([2**64 - 1], pa.uint64()), ValueKind.NUMBER, 2.0**64, 2.0**64),
        (pa.array([True, False, None]), ValueKind.TRUTH, 0, 1),
        (pa.array(["a", "b"]).dictionary_encode(), ValueKind.TEXT, None, None),
        (pa.array([b"\xff\x00", b""]), ValueKind.BYTES, None, None),
        (pa.array([[1], None]), ValueKind.NESTED, None, None),
        (pa.array([{"a": 1}]), ValueKind.NESTED, None, None),
        (pa.nulls(3), ValueKind.NOTHING, None, None),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else str(value),
)
def test_every_type_has_a_profile(values: pa.Array, kind: ValueKind, low: float | None, high: float | None) -> None:
    column = column_profile(values, datetime(2026, 3, 1, tzinfo=UTC).timestamp())
    assert (column.kind, column.rows, column.nulls) == (kind, len(values), values.null_count)
    assert (column.numbers and column.numbers.low) == low
    assert (column.numbers and column.numbers.high) == high


def test_a_text_of_a_megabyte_and_one_that_is_no_utf_8_are_counted() -> None:
    broken = pa.LargeBinaryArray.from_buffers(
        pa.large_string(), 1, [None, pa.py_buffer(np.array([0, 2])), pa.py_buffer(b"\xff\xfe")]
    )
    texts = column_profile(pa.chunked_array([pa.array(["x" * 10**6], pa.large_string()), broken])).texts
    assert texts is not None
    assert texts.lengths.high == 10**6
    assert len(column_profile(pa.array(["x" * 10**6])).values.labels[0]) == 64


def test_a_table_without_rows_and_one_of_2000_columns_have_profiles() -> None:
    empty = gathered_profile([pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})])
    assert (empty.rows, empty.columns["a"].distinct, empty.columns["b"].nulls) == (0, 0, 0)
    wide = gathered_profile([pa.table({f"c{number}": [number, None] for number in range(2000)})])
    assert len(wide.columns) == 2000
    assert gathered_profile([]).rows == 0


def test_columns_of_one_name_are_told_apart() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    assert list(gathered_profile([table]).columns) == ["a", "a (2)"]


def test_record_batches_tables_and_threads_make_one_profile() -> None:
    table = pa.table({"a": DRAWN.integers(0, 50, 1000), "b": DRAWN.choice(["x", "yy", "Z9"], 1000)})
    whole = to_bytes(gathered_profile([table]))
    assert to_bytes(gathered_profile(table.to_batches(max_chunksize=70))) == whole
    assert to_bytes(gathered_profile([table.slice(300), table.slice(0, 300)], threads=2)) == whole


def test_batches_of_different_columns_are_profiled_together() -> None:
    batches = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [1.5], "b": ["x"]})]
    profile = gathered_profile(batches)
    assert (profile.rows, profile.columns["a"].distinct, profile.columns["b"].nulls) == (3, 3, 2)
    assert profile.columns["a"].type == "double or int64"


ODD = [
    pa.array(np.array([1, 2, np.nan], np.float16)),
    pa.array([1, 2, None], pa.time64("ns")),
    pa.array([1, 2, 2**62], pa.timestamp("ns")),
    pa.array([1, 2**40, None], pa.timestamp("s", "Asia/Seoul")),
    pa.array([86_400_000, None, 0], pa.date64()),
    pa.array([date.min, date.max, None]),
    pa.array([Decimal("1" * 60), None, Decimal(2)], pa.decimal256(70, 2)),
    pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    pa.array([b"ab", None, b"cd"], pa.binary(2)),
    pa.array(["a", None, "b"], pa.string_view()),
    pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()),
    pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", None])),
    pa.array([pa.MonthDayNano([1, 2, 3]), None, None]),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([1.5, 2.5])),
    pa.array(["\x00a", "b\n", "\N{PARTY POPPER}" * 5]),
]


@pytest.mark.parametrize("values", ODD, ids=lambda values: str(values.type))
def test_seldom_types_have_a_profile_that_can_be_stored(values: pa.Array) -> None:
    profile = gathered_profile([pa.table({"a": values})], 12.0)
    column = profile.columns["a"]
    assert column.kind is not ValueKind.NOTHING
    assert column.rows == 3
    assert column.kind is ValueKind.NESTED or column.distinct >= 1
    assert to_bytes(from_bytes(to_bytes(profile))) == to_bytes(profile)


@pytest.mark.parametrize("repeated", [0, 1, 300])
def test_whole_rows_that_are_repeated_are_counted(repeated: int) -> None:
    table = pa.table({"a": np.arange(20_000) // 3, "b": np.arange(20_000) % 3, "c": pa.nulls(20_000, pa.string())})
    twice = pa.concat_tables([table, table.slice(0, repeated)])
    profile = gathered_profile([twice])
    assert profile.distinct == pytest.approx(20_000, abs=4 * repeated**0.5 * 4.4)
    assert gathered_profile([twice.select(["c", "b", "a"])]).distinct == profile.distinct
    assert merged_profiles([gathered_profile([table]), gathered_profile([table.slice(0, repeated)])]).distinct == (
        pytest.approx(profile.distinct)
    )
