"""How large a fault is: the share of the rows that a cause touches, and how far the value of an effect moved (pure).

Of a value that grows with its rows (a count, a sum) the share of the rows that explains a move is
``|value - bound| / max(|value|, |bound|)``: so many of them must be lost, or be there twice. A share of the rows moves
by at most the share that is touched, so it counts as it is. All other values count as those that grow with their rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from execution_engine.exact import Number
from execution_engine.language.evaluate import ZeroDivision, of_known, only_predicate
from execution_engine.language.past import EXPECTED, NOVEL
from execution_engine.language.tree import Arithmetic, Assertion, By, History, Metric, Operator, operands, postorder
from execution_engine.metrics.definitions.row_count import ROW_COUNT
from execution_engine.metrics.registry import METRICS

ROUNDING = 1e-9
SHARE = "share"  # execution_engine.novelty.measures.statistics.Shown: how people read a statistic that is a share
DISTANCE = "distance"
ROWS = "rows"
FOLLOWING = frozenset({"mean", "value", "rows"})  # beside shares and what adds up: no single row moves these far


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a fault is on one window.

    ``touched`` is the share of the rows that it touches, 0 where that is not known; with ``columns`` it touches these
    alone. ``moved`` is the share of the rows that must be touched to explain its value, 1 where that is not known.
    ``reads`` are the columns behind the value: of each group one must be touched. No group: they are not known.
    """

    touched: float = 0.0
    moved: float = 1.0
    columns: frozenset[str] | None = None
    reads: tuple[frozenset[str], ...] = ()


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

    back: float
    off: float
    reads: frozenset[str] | None  # None: not known


UNKNOWN_MOVE = _Move(back=1.0, off=0.0, reads=None)


def size_of(result: BrokenResult) -> Size:
    """How large the fault is that the result tells of."""
    match result.category:
        case "freshness":
            return Size(touched=_late(result.findings))
        case "completeness" | "consistency":
            return Size(touched=_lost_or_doubled(result))
        case "duplicates":
            return Size(touched=_repeated(result))
        case "schema":
            columns = _drifted(result.findings)
            return Size(touched=1.0 if columns else 0.0, columns=columns)
    moves = _moves(result)
    reads = tuple(move.reads for move in moves if move.reads is not None)
    return Size(touched=max(move.off for move in moves), moved=max(move.back for move in moves), reads=reads)


def _late(findings: Mapping[str, Any]) -> float:
    """The share of its rows that an incomplete window lacks, by the place that lacks most."""
    counts = [each for each in findings.values() if isinstance(each, dict) and each.get(ROWS) is not None]
    lacking = [_lacking(each[ROWS], each.get("expected")) for each in counts]
    return max(lacking, default=0.0)


def _lacking(rows: float, expected: float | None) -> float:
    if not rows:
        return 1.0
    return _within(1 - rows / expected) if expected else 0.0


def _lost_or_doubled(result: BrokenResult) -> float:
    """Of a ratio of rows: what is lost of it, or what is there more often than once."""
    value, _ = _value(result)
    if value is None or not _is_ratio(result.tree):
        return 0.0
    return _within(1 - value if value <= 1 else 1 - 1 / value)


def _repeated(result: BrokenResult) -> float:
    """Of a share of rows: of those that repeat a key, or of those that do not."""
    value, bound = _value(result)
    if value is None or bound is None or not _is_ratio(result.tree):
        return 0.0
    return _within(value if value > bound else 1 - value)


def _is_ratio(tree: Assertion) -> bool:
    metrics = [each for each in operands(tree) if isinstance(each, Metric)]
    divides = any(isinstance(node, Arithmetic) and node.operator is Operator.DIVIDE for node in postorder(tree))
    return divides or (len(metrics) == 1 and _is_share(metrics[0]))


def _drifted(findings: Mapping[str, Any]) -> frozenset[str] | None:
    """The columns that are gone or of another type, or that break an inferred schema; None where nothing says which."""
    found = [each for each in findings.values() if isinstance(each, dict)]
    names = {name.lower() for each in found for name in (*each.get("gone", ()), *each.get("changed", ()))}
    causes = [cause for verdict in findings.get(NOVEL, ()) for cause in verdict["causes"]]
    names |= {cause["column"].lower() for cause in causes if cause.get("column")}
    return frozenset(names) or None


