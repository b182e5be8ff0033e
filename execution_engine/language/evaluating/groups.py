"""The verdict on an assertion ``by`` columns: each group is judged by itself, and enough of them must hold.

- The groups are those of every operand and every past window. Where an operand has no such group, its value is that
  over no rows: 0 for a count, else NULL. Before a group was first seen in a history its windows are missing, not 0.
- A group whose result is NULL, not finite or still warming up is not judged: it counts on neither side, and is told.
- Only where no group could be judged the whole is an error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from heapq import nsmallest
from math import inf, isfinite
from typing import Any, cast

from execution_engine.exact import Number, number_of, to_json
from execution_engine.language.serialise import number_text, to_text
from execution_engine.language.tree import By, History, Metric, Operand, operands, unfolded
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import quoted
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, too_many_groups
from execution_engine.outcome import Failure, Outcome, Reason

from .judge import (
    AssertionVerdict,
    ConditionJudgement,
    UnableToEvaluate,
    ZeroDivision,
    error,
    gravest,
    judge,
    only_predicate,
    quantity,
    sentence,
)
from .past import WithPast, aggregate, anomaly, of_group

# A verdict on groups in words: ``117 of 120 groups hold (97.5 %, wanted all): …; city = 'Oslo': …``.

SAID = 3  # groups in a sentence
FOUND = 20  # groups in the findings that were judged, and as many that were not
MAX_KEY = 60  # characters of a key that are shown

Judged = Sequence[tuple[GroupKey, ConditionJudgement]]
Unjudged = Sequence[tuple[GroupKey, Failure]]


def label(columns: Sequence[str], key: GroupKey) -> str:
    """A group in words: ``city = 'Oslo', status is null``."""
    return ", ".join(_part(column, value) for column, value in zip(columns, key, strict=True))


def said(tree: By, held: int, broken: Judged, unjudged: Unjudged) -> str:
    """Counts first, then the worst groups with their values, then some of those that were not judged."""
    judged, wanted = held + len(broken), "all" if tree.percent is None else f"{number_text(tree.percent)} %"
    counts = f"{held} of {judged} groups hold ({_percent(held, judged)}, wanted {wanted}): {to_text(tree.condition)}"
    worst = [f"{label(tree.columns, key)}: {_judged(tree, found)}" for key, found in broken[:SAID]]
    more = [f"and {len(broken) - SAID} more"] if len(broken) > SAID else []
    unknown = [_unknown(tree, unjudged)] if unjudged else []
    return "; ".join([counts, *worst, *more, *unknown])


def _unknown(tree: By, unjudged: Unjudged) -> str:
    key, failure = unjudged[0]
    counted = "1 group" if len(unjudged) == 1 else f"{len(unjudged)} groups"
    return f"{counted} could not be judged, such as {label(tree.columns, key)}: {failure}"


def findings(tree: By, held: int, broken: Judged, unjudged: Unjudged, holding: Judged) -> dict[str, Any]:
    """Counts, the worst groups, some of those that hold, and some of those that were not judged, as JSON."""
    counts = {"groups": {"held": held, "broken": len(broken), "not_judged": len(unjudged)}}
    worst, sound = ([_found(tree, *each) for each in some[:FOUND]] for some in (broken, holding))
    unknown = [
        {"group": dict(zip(tree.columns, key, strict=True)), "said": f"{label(tree.columns, key)}: {failure}"}
        for key, failure in unjudged[:FOUND]
    ]
    told = {"worst_groups": worst, "groups_that_hold": sound, "groups_not_judged": unknown}
    return counts | {name: groups for name, groups in told.items() if groups}


def _found(tree: By, key: GroupKey, found: ConditionJudgement) -> dict[str, Any]:
    only = found.compared[0] if only_predicate(tree.condition) else None
    return {
        "group": dict(zip(tree.columns, key, strict=True)),
        "value": None if only is None or only.value is None else to_json(number_of(only.value)),
        "bound": None if only is None or only.bound is None else to_json(number_of(only.bound)),
        "said": f"{label(tree.columns, key)}: {_judged(tree, found)}",
    }


def _judged(tree: By, found: ConditionJudgement) -> str:
    only = only_predicate(tree.condition)
    return "; ".join([sentence(found.compared, negated=bool(only and only[1])), *found.zero_divisions_said])


def _part(column: str, value: str | None) -> str:
    if value is None:
        return f"{column} is null"
    return f"{column} = {quoted(value if len(value) <= MAX_KEY else value[:MAX_KEY] + '…')}"


def _percent(held: int, judged: int) -> str:
    """A share in percent, cut rather than rounded, so that 100 % means all."""
    cut = (Decimal(100) * held / judged).quantize(Decimal("0.01"), rounding=ROUND_DOWN)
    return f"{number_text(float(cut))} %"


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
