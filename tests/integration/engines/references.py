"""What numpy, scipy and pandas say of the same rows: one function a metric, written apart from ours."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

from execution_engine.engines.protocol import Measured, MeasurementRequest, Part, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Reason

Reference = Callable[[pd.DataFrame], float | None]
Floats = npt.NDArray[np.float64]
OF_TYPE = {
    "integral": ("1", "-20", "+3"),
    "fractional": ("1.5", ".5", "2e-3"),
    "boolean": ("true", "FALSE"),
    "text": ("word", "1 2", "", "0x1F", "٣", "7\n"),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A metric, what it should be, and how near."""

    spec: MetricSpec
    expected: Reference
    near: float = 1e-9


def case(
    name: str, *arguments: Literal, columns: tuple[str, ...] = (), expected: Reference, near: float = 1e-9
) -> Case:
    return Case(spec=MetricSpec(name=name, columns=columns, arguments=arguments), expected=expected, near=near)


def under(case: Case, clause: str, met: Callable[[pd.DataFrame], Sequence[bool]]) -> Case:
    """The case over the rows that meet a clause."""

    def expected(rows: pd.DataFrame) -> float | None:
        return case.expected(rows[np.array(met(rows), dtype=bool)])

    return replace(case, spec=replace(case.spec, where=clause), expected=expected)


def scan(engine: SparkEngine, table: Table, cases: Sequence[Case], key: str) -> list[Measured]:
    report = engine.scan(table, Part(keys=(key,)), requests_of(cases))
    return [report.measured[str(at)] for at in range(len(cases))]


def requests_of(cases: Sequence[Case]) -> tuple[MeasurementRequest, ...]:
    return tuple(MeasurementRequest(key=str(at), spec=each.spec) for at, each in enumerate(cases))


def differences(cases: Sequence[Case], measured: Sequence[Measured], rows: pd.DataFrame) -> list[object]:
    """What was measured otherwise than it should be."""
    return [
        (each.spec.text, found, expected)
        for each, found in zip(cases, measured, strict=True)
        if not agrees(found, expected := each.expected(rows), each.near)
    ]


def agrees(found: Measured, expected: float | None, near: float) -> bool:
    if expected is None:
        return (found.value, found.failure) == (None, None)
    if not math.isfinite(expected):
        return found.failure is not None and found.failure.reason is Reason.NOT_FINITE
    return found.failure is None and found.value == pytest.approx(expected, rel=near, abs=1e-9)


def as_text(value: Any) -> str | None:
    """A value as a group's key has it."""
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def present(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows in which no column is null."""
    return rows[np.array([all(value is not None for value in key) for key in _keys(rows, columns)], dtype=bool)]


def of_numbers(function: Callable[[Floats], Any], column: str) -> Reference:
    return of_values(lambda found: function(np.array([float(value) for value in found])), column)


def of_values(function: Callable[[list[Any]], Any], column: str) -> Reference:
    """Of those that are there; None where none is."""

    def reference(rows: pd.DataFrame) -> float | None:
        values = [value for value in rows[column] if value is not None]
        return float(function(values)) if values else None

    return reference


def share(condition: Callable[..., bool], *columns: str) -> Reference:
    def reference(rows: pd.DataFrame) -> float | None:
        met = [condition(*key) for key in _keys(present(rows, *columns), columns)]
        return float(np.mean(met)) if met else None

    return reference


def share_of_rows(condition: Callable[[Any], bool]) -> Reference:
    """A row for which the condition cannot be told, as something in it is null, does not meet it."""

    def met(row: Any) -> bool:
        try:
            return bool(condition(row))
        except TypeError:
            return False

    return lambda rows: float(np.mean([met(row) for row in rows.to_dict("records")])) if len(rows) else None


def completeness(column: str) -> Reference:
    return lambda rows: float(np.mean([value is not None for value in rows[column]])) if len(rows) else None


def counts(rows: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """How often each key without a null occurs."""
    found = [repr([_alike(value) for value in key]) for key in _keys(present(rows, *columns), columns)]
    return pd.Series(found, dtype=object).value_counts()


def of_counts(function: Callable[[pd.Series], Any], *columns: str) -> Reference:
    def reference(rows: pd.DataFrame) -> float | None:
        found = counts(rows, columns)
        return float(function(found)) if len(found) else None

    return reference


def distinct_rows(*columns: str) -> Reference:
    return lambda rows: float(len({repr([_alike(value) for value in key]) for key in _keys(rows, columns)}))


def mutual_information(a: str, b: str) -> Reference:
    def reference(rows: pd.DataFrame) -> float | None:
        kept = present(rows, a, b)
        if kept.empty:
            return None
        table = pd.crosstab(kept[a].map(repr), kept[b].map(repr)).to_numpy()
        return float(stats.entropy(table.sum(0)) + stats.entropy(table.sum(1)) - stats.entropy(table.ravel()))

    return reference


def pearson(a: str, b: str) -> Reference:
    def reference(rows: pd.DataFrame) -> float | None:
        kept = present(rows, a, b)
        if len(kept) < 2:
            return None
        return float(stats.pearsonr(kept[a].astype(float), kept[b].astype(float)).statistic)

    return reference


def type_share(column: str) -> Reference:
    type_of = {text: type_ for type_, texts in OF_TYPE.items() for text in texts}

    def most(values: list[Any]) -> float:
        return float(pd.Series([type_of[value] for value in values]).value_counts(normalize=True).iloc[0])

    return of_values(most, column)


def _keys(rows: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(rows[name] for name in columns), strict=True))


def _alike(value: Any) -> Any:
    """Both zeros are one value."""
    return value + 0.0 if isinstance(value, float) else value