def _moves(result: BrokenResult) -> list[_Move]:
    """Each value that moved; of several comparisons, or of groups, nothing is known."""
    if isinstance(result.tree, By) or only_predicate(result.tree) is None:
        return [UNKNOWN_MOVE]
    if novel := result.findings.get(NOVEL):
        return [_of_statistic(cause) for one in novel for cause in one["causes"]] or [UNKNOWN_MOVE]
    asked = operands(result.tree)
    if expected := result.findings.get(EXPECTED):
        metrics = {each.metric.call: each.metric for each in asked if isinstance(each, History)}
        return [_of_anomaly(one, metrics[one["metric"]]) for one in expected]
    return [_of_comparison(result, [each if isinstance(each, Metric) else each.metric for each in asked])]


def _of_comparison(result: BrokenResult, metrics: Sequence[Metric]) -> _Move:
    value, bound = _value(result)
    if value is None or bound is None or value == bound == 0:
        return UNKNOWN_MOVE
    is_share = len(metrics) == 1 and _is_share(metrics[0])
    move = _distance(value, bound, is_share)
    off = move if all(map(_follows_its_rows, metrics)) and (is_share or bound) else 0.0
    if is_share and value == (0 if value < bound else 1):
        off = 1.0  # no row is left as it should be
    return _Move(back=move, off=off, reads=_columns(metrics))


def _of_anomaly(found: Mapping[str, Any], metric: Metric) -> _Move:
    value, low, high = float(found["value"]), found["low"], found["high"]
    bound = low if low is not None and value < low else high if high is not None and value > high else value
    known = [end for end in (low, high) if end is not None]
    usual, is_share = sum(known) / len(known), _is_share(metric)
    off = _distance(value, usual, is_share) if _follows_its_rows(metric) and (is_share or usual) else 0.0
    return _Move(back=_distance(value, bound, is_share), off=off, reads=_columns([metric]))


def _of_statistic(cause: Mapping[str, Any]) -> _Move:
    """What novelty says of one column, or of the whole batch."""
    column = cause.get("column")
    reads = frozenset() if column is None else frozenset({column.lower()})
    value, usual, low, high = (_number(cause.get(name)) for name in ("value", "expected", "low", "high"))
    if low is None or high is None:
        low = high = usual
    if value is None or low is None or high is None:
        return replace(UNKNOWN_MOVE, reads=reads)
    is_share = cause.get("shown") in (SHARE, DISTANCE)
    off = 0.0
    if usual is not None and (is_share or (usual and cause["statistic"] in FOLLOWING)):
        off = _distance(value, usual, is_share)
    return _Move(back=_distance(value, min(max(value, low), high), is_share), off=off, reads=reads)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _value(result: BrokenResult) -> tuple[float | None, float | None]:
    """The value of its only comparison, and the bound that it violates."""
    if isinstance(result.tree, By):
        return None, None
    known = {each.text: result.operands.get(each.text) for each in operands(result.tree)}
    verdict = of_known(result.tree, known, zero=ZeroDivision.NULL)
    if verdict.value is None or verdict.bound is None:
        return None, None
    return float(verdict.value), float(verdict.bound)


def _distance(value: float, bound: float, is_share: bool) -> float:
    largest = 1.0 if is_share else max(abs(value), abs(bound))
    return _within(abs(value - bound) / largest) if largest else 0.0


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))


def _is_share(metric: Metric) -> bool:
    return METRICS[metric.spec.name].is_share


def _follows_its_rows(metric: Metric) -> bool:
    definition = METRICS[metric.spec.name]
    return definition.is_share or definition.adds_up or definition.name in FOLLOWING


def _columns(metrics: Iterable[Metric]) -> frozenset[str] | None:
    """The columns that they read; None where a condition, a query or another table may stand behind them."""
    specs = [metric.spec for metric in metrics]
    if any(spec.arguments or spec.where or not (spec.columns or spec.name == ROW_COUNT.name) for spec in specs):
        return None
    return frozenset(column.strip("`").lower() for spec in specs for column in spec.columns)
