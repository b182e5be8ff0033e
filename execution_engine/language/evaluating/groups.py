"""The verdict on an assertion ``by`` columns: each group is judged by itself, and enough of them must hold.

- The groups are those of every operand and every past window. Where an operand has no such group, its value is that
  over no rows: 0 for a count, else NULL. Before a group was first seen in a history its windows are missing, not 0.
- A group whose result is NULL, not finite or still warming up is not judged: it counts on neither side, and is told.
- Only where no group could be judged the whole is an error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from heapq import nsmallest
from math import inf, isfinite
from typing import Any, cast

from execution_engine.exact import Number
from execution_engine.language.operands import operands
from execution_engine.language.tree import By, History, Metric, Operand
from execution_engine.language.walk import unfolded
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, too_many_groups
from execution_engine.outcome import Failure, Outcome, Reason

from .anomaly import WithPast, anomaly, of_group
from .group_sentence import FOUND, findings, label, said
from .history import aggregate
from .judge import ConditionJudgement, UnableToEvaluate, judge
from .number import quantity
from .verdict import AssertionVerdict, ZeroDivision, error, gravest, only_predicate

Groups = Mapping[GroupKey, Number | None]
Given = Groups | Sequence[Groups | None] | WithPast[Groups] | Failure
ValueOf = Callable[[GroupKey], Number | Failure | None]


@dataclass(kw_only=True)
class GroupTally:
    """How many groups hold, which are broken, the worst first, and which could not be judged, with the reason.

    ``holding``: of those that hold the ones that are told, the nearest to their bound first.
    """

    held: int = 0
    holding: list[tuple[GroupKey, ConditionJudgement]] = field(default_factory=list)
    broken: list[tuple[GroupKey, ConditionJudgement]] = field(default_factory=list)
    unjudged: list[tuple[GroupKey, Failure]] = field(default_factory=list)

    @property
    def judged(self) -> int:
        """How many groups hold or are broken."""
        return self.held + len(self.broken)


def judge_groups(tree: By, values: Mapping[str, Any], zero: ZeroDivision) -> AssertionVerdict:
    """The verdict on all groups together; ``values`` by the text of each operand, one mapping (a window) of groups."""
    wanted = operands(tree)
    given = {operand.text: _given(operand, values) for operand in wanted}
    known = {text: float(len(value)) for text, value in given.items() if isinstance(value, Mapping)}
    failures = [value for value in given.values() if isinstance(value, Failure)]
    if failures:
        return error(gravest(failures), known)
    keys = _keys([value for value in given.values() if not isinstance(value, Failure)])
    if not keys:
        detail = f"there are no groups by {', '.join(tree.columns)}: no rows were found"
        return error(Failure(reason=Reason.NO_DATA, detail=detail), known)
    if len(keys) > MAX_GROUPS:
        return error(too_many_groups(tree.columns, len(keys)), known)
    sources = [(operand.call, _value_of(operand, given[operand.text])) for operand in wanted]
    return _verdict(tree, _tally(tree, keys, sources, zero), known)


def _given(operand: Operand, values: Mapping[str, Any]) -> Given:
    value = values.get(operand.text)
    match operand, value:
        case (_, Failure()) | (Metric(), Mapping()):
            return cast(Groups | Failure, value)
        case History(), WithPast():
            return value
        case History(), Sequence() if all(part is None or isinstance(part, Mapping) for part in value):
            return cast(Sequence[Groups | None], value)
    raise UnableToEvaluate(f"{operand.text} needs a value for each group, not {value!r:.100}")


def _keys(given: Sequence[Groups | Sequence[Groups | None] | WithPast[Groups]]) -> list[GroupKey]:
    """Every group of any operand or past window, once."""
    keys: dict[GroupKey, None] = {}
    for value in given:
        windows = [*value.past, value.now] if isinstance(value, WithPast) else value
        for window in [windows] if isinstance(windows, Mapping) else windows:
            keys |= dict.fromkeys(window or ())
    return list(keys)


def _plain(operand: Operand) -> Metric:
    return operand.metric if isinstance(operand, History) else operand


def _value_of(operand: Operand, given: Given) -> ValueOf:
    """The function from a group to the operand's value there."""
    spec = _plain(operand).spec
    absent = METRICS[spec.name].over_no_rows(spec)
    if isinstance(operand, History) and isinstance(given, WithPast):
        return lambda key: _score(operand, of_group(given, key, absent))
    if isinstance(operand, History):
        windows = cast(Sequence[Groups | None], given)
        return lambda key: _finite(aggregate(operand, _series(key, windows, absent)), operand)
    groups = cast(Groups, given)
    return lambda key: _finite(groups.get(key, absent), operand)


