"""``profile()``: how many rows there are; its state describes them column by column, as novelty compares them.

``profile(fare, tip)`` is of these columns alone, ``profile(without='note')`` of all others. Columns that are sensitive,
and that of the partition, are never in a profile of all columns.
"""

from collections.abc import Iterable
from dataclasses import replace

from assay.time.windows import Window
from execution_engine.metrics.definition import (
    LAKE,
    ArgumentType,
    DatasetFacts,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.expressions import listed, path_of, written
from execution_engine.metrics.spec import MetricSpec

START = "start"  # seconds since 1970 from which dates and timestamps are counted: the start of the window
WITHOUT = "without"  # columns, apart by commas


def profiled(spec: MetricSpec, names: Iterable[str]) -> list[str]:
    """Those top-level columns of a table that a profile is of, as they are named there."""
    left_out = {column.casefold() for column in listed(str(spec.option(WITHOUT, "")))}
    return [name for name in names if written(name).casefold() not in left_out]


def start_of(spec: MetricSpec) -> float | None:
    """From when times are counted."""
    start = spec.option(START)
    return None if start is None else float(start)


def _held_to(spec: MetricSpec, of: DatasetFacts, partition: Window | None) -> MetricSpec:
    """With the start of its window, and without the columns whose values are nobody's, or say nothing."""
    options = dict(spec.options)
    if partition is not None:
        options.setdefault(START, int(partition.start.timestamp()))
    if not spec.columns and (hidden := [written(name) for name in of.unprofiled]):
        options[WITHOUT] = ", ".join(dict.fromkeys((*listed(str(options.get(WITHOUT, ""))), *hidden)))
    return replace(spec, options=tuple(sorted(options.items())))


def _problem(spec: MetricSpec) -> str | None:
    if spec.columns and spec.option(WITHOUT) is not None:
        return f"{WITHOUT}= is of all columns: name those that are wanted, or those that are not"
    nested = [name for name in listed(str(spec.option(WITHOUT, ""))) if len(path_of(name)) > 1]
    return f"{WITHOUT}= names whole columns, and {nested[0]} is a field: name its column" if nested else None


PROFILE = MetricDefinition(
    signature=Signature(
        name="profile", max_columns=None, options={START: ArgumentType.NUMBER, WITHOUT: ArgumentType.TEXT}
    ),
    kind=MetricKind.COMPOUND,
    formula="N; its state: of each column the share of rows with a value, frequent and different values, "
    "distribution, lengths, shapes and pairs of letters (docs/profiles.md)",
    source="Redyuk et al. 2021, section 4; Naumann 2014 (data profiling)",
    meaning="what the rows are like, column by column",
    phrase=MetricPhrase(noun=text_noop("the number of rows")),
    dimension=Dimension.ACCURACY,
    tells_values=True,
    problem=_problem,
    held_to=_held_to,
    taken_by={LAKE: "execution_engine.engines.spark.measures.profile:take_profile"},
)
