"""How large a fault is: the share of the rows that a cause touches, and how far the value of an effect moved (pure).

Of a value that grows with its rows (a count, a sum) the share of the rows that explains a move is
``|value - bound| / max(|value|, |bound|)``: so many of them must be lost, or be there twice. A share of the rows moves
by at most the share that is touched, so it counts as it is. All other values count as those that grow with their rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from execution_engine.exact import Number
from execution_engine.language.evaluate import ZeroDivision, of_known, only_predicate
from execution_engine.language.past import EXPECTED, NOVEL
from execution_engine.language.tree import (
    Arithmetic,
    Assertion,
    By,
    History,
    Metric,
    Operator,
    metric_of,
    operands,
    postorder,
)
from execution_engine.metrics.definitions.row_count import ROW_COUNT
from execution_engine.metrics.expressions import path_of
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Outcome

ROUNDING = 1e-9
SHARE = "share"  # execution_engine.novelty.statistics.Shown: how people read a statistic that is a share
DISTANCE = "distance"
ROWS = "rows"
FOLLOWING = frozenset({"mean", "value", "rows"})  # beside shares and what adds up: no single row moves these far


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a fault is on one window.

    ``touched`` is the share of the rows that it touches, 0 where that is not known; with ``columns`` it touches these
    alone. ``moved`` is the share of the rows that must be touched to explain its value, 1 where that is not known.
    ``reads`` are the columns behind the value: of each group one must be touched. No group: they are not known.
    ``broken`` are the columns whose values break the test, by which edges that know columns lead further.
    """

    touched: float = 0.0
    moved: float = 1.0
    columns: frozenset[str] | None = None
    reads: tuple[frozenset[str], ...] = ()
    broken: frozenset[str] | None = None


UNKNOWN_SIZE = Size()


@dataclass(frozen=True, kw_only=True)
class BrokenResult:
    """What a broken run measured, by the assertion that it broke."""

    category: str
    tree: Assertion
    operands: Mapping[str, Number | None]
    findings: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Move:
    """One value that moved: ``back`` to where it would hold, ``off`` from where it is expected; both in shares."""

    back: float = 1.0
    off: float = 0.0
    reads: frozenset[str] | None = None  # None: not known


def size_of(result: BrokenResult) -> Size:
    """How large the fault is that the result tells of."""
    details = [detail for detail in result.findings.values() if isinstance(detail, dict)]
    match result.category:
        case "freshness":  # the share of its rows that an incomplete window lacks, by the place that lacks most
            counts = [(detail[ROWS], detail.get("expected")) for detail in details if detail.get(ROWS) is not None]
            lacking = (
                (_within(1 - rows / expected) if expected else 0.0) if rows else 1.0 for rows, expected in counts
            )
            return Size(touched=max(lacking, default=0.0))
        case "completeness" | "consistency" | "duplicates":
            return Size(touched=_touched_by_ratio(result))
        case "schema":  # the columns that are gone or of another type, or that break an inferred schema
            names = {name.lower() for row in details for name in (*row.get("gone", ()), *row.get("changed", ()))}
            causes = [cause for verdict in result.findings.get(NOVEL, ()) for cause in verdict["causes"]]
            columns = frozenset(names | {cause["column"].lower() for cause in causes if cause.get("column")})
            return Size(touched=1.0 if columns else 0.0, columns=columns or None)
    moves = [_Move()]  # of several comparisons, or of groups, nothing is known
    if not isinstance(result.tree, By) and only_predicate(result.tree) is not None:
        values = operands(result.tree)
        if novel := result.findings.get(NOVEL):
            moves = [_move_of_statistic(cause) for verdict in novel for cause in verdict["causes"]] or moves
        elif expected := result.findings.get(EXPECTED):
            metrics = {value.metric.call: value.metric for value in values if isinstance(value, History)}
            moves = [_move_of_anomaly(anomaly, metrics[anomaly["metric"]]) for anomaly in expected]
        else:
            compared = [value if isinstance(value, Metric) else value.metric for value in values]
            moves = [_move_of_comparison(result, compared)]
    reads = tuple(move.reads for move in moves if move.reads is not None)
    broken = broken_columns(result.category, [result.tree])
    moved = max(move.back for move in moves)
    return Size(touched=max(move.off for move in moves), moved=moved, reads=reads, broken=broken)


OF_COLUMNS = frozenset({"column", "custom", "anomaly"})  # categories of which a test may tell of columns alone


def broken_columns(category: str, trees: Iterable[Assertion]) -> frozenset[str] | None:
    """The columns, in lower case, whose values break these assertions; None where whole rows may be wrong."""
    if category not in OF_COLUMNS:
        return None
    metrics = [metric_of(operand) for tree in trees for operand in operands(tree)]
    specs = [metric.spec for metric in metrics if metric.dataset is None]
    if not specs or any(not spec.columns or METRICS[spec.name].groupings for spec in specs):
        return None
    return frozenset(path_of(column)[0].lower() for spec in specs for column in spec.columns)


