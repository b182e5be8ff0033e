"""A verdict on groups in words: ``117 of 120 groups hold (97.5 %, wanted all): …; city = 'Oslo': …``."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any

from execution_engine.exact import number_of, to_json
from execution_engine.language.to_text import number_text, to_text
from execution_engine.language.tree import By
from execution_engine.metrics.spec import quoted
from execution_engine.metrics.states.group_values import GroupKey
from execution_engine.outcome import Failure

from .judge import ConditionJudgement
from .sentence import sentence
from .verdict import only_predicate

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
