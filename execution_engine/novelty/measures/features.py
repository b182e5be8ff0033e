"""The statistics of the paper's method (Redyuk et al., Automating Data Quality Validation, 2021), by column."""

from math import nan

import numpy as np
import numpy.typing as npt

from execution_engine.profiles.column import ColumnProfile

FEATURES = (
    "share of complete values",
    "distinct values",
    "share of the most frequent value",
    "lowest number",
    "mean",
    "highest number",
    "standard deviation",
    "index of peculiarity",
)


def features_of(column: ColumnProfile | None) -> npt.NDArray[np.float64]:
    """Of one column, in the order of FEATURES; NaN: it has none."""
    if column is None:
        return np.full(len(FEATURES), nan)
    numbers, texts = column.numbers, column.texts
    of_numbers = (nan,) * 4
    if numbers is not None and numbers.finite:
        of_numbers = (numbers.low, numbers.mean, numbers.high, numbers.deviation)
    return np.array(
        [
            column.present / column.rows if column.rows else nan,
            column.distinct,
            column.values.most / column.rows if column.rows else nan,
            *of_numbers,
            texts.peculiarity if texts is not None else nan,
        ]
    )
