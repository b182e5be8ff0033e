"""Metrics by columns of drawn tables, as the kernels measure them, in Spark and without, and as Spark does."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import isclose, isfinite
from pathlib import Path
from random import Random
from typing import Any

from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, ScanReport, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.guard import UnableToAllow, read_condition
from execution_engine.metrics.definition import ColumnKind, MetricKind
from execution_engine.metrics.registry import GROUPABLE, METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues
from tests.integration.storages import plain, stored

from .grammar import condition
from .tables import Drawn, write_drawn

NEAR = 1e-9  # of the magnitude of what was added up
PLAIN = tuple(
    name
    for name in GROUPABLE
    if METRICS[name].signature.min_columns == 1
    and not METRICS[name].signature.arguments
    and METRICS[name].kind is not MetricKind.SKETCH
)


@dataclass
class Judged:
    """What became of metrics by columns; ``differing``: where both say another thing."""

    kernels: int = 0
    spark: int = 0
    groups: int = 0
    differing: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Judged") -> None:
        """Takes those of other tables."""
        self.kernels += other.kernels
        self.spark += other.spark
        self.groups += other.groups
        self.differing += other.differing
        self.reasons += other.reasons


def scanned(engine: SparkEngine, table: Table, specs: Sequence[MetricSpec], *, native: bool) -> ScanReport:
    """What the engine reports, with kernels or without."""
    options = engine._options
    engine._options = replace(options, native=native)
    try:
        requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]
        return engine.scan(table if native else plain(table), WHOLE, requests)
    finally:
        engine._options = options


def judged(engine: SparkEngine, seed: int, folder: Path, count: int) -> Judged:
    """``count`` metrics by columns over the table that ``seed`` draws into ``folder``, measured by both."""
    draw = Random(seed)
    drawn = write_drawn(draw, folder)
    specs = list(dict.fromkeys(_specs(draw, drawn, count)))
    table = stored(Table(name="drawn", storage="parquet", location=str(folder)))
    found = Judged()
    for by in dict.fromkeys(spec.by for spec in specs):
        alike = [spec for spec in specs if spec.by == by]
        theirs = scanned(engine, table, alike, native=False).measured
        for spec in alike:  # each alone, as one that is Spark's takes those beside it along
            ours = scanned(engine, table, [spec], native=True)
            found.kernels += ours.read_by.kernels
            found.spark += ours.read_by.spark
            found.reasons += Counter(left.why for left in ours.read_by.left)
            found.groups += int(theirs[spec.text].value or 0)
            if why := difference(ours.measured[spec.text], theirs[spec.text], _size(drawn, spec)):
                found.differing.append(f"seed {seed}: {spec.text}: {why}")
            if why := told_otherwise(table, [spec], ours):
                found.differing.append(f"seed {seed}: {spec.text} here: {why}")
    return found


def told_otherwise(table: Table, specs: Sequence[MetricSpec], ours: ScanReport) -> str:
    """How the kernels here differ from those in Spark, to the last bit; what these leave is left here as a whole."""
    report = report_without_spark(table, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs])
    if report is None or ours.read_by.left:
        return "" if report is None and ours.read_by.left else f"{report} and {ours}"
    here, there = (
        (dict(each.measured), each.read_by, each.fingerprint, each.spark_jobs)
        for each in (report, replace(ours, spark_jobs=0))
    )
    return "" if here == there else f"{here} and {there}"


def difference(one: Measured, other: Measured, size: float = 0.0) -> str:
    """Where two measurements by columns differ, but for the last digits of floats of this size; empty: nowhere."""
    reasons = [each.failure and each.failure.reason for each in (one, other)]  # details hold numbers of Spark's plan
    if one.value != other.value or reasons[0] != reasons[1] or (one.state is None) != (other.state is None):
        return f"{one.value, one.failure} and {other.value, other.failure}"
    if one.state is None or other.state is None or one.state == other.state:
        return ""
    first, second = GroupValues.from_bytes(one.state), GroupValues.from_bytes(other.state)
    if list(first.groups) != list(second.groups):
        return f"groups {list(first.groups)} and {list(second.groups)}"
    some = {key: (value, second.groups[key]) for key, value in first.groups.items()}
    return next((f"{key}: {both}" for key, both in some.items() if not _near(*both, size)), "")


def _near(one: Any, other: Any, size: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        same = one == other or not (isfinite(one) or isfinite(other))
        return same or isclose(one, other, rel_tol=NEAR, abs_tol=1e-9 + NEAR * size)
    return type(one) is type(other) and bool(one == other)


def _size(drawn: Drawn, spec: MetricSpec) -> float:
    """How large what is added up may be, of columns of floats; of others every digit counts, but for a deviation's."""
    some = [value for name, values in drawn.values.items() if name in spec.columns for value in values]
    held = [abs(float(value)) for value in some if isinstance(value, int | float | Decimal)]
    return sum(value for value in held if isfinite(value))


def _specs(draw: Random, drawn: Drawn, count: int) -> Iterator[MetricSpec]:
    ways = [tuple(draw.sample(sorted(drawn.kinds), draw.choice([1, 1, 2, 3]))) for _ in range(4)]
    while count:
        count -= 1
        name = draw.choice(PLAIN)
        columns = _columns(draw, drawn, name)
        if columns is not None:
            by = draw.choice(ways)
            yield MetricSpec(name=name, columns=columns, where=_where(draw, drawn), by=by)


def _columns(draw: Random, drawn: Drawn, name: str) -> tuple[str, ...] | None:
    signature = METRICS[name].signature
    families: Mapping[Any, tuple[str, ...]] = {ColumnKind.NUMERIC: ("exact", "double"), ColumnKind.TEXT: ("text",)}
    fitting = drawn.of(*families[signature.column_kind]) if signature.column_kind in families else list(drawn.kinds)
    most = signature.max_columns or 3
    wanted = draw.randint(signature.min_columns, max(signature.min_columns, min(most, 3)))
    return tuple(draw.sample(fitting, wanted)) if len(fitting) >= wanted else None


def _where(draw: Random, drawn: Drawn) -> str | None:
    if draw.random() < 0.5:
        return None
    text = condition(draw, drawn)
    try:
        read_condition(text)
    except UnableToAllow:
        return None
    return text
