"""What is asked of each column, and what pandas, numpy and scikit-learn answer: an assertion that holds if we agree.

A value is bounded by the reference's own, with the error that the metric's documentation states and no other.
"""

from collections.abc import Iterator
from decimal import Decimal
from math import log

import numpy as np
import pandas as pd
from sklearn.metrics import mutual_info_score

from execution_engine.guard import in_sql
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import quoted

RELATIVE = 1e-9  # of the sum of the magnitudes: the last digits of sums of floats
SIGMA = 0.016  # the standard error of a count of distinct values, of which five are allowed
RANK = 0.02  # an approximate quantile's rank share: three times its error of 0.7 %
LARGEST = 1e308  # of what is not infinite
MOST_PAIRED = 60  # distinct values of a column for which pairs are counted
INSTANT = "2026-01-01 00:00:00"


def of_table(rows: pd.DataFrame, types: dict[str, str]) -> Iterator[str]:
    """Clauses about the table as a whole."""
    yield f"row_count() = {len(rows)}"
    yield f"schema_match({quoted(', '.join(f'{written(column)} {kind}' for column, kind in types.items()))}) = 1"


def of_column(column: str, values: pd.Series, kind: str) -> Iterator[str]:
    """Clauses that each column of a type gets; a metric that would be NULL is not asked."""
    name, known = written(column), values.dropna()
    yield f"completeness({name}) {near(len(known) / len(values))}"
    yield f"distinct_count({name}) = {known.nunique() + bool(len(known) < len(values))}"
    yield f"count_distinct({name}) = {known.nunique()}"
    if known.empty:
        return
    counts = known.value_counts().to_numpy()
    yield f"uniqueness({name}) {near((counts == 1).sum() / len(known))}"
    yield f"distinctness({name}) {near(len(counts) / len(known))}"
    yield f"unique_value_ratio({name}) {near((counts == 1).sum() / len(counts))}"
    yield f"entropy({name}) {near(-sum(c / len(known) * log(c / len(known)) for c in counts), 1e-9)}"
    yield f"most_frequent_share({name}) {near(counts.max() / len(known))}"
    slack = max(1.0, 5 * SIGMA * len(counts))
    yield f"approx_count_distinct({name}) between {max(0.0, len(counts) - slack)} and {len(counts) + slack}"
    yield f"consistent_type({name}) between 0 and 1"
    if kind in ("bigint", "double", "decimal(12,2)"):
        yield from _of_numbers(name, known)
    elif kind == "string":
        yield from _of_texts(name, known, len(values))
    elif kind == "timestamp":
        age = (pd.Timestamp(INSTANT, tz="UTC") - known.max()).total_seconds()
        yield f"""age({name}, "timestamp '{INSTANT}'") between {age - 1:.0f}s and {age + 1:.0f}s"""


def of_pairs(rows: pd.DataFrame, types: dict[str, str]) -> Iterator[str]:
    """Clauses about the first two columns of numbers, and the first two with few values."""
    numbers = [c for c, kind in types.items() if kind in ("bigint", "double") and rows[c].nunique() > 2][:2]
    if len(numbers) == 2:
        a, b = map(written, numbers)
        both = rows[numbers].dropna()
        if len(both) > 2 and both.nunique().min() > 1:
            yield f"correlation({a}, {b}) {near(float(np.corrcoef(both.to_numpy(float).T)[0, 1]), 1e-7)}"
        if len(both):
            yield f"less_than({a}, {b}) {near(float((both[numbers[0]] < both[numbers[1]]).mean()))}"
    few = [c for c in types if 1 < rows[c].nunique() <= MOST_PAIRED and types[c] != "decimal(12,2)"][:2]
    both = rows[few].dropna() if len(few) == 2 else rows.head(0)
    if len(both):
        a, b = map(written, few)
        known = mutual_info_score(both[few[0]].astype(str), both[few[1]].astype(str))
        yield f"mutual_information({a}, {b}) {near(float(known), 1e-9)}"
        yield f"count_distinct({a}, {b}) = {len(both.drop_duplicates())}"
        whole = rows[few].astype(object).where(rows[few].notna(), None)
        yield f"distinct_count({a}, {b}) = {len(whole.drop_duplicates())}"


def near(value: float, slack: float = 1e-12) -> str:
    """``between`` a value's neighbours."""
    return f"between {_number(value - slack)} and {_number(value + slack)}"


def _of_numbers(name: str, known: pd.Series) -> Iterator[str]:
    floats = known.astype(float).to_numpy()
    if not np.isfinite(floats).all():
        yield from _of_infinite(name, floats)
        return
    exact = [Decimal(str(value)) for value in known.tolist()]
    yield f"min({name}) = {_number(min(exact))} and max({name}) = {_number(max(exact))}"
    slack = RELATIVE * float(np.abs(floats).sum()) + 1e-300
    yield f"sum({name}) {near(float(sum(exact)), slack)}"
    yield f"mean({name}) {near(float(sum(exact) / len(exact)), slack / len(exact))}"
    scale = float(np.abs(floats).max())
    yield f"stddev({name}) {near(float(floats.std()), 1e-7 * scale + 1e-12)}"
    yield f"quantile({name}, 0.3) {near(float(np.quantile(floats, 0.3)), 1e-9 * scale + 1e-12)}"
    low = np.quantile(floats, 0.5 - RANK, method="lower")
    high = np.quantile(floats, 0.5 + RANK, method="higher")
    yield f"approx_quantile({name}, 0.5) between {_number(low)} and {_number(high)}"
    first, last = sorted((exact[0], exact[-1]))
    inside = sum(first <= value <= last for value in exact) / len(exact)
    yield f"in_range({name}, {_number(first)}, {_number(last)}) {near(inside)}"


def _of_infinite(name: str, floats: np.ndarray) -> Iterator[str]:
    """What is asked where some values are infinite: without these, as the message of an error says."""
    finite = floats[np.isfinite(floats)]
    where = f"where={quoted(f'abs({in_sql(name)}) < {LARGEST}')}"
    yield f"row_count({where}) = {len(finite)}"
    if len(finite):
        yield f"min({name}, {where}) = {_number(finite.min())} and max({name}, {where}) = {_number(finite.max())}"
        slack = RELATIVE * float(np.abs(finite).sum()) + 1e-300
        yield f"sum({name}, {where}) {near(float(finite.sum()), slack)}"


def _of_texts(name: str, known: pd.Series, rows: int) -> Iterator[str]:
    lengths = known.str.len()
    yield f"min_length({name}) = {lengths.min()} and max_length({name}) = {lengths.max()}"
    yield f"pattern_match({name}, '[aeiou]') {near(float(known.str.contains('[aeiou]', regex=True).mean()))}"
    value = known.iloc[0]
    if len(value) < 500:
        share = float((known == value).sum() / rows)
        yield f"ratio_of({name}, {quoted(value)}) {near(share)}"
        if not set(value) & set("{\\'"):  # of a template and of Spark's texts
            condition = quoted(f"{in_sql(name)} = '{value}'")
            yield f"compliance({condition}) {near(share)}"


def _number(value: float | Decimal) -> str:
    """A number as the language reads it."""
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)
