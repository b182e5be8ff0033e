"""Every metric of one table over rows of many types, each with what it should be."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from scipy import stats

from tests.integration.engines.references import (
    Case,
    Reference,
    case,
    completeness,
    counts,
    distinct_rows,
    mutual_information,
    of_counts,
    of_numbers,
    of_values,
    pearson,
    share,
    share_of_rows,
    type_share,
)

NUMBERS = ("x", "y", "key", "large", "price", "nothing", "address.zip")
COLUMNS = ("id", "name", "flag", "day", "at", "address", "address.city", "tags", "special", *NUMBERS)
KEYS = (
    *((name,) for name in ("id", "key", "x", "price", "name", "flag", "day", "at", "special", "nothing")),
    *(("address.city",), ("tags",), ("key", "name"), ("flag", "day", "address.zip"), ("id", "at")),
)


def of_the_table() -> list[Case]:
    return [
        case("row_count", expected=lambda rows: float(len(rows))),
        case(
            "compliance", "x > 40 and key < 20", expected=share_of_rows(lambda row: row["x"] > 40 and row["key"] < 20)
        ),
        case("compliance", "name in ('東京', 'O''Hara')", expected=share_of_rows(_is_named)),
        case("compliance", "address.zip = 3 -- a field", expected=share_of_rows(lambda row: row["address.zip"] == 3)),
        case("satisfies_if", "key > 10", "x > 45", expected=_satisfied),
    ]


def of_texts() -> list[Case]:
    return [
        case("min_length", columns=("name",), expected=of_values(lambda found: min(map(len, found)), "name")),
        case("max_length", columns=("name",), expected=of_values(lambda found: max(map(len, found)), "name")),
        case("pattern_match", "^[a-q]", columns=("name",), expected=share(lambda text: "a" <= text[:1] <= "q", "name")),
        case("pattern_match", "integer", columns=("said",), expected=share(lambda t: t in ("1", "-20", "+3"), "said")),
        case("consistent_type", columns=("said",), expected=type_share("said")),
    ]


def of_times() -> list[Case]:
    instant = datetime(2024, 6, 1, tzinfo=UTC)
    expected = of_values(lambda found: (instant - max(found)).total_seconds(), "at")
    return [case("age", "timestamp '2024-06-01 00:00:00'", columns=("at",), expected=expected)]


def of_single_values() -> list[Case]:
    return [
        case("ratio_of", text, columns=(name,), expected=_ratio(name, value))
        for name, text, value in (("name", "東京", "東京"), ("flag", "true", True), ("key", "7", 7), ("name", "", ""))
    ]


def of_numbers_in(name: str) -> list[Case]:
    columns = (name,)
    return [
        case("min", columns=columns, expected=of_numbers(np.min, name)),
        case("max", columns=columns, expected=of_numbers(np.max, name)),
        case("sum", columns=columns, expected=of_numbers(np.sum, name)),
        case("mean", columns=columns, expected=of_numbers(np.mean, name)),
        case("stddev", columns=columns, expected=of_numbers(np.std, name)),
        case("quantile", 0.37, columns=columns, expected=of_numbers(lambda found: np.quantile(found, 0.37), name)),
        case("non_negative", columns=columns, expected=_sign(name, lambda value: value >= 0)),
        case("positive", columns=columns, expected=_sign(name, lambda value: value > 0)),
        case("in_range", -10.5, 45, columns=columns, expected=share(lambda value: -10.5 <= value <= 45, name)),
    ]


def of_keys(*columns: str) -> list[Case]:
    return [
        case("distinct_count", columns=columns, expected=distinct_rows(*columns)),
        case("count_distinct", columns=columns, expected=lambda rows: float(len(counts(rows, columns)))),
        case("uniqueness", columns=columns, expected=of_counts(lambda c: (c == 1).sum() / c.sum(), *columns)),
        case("distinctness", columns=columns, expected=of_counts(lambda c: len(c) / c.sum(), *columns)),
        case("unique_value_ratio", columns=columns, expected=of_counts(lambda c: (c == 1).mean(), *columns)),
    ]


def of_values_of(name: str) -> list[Case]:
    return [
        case("entropy", columns=(name,), expected=of_counts(stats.entropy, name)),
        case("most_frequent_share", columns=(name,), expected=of_counts(lambda c: c.max() / c.sum(), name)),
    ]


def of_pairs() -> list[Case]:
    return [
        case("correlation", columns=("x", "y"), expected=pearson("x", "y")),
        case("correlation", columns=("key", "price"), expected=pearson("key", "price"), near=1e-7),
        case("mutual_information", columns=("key", "name"), expected=mutual_information("key", "name")),
        case(
            "mutual_information", columns=("flag", "address.city"), expected=mutual_information("flag", "address.city")
        ),
        case("less_than", columns=("at", "until"), expected=share(lambda at, until: at < until, "at", "until")),
        case("less_than", columns=("y", "x"), expected=share(lambda y, x: y < x, "y", "x")),
    ]


def _ratio(name: str, value: object) -> Reference:
    return lambda rows: float(np.mean([each == value for each in rows[name]])) if len(rows) else None


def _sign(name: str, met: Callable[[float], bool]) -> Reference:
    """Python compares a NaN with nothing, as the metrics do."""

    def reference(rows: pd.DataFrame) -> float | None:
        return float(np.mean([value is None or met(float(value)) for value in rows[name]])) if len(rows) else None

    return reference


def _is_named(row: pd.Series) -> bool:
    return row["name"] in ("東京", "O'Hara")


def _satisfied(rows: pd.DataFrame) -> float | None:
    asked = [x for x, key in zip(rows["x"], rows["key"], strict=True) if key is not None and key > 10]
    return sum(x is not None and x > 45 for x in asked) / len(asked) if asked else None


EXACT: tuple[Case, ...] = (
    *of_the_table(),
    *of_texts(),
    *of_pairs(),
    *of_times(),
    *of_single_values(),
    *(case("completeness", columns=(name,), expected=completeness(name)) for name in COLUMNS),
    *(each for name in NUMBERS for each in of_numbers_in(name)),
    *(each for columns in KEYS for each in of_keys(*columns)),
    *(each for columns in KEYS if len(columns) == 1 for each in of_values_of(*columns)),
)