def holds_at(result: BrokenResult, spec: MetricSpec, value: float) -> bool | None:
    """Whether the assertion would hold were its metric this value; None where more than this metric decides it."""
    if isinstance(result.tree, By):
        return None
    novel, expected = result.findings.get(NOVEL, ()), result.findings.get(EXPECTED, ())
    if novel or expected:
        bands = [cause for verdict in novel for cause in verdict["causes"]] or list(expected)
        if len(bands) != 1 or only_predicate(result.tree) is None or bands[0].get("metric", spec.call) != spec.call:
            return None
        low, high = bands[0].get("low"), bands[0].get("high")
        return (low is None or low <= value) and (high is None or value <= high)
    if spec.call not in [operand.text for operand in operands(result.tree) if isinstance(operand, Metric)]:
        return None
    values = {operand.text: result.operands.get(operand.text) for operand in operands(result.tree)}
    outcome = of_known(result.tree, values | {spec.call: value}, zero=ZeroDivision.NULL).outcome
    return {Outcome.HELD: True, Outcome.BROKEN: False}.get(outcome)


def _touched_by_ratio(result: BrokenResult) -> float:
    """Of a ratio of rows: what is lost, or there more than once; of a share of repeated keys those that are wrong."""
    value, bound = _value_and_bound(result)
    metrics = [operand for operand in operands(result.tree) if isinstance(operand, Metric)]
    divides = any(isinstance(node, Arithmetic) and node.operator is Operator.DIVIDE for node in postorder(result.tree))
    is_ratio = divides or (len(metrics) == 1 and METRICS[metrics[0].spec.name].is_share)
    if value is None or bound is None or not is_ratio:
        return 0.0
    if result.category == "duplicates":
        return _within(value if value > bound else 1 - value)
    return _within(1 - value if value <= 1 else 1 - 1 / value)


def _move_of_comparison(result: BrokenResult, metrics: Sequence[Metric]) -> _Move:
    value, bound = _value_and_bound(result)
    if value is None or bound is None or value == bound == 0:
        return _Move()
    is_share = len(metrics) == 1 and METRICS[metrics[0].spec.name].is_share
    move = _distance(value, bound, is_share)
    off = move if all(map(_follows_its_rows, metrics)) and (is_share or bound) else 0.0
    if is_share and value == (0 if value < bound else 1):
        off = 1.0  # no row is left as it should be
    return _Move(back=move, off=off, reads=_columns(metrics))


def _move_of_anomaly(anomaly: Mapping[str, Any], metric: Metric) -> _Move:
    value, low, high = float(anomaly["value"]), anomaly["low"], anomaly["high"]
    bound = low if low is not None and value < low else high if high is not None and value > high else value
    bounds = [end for end in (low, high) if end is not None]
    usual, is_share = sum(bounds) / len(bounds), METRICS[metric.spec.name].is_share
    off = _distance(value, usual, is_share) if _follows_its_rows(metric) and (is_share or usual) else 0.0
    return _Move(back=_distance(value, bound, is_share), off=off, reads=_columns([metric]))


def _move_of_statistic(cause: Mapping[str, Any]) -> _Move:
    """What novelty says of one column, or of the whole batch."""
    column = cause.get("column")
    reads = frozenset() if column is None else frozenset({column.lower()})
    figures = (cause.get(name) for name in ("value", "expected", "low", "high"))
    value, usual, low, high = (float(figure) if isinstance(figure, int | float) else None for figure in figures)
    if low is None or high is None:
        low = high = usual
    if value is None or low is None or high is None:
        return _Move(reads=reads)
    is_share = cause.get("shown") in (SHARE, DISTANCE)
    off = 0.0
    if usual is not None and (is_share or (usual and cause["statistic"] in FOLLOWING)):
        off = _distance(value, usual, is_share)
    return _Move(back=_distance(value, min(max(value, low), high), is_share), off=off, reads=reads)


def _value_and_bound(result: BrokenResult) -> tuple[float, float] | tuple[None, None]:
    """The value of its only comparison, and the bound that it violates."""
    if isinstance(result.tree, By):
        return None, None
    values = {operand.text: result.operands.get(operand.text) for operand in operands(result.tree)}
    verdict = of_known(result.tree, values, zero=ZeroDivision.NULL)
    if verdict.value is None or verdict.bound is None:
        return None, None
    return float(verdict.value), float(verdict.bound)


def _distance(value: float, bound: float, is_share: bool) -> float:
    largest = 1.0 if is_share else max(abs(value), abs(bound))
    return _within(abs(value - bound) / largest) if largest else 0.0


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))


def _follows_its_rows(metric: Metric) -> bool:
    definition = METRICS[metric.spec.name]
    return definition.is_share or definition.adds_up or definition.name in FOLLOWING


def _columns(metrics: Iterable[Metric]) -> frozenset[str] | None:
    """The columns that they read; None where a condition, a query or another table may stand behind them."""
    specs = [metric.spec for metric in metrics]
    if any(spec.arguments or spec.where or not (spec.columns or spec.name == ROW_COUNT.name) for spec in specs):
        return None
    return frozenset(column.strip("`").lower() for spec in specs for column in spec.columns)