def _score(history: History, given: WithPast[Number | None]) -> Number | Failure | None:
    found = anomaly(history, given)
    return found if found is None or isinstance(found, Failure) else found.score


def _series(key: GroupKey, windows: Sequence[Groups | None], absent: Number | None) -> list[Number | None]:
    """One group's past values; before it was first seen it has none."""
    first = next((i for i, groups in enumerate(windows) if groups and key in groups), len(windows))
    return [None if groups is None or i < first else groups.get(key, absent) for i, groups in enumerate(windows)]


def _finite(value: Number | Failure | None, operand: Operand) -> Number | Failure | None:
    if value is None or isinstance(value, Failure) or isfinite(value):
        return value
    return Failure(reason=Reason.NOT_FINITE, detail=f"{operand.call} is {value}")


def _tally(
    tree: By, keys: Sequence[GroupKey], sources: Sequence[tuple[str, ValueOf]], zero: ZeroDivision
) -> GroupTally:
    tally, nodes = GroupTally(), unfolded(tree.condition)
    for key in keys:
        values = {call: value_of(key) for call, value_of in sources}
        failures = [value for value in values.values() if isinstance(value, Failure)]
        if failures:
            tally.unjudged.append((key, gravest(failures)))
            continue
        known = {call: None if value is None else quantity(cast(Number, value)) for call, value in values.items()}
        _count(tally, key, judge(nodes, known, zero))
    worth = _worth if only_predicate(tree.condition) else _unranked
    tally.broken.sort(key=lambda found: (-worth(found[1]), label(tree.columns, found[0])))
    room = max(0, FOUND - len(tally.broken))
    tally.holding = nsmallest(room, tally.holding, key=lambda found: (worth(found[1]), label(tree.columns, found[0])))
    return tally


def _count(tally: GroupTally, key: GroupKey, found: ConditionJudgement) -> None:
    if found.failure is not None:
        tally.unjudged.append((key, found.failure))
    elif found.outcome is Outcome.HELD:
        tally.held += 1
        tally.holding.append((key, found))
    else:
        tally.broken.append((key, found))


def _worth(found: ConditionJudgement) -> float:
    """How far beyond its bound a group lies."""
    compared = found.compared[0]
    if compared.value is None or compared.bound is None:
        return inf
    return float(abs(compared.value - compared.bound))


def _unranked(found: ConditionJudgement) -> float:
    return 0.0


def _verdict(tree: By, tally: GroupTally, known: Mapping[str, Number | None]) -> AssertionVerdict:
    if not tally.judged:
        return error(_why_none(tree, tally), known)
    enough = Decimal(repr(tree.needed)) * tally.judged <= tally.held
    return AssertionVerdict(
        outcome=Outcome.HELD if enough else Outcome.BROKEN,
        sentence=said(tree, tally.held, tally.broken, tally.unjudged),
        value=tally.held / tally.judged,
        bound=tree.needed,
        operands=known,
        findings=findings(tree, tally.held, tally.broken, tally.unjudged, tally.holding),
    )


def _why_none(tree: By, tally: GroupTally) -> Failure:
    found = gravest(failure for _, failure in tally.unjudged)
    key = next(key for key, failure in tally.unjudged if failure is found)
    detail = f"none of {len(tally.unjudged)} groups could be judged; {label(tree.columns, key)}: {found.detail}"
    return Failure(reason=found.reason, detail=detail)
