"""From a tree and the values of its operands to a verdict, and to the sentence that tells it.

- Any operand that failed makes the run an error with that failure, the most telling first: one that someone must mend,
  then one that may pass by itself, then one that only wants time. Nothing, ``coalesce`` included, hides a failure.
- A value that is NaN or infinite is such a failure; so is a result too large to be held.
- NULL is not a failure: it goes through the assertion as in SQL, and only a NULL that reaches the root is an error.
- Under ``by`` each group is judged by itself, and enough of them must hold. The groups are those of every operand and
  every past window; where an operand has no such group, its value is that over no rows: 0 for a count, else NULL.
  A group whose result is NULL, not finite or still warming up counts on neither side, and is told; only where no group
  could be judged the whole is an error.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, Context, Decimal
from enum import StrEnum
from heapq import nsmallest
from math import inf, isfinite
from typing import Any, cast

from execution_engine.exact import Number as ExactNumber
from execution_engine.exact import decimal_of, is_whole, number_of, to_json
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import quoted
from execution_engine.metrics.states.group_values import MAX_GROUPS, GroupKey, too_many_groups
from execution_engine.outcome import Failure, Outcome, Reason

from .past import BatchWithPast, ScoredWindow, WithPast, aggregate, anomaly, novelty, past_of_group
from .serialise import length_shown, number_shown, number_text, to_text
from .tree import (
    And,
    Arithmetic,
    Assertion,
    Between,
    By,
    Call,
    Comparator,
    Comparison,
    Condition,
    Duration,
    Function,
    History,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Operand,
    Operator,
    Or,
    Percentage,
    Predicate,
    Unfolded,
    children,
    fold,
    fold_again,
    metric_of,
    operands,
    postorder,
    unfolded,
)

# The arithmetic of assertions: decimal, as people reckon, so that ``1 - 99 / 100 <= 0.01`` holds.
#
# In binary floating point that difference is 0.010000000000000009 and the test would break at its very bound. Here a
# measured value counts as the shortest decimal that names it, or with all its digits (``exact.py``). Results keep 80
# digits, and two numbers are compared by their first 60, so that (1 / 3) * 3 is 1 and sums of decimals differ in their
# last digit. A NULL (None) goes through every operation but ``coalesce``.

Quantity = Decimal | None
Truth = bool | None  # SQL's three-valued logic; None is unknown

_REASONING = Context(prec=80, Emax=9999, Emin=-9999, traps=[])
_COMPARING = Context(prec=60, Emax=9999, Emin=-9999, traps=[])

_ARITHMETIC: dict[Operator, Callable[[Decimal, Decimal], Decimal]] = {
    Operator.ADD: _REASONING.add,
    Operator.SUBTRACT: _REASONING.subtract,
    Operator.MULTIPLY: _REASONING.multiply,
    Operator.DIVIDE: _REASONING.divide,
}
_COMPARISONS: dict[Comparator, Callable[[Decimal, Decimal], bool]] = {
    Comparator.LESS: Decimal.__lt__,
    Comparator.AT_MOST: Decimal.__le__,
    Comparator.GREATER: Decimal.__gt__,
    Comparator.AT_LEAST: Decimal.__ge__,
    Comparator.EQUAL: Decimal.__eq__,
    Comparator.UNEQUAL: Decimal.__ne__,
}
_FLIPPED = {
    Comparator.LESS: Comparator.GREATER,
    Comparator.AT_MOST: Comparator.AT_LEAST,
    Comparator.GREATER: Comparator.LESS,
    Comparator.AT_LEAST: Comparator.AT_MOST,
}


def calculate(operator: Operator, left: Quantity, right: Quantity) -> Quantity:
    """``left operator right``; NULL for a NULL side and for a division by zero."""
    if left is None or right is None or (operator is Operator.DIVIDE and right == 0):
        return None
    return _ARITHMETIC[operator](left, right)


def negate(value: Quantity) -> Quantity:
    """``-value``."""
    return None if value is None else _REASONING.minus(value)


def call(function: Function, arguments: Sequence[Quantity]) -> Quantity:
    """The function's value; ``least`` and ``greatest`` are NULL where any argument is, as in MySQL and SQLite."""
    values = [argument for argument in arguments if argument is not None]
    if function is Function.COALESCE:
        return values[0] if values else None
    if len(values) < len(arguments):
        return None
    match function:
        case Function.ABS:
            return _REASONING.abs(values[0])
        case Function.LEAST:
            return min(values)
        case Function.GREATEST:
            return max(values)


def compare(comparator: Comparator, left: Quantity, right: Quantity) -> Truth:
    """Whether the comparison is true; unknown where a side is NULL."""
    if left is None or right is None:
        return None
    return _COMPARISONS[comparator](_COMPARING.plus(left), _COMPARING.plus(right))


def all_of(terms: Iterable[Truth]) -> Truth:
    """False if any is false, else unknown if any is unknown."""
    truths = set(terms)
    return False if False in truths else None if None in truths else True


def any_of(terms: Iterable[Truth]) -> Truth:
    """True if any is true, else unknown if any is unknown."""
    truths = set(terms)
    return True if True in truths else None if None in truths else False


def opposite(term: Truth) -> Truth:
    """Unknown stays unknown."""
    return None if term is None else not term


@dataclass(frozen=True, kw_only=True)
class EvaluatedComparison:
    """A comparison with the values of its sides; the side that was measured is first, as if it was written so."""

    node: Predicate
    comparator: str  # or ``between``, as it stands behind the measured side
    sides: tuple[Node, ...]  # what was measured, and what it was held against (two for between)
    values: Sequence[Quantity]
    truth: Truth

    @classmethod
    def of(cls, node: Predicate, values: Sequence[Quantity], truth: Truth) -> "EvaluatedComparison":
        """``0.99 <= completeness(email)`` is turned round."""
        sides = children(node)
        if isinstance(node, Between):
            comparator = f"{'not ' * node.negated}between"
        elif operands(node.left) or not operands(node.right):
            comparator = node.comparator.value
        else:
            comparator, sides, values = _FLIPPED.get(node.comparator, node.comparator), sides[::-1], values[::-1]
        return cls(node=node, comparator=comparator, sides=sides, values=values, truth=truth)

    @property
    def value(self) -> Quantity:
        """What was measured."""
        return self.values[0]

    @property
    def bound(self) -> Quantity:
        """The bound nearest to the value; when broken, the one it violates."""
        value, bounds = self.values[0], [bound for bound in self.values[1:] if bound is not None]
        if value is None or not bounds:
            return bounds[0] if bounds else None
        return min(bounds, key=lambda bound: abs(value - bound))

    @property
    def value_text(self) -> str:
        """The value in words."""
        return self._quantity_text(self.value)

    def sentence(self, negated: bool) -> str:
        """``completeness(email) = 0.93, wanted >= 0.99``."""
        bounds = " and ".join(
            to_text(side)
            if isinstance(side, Number | Percentage | Duration)
            else f"{to_text(side)} ({self._quantity_text(value)})"
            for side, value in zip(self.sides[1:], self.values[1:], strict=True)
        )
        return f"{to_text(self.sides[0])} = {self.value_text}, wanted {'not ' * negated}{self.comparator} {bounds}"

    def _quantity_text(self, value: Quantity) -> str:
        is_length = any(fold(side, _is_length) for side in self.sides)
        return length_shown(value) if is_length else number_shown(value, self.bound)


def _is_length(node: Node, below: Sequence[bool]) -> bool:
    """Whether an expression is a length of time, as far as it says so itself."""
    match node:
        case Duration():
            return True
        case Arithmetic(operator=Operator.DIVIDE):
            return below[0] and not below[1]
        case Arithmetic() | Call() | Negative():
            return any(below)
    return False


class ZeroDivision(StrEnum):
    """What a division by zero means: NULL as in SQL, or what the standard ratios of two counts say."""

    NULL = "null"
    STANDARD = "standard"  # 0/0: error, no data; x/0: broken
    STANDARD_ALLOW_EMPTY = "standard_allow_empty"  # 0/0: held; x/0: broken


class UnableToEvaluate(Exception):
    """Values that do not belong to the assertion: one is missing, or is of the wrong shape."""


@dataclass(kw_only=True)
class ConditionJudgement:
    """What a condition came to: held, broken, or the failure for which it could not be told, and what led to it."""

    values: Mapping[str, Quantity]  # by the call of each operand
    outcome: Outcome = Outcome.ERROR
    failure: Failure | None = None
    comparisons: list[tuple[Predicate, Sequence[Quantity], Truth]] = field(default_factory=list)
    zero_divisions: list[tuple[Arithmetic, Decimal]] = field(default_factory=list)  # with the numerator
    overflows: list[Node] = field(default_factory=list)

    @property
    def compared(self) -> list[EvaluatedComparison]:
        """Its comparisons with their values, in the order they are written."""
        return [EvaluatedComparison.of(*comparison) for comparison in self.comparisons]

    def sentence(self, tree: Condition) -> str:
        """One comparison with its value and what was wanted; of several, which are true."""
        compared, single = self.compared, only_predicate(tree)
        truths = {True: "true", False: "false", None: "unknown"}
        words = [f"{to_text(item.node)} is {truths[item.truth]} ({item.value_text})" for item in compared]
        return "; ".join([*([compared[0].sentence(single[1])] if single else words), *self._zero_division_texts])

    @property
    def _zero_division_texts(self) -> list[str]:
        return [f"{to_text(node)} divides {number_shown(value)} by zero" for node, value in self.zero_divisions]

    def visit(self, node: Node, below: Sequence[Any]) -> Quantity | Truth:
        """The value of a node from those below it."""
        number: Quantity
        match node:
            case And():
                return all_of(below)
            case Or():
                return any_of(below)
            case Not():
                return opposite(below[0])
            case Comparison(comparator=comparator):
                truth = compare(comparator, below[0], below[1])
                self.comparisons.append((node, below, truth))
                return truth
            case Between(negated=negated):
                value, low, high = below
                truth = all_of((compare(Comparator.AT_LEAST, value, low), compare(Comparator.AT_MOST, value, high)))
                truth = opposite(truth) if negated else truth
                self.comparisons.append((node, below, truth))
                return truth
            case Number(value=value) | Duration(seconds=value):
                number = decimal_of(value)
            case Percentage(percent=percent):
                number = calculate(Operator.DIVIDE, decimal_of(percent), Decimal(100))
            case Metric() | History():
                number = self.values[node.call]
            case Negative():
                number = negate(below[0])
            case Call(function=function):
                number = call(function, below)
            case Arithmetic(operator=operator):
                if operator is Operator.DIVIDE and below[1] == 0 and below[0] is not None:
                    self.zero_divisions.append((node, below[0]))
                number = calculate(operator, below[0], below[1])
            case _:
                text = to_text(node)
                raise UnableToEvaluate(f"{text} has no value in an assertion; it should not have passed the check")
        if number is not None and not isfinite(float(number)):
            self.overflows.append(node)
            return None
        return number

    def conclude(self, truth: Truth, zero: ZeroDivision) -> None:
        """Set the outcome or the failure that follows from the truth at the root."""
        if self.overflows:
            detail = f"{to_text(self.overflows[0])} is too large to be held"
            self.failure = Failure(reason=Reason.NOT_FINITE, detail=detail)
        elif self.zero_divisions and zero is not ZeroDivision.NULL:
            if any(numerator != 0 for _, numerator in self.zero_divisions):
                self.outcome = Outcome.BROKEN
            elif zero is ZeroDivision.STANDARD_ALLOW_EMPTY:
                self.outcome = Outcome.HELD
            else:
                detail = f"{to_text(self.zero_divisions[0][0])} is 0 / 0: there is nothing to compare yet"
                self.failure = Failure(reason=Reason.NO_DATA, detail=detail)
        elif truth is None:
            nulls = [f"{text} is NULL" for text, value in self.values.items() if value is None]
            self.failure = Failure(reason=Reason.UNDEFINED, detail="; ".join([*nulls, *self._zero_division_texts]))
        else:
            self.outcome = Outcome.HELD if truth else Outcome.BROKEN


def judge(
    nodes: Unfolded, values: Mapping[str, ExactNumber | None], zero: ZeroDivision = ZeroDivision.NULL
) -> ConditionJudgement:
    """What the unfolded condition comes to with the values of its operands, by their calls."""
    quantities = {text: None if value is None else decimal_of(value) for text, value in values.items()}
    judgement = ConditionJudgement(values=quantities)
    judgement.conclude(cast(Truth, fold_again(nodes, judgement.visit)), zero)
    return judgement


@dataclass(frozen=True, kw_only=True)
class AssertionVerdict:
    """An evaluated assertion; ``value`` and ``bound`` are those of its only comparison, None when it has several.

    Under ``by`` they are the share of the groups that hold, and the share that must.
    """

    outcome: Outcome
    sentence: str
    failure: Failure | None = None
    value: ExactNumber | None = None
    bound: ExactNumber | None = None
    operands: Mapping[str, ExactNumber | None] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)  # as JSON: the worst groups


def _error(failure: Failure, values: Mapping[str, ExactNumber | None]) -> AssertionVerdict:
    return AssertionVerdict(outcome=Outcome.ERROR, sentence=str(failure), failure=failure, operands=values)


def _gravest(failures: Iterable[Failure]) -> Failure:
    """The most telling failure: one to be mended, then one that may pass, then one that only wants time."""
    waiting = (Reason.WARMING_UP, Reason.NOT_DUE)
    return min(failures, key=lambda failure: 2 if failure.reason in waiting else 1 if failure.transient else 0)


def only_predicate(tree: Assertion) -> tuple[Predicate, bool] | None:
    """The comparison that is the whole assertion, and whether it is negated; None where there are several."""
    negated = False
    while isinstance(tree, Not):
        tree, negated = tree.term, not negated
    return (tree, negated) if isinstance(tree, Comparison | Between) else None


def excess(tree: Assertion, verdict: AssertionVerdict) -> float | None:
    """How far beyond its bound the value lies, in the value's own unit: the less, the better.

    Comparable between runs of one test: 0 when held, infinite for a broken division by zero, None where there is
    no single value to compare (an error, or several comparisons).
    """
    if verdict.outcome is Outcome.HELD:
        return 0.0
    if verdict.outcome is Outcome.ERROR or not (isinstance(tree, By) or only_predicate(tree)):
        return None
    if verdict.value is None or verdict.bound is None:
        return inf
    return float(abs(decimal_of(verdict.value) - decimal_of(verdict.bound)))


def with_notes(sentence: str, details: Iterable[Mapping[str, Any]]) -> str:
    """A sentence, and what must be known of the measurements behind it: rows left out, a constant column."""
    return "; ".join(dict.fromkeys([sentence, *(str(detail[NOTE]) for detail in details if NOTE in detail)]))


Groups = Mapping[GroupKey, ExactNumber | None]
# A sequence, newest last, for a history operand, with the value now for an anomaly, and profiles for novelty; of each
# group its own under ``by``.
Value = (
    ExactNumber
    | Failure
    | Sequence[ExactNumber | None]
    | WithPast[ExactNumber | None]
    | Groups
    | Sequence[Groups | None]
    | WithPast[Groups]
    | BatchWithPast
    | None
)


def evaluate(
    tree: Assertion, values: Mapping[str, Value], *, zero: ZeroDivision = ZeroDivision.NULL
) -> AssertionVerdict:
    """The verdict on ``tree`` with ``values`` by the text of its operands; raises UnableToEvaluate without one."""
    if isinstance(tree, By):
        return judge_groups(tree, values, zero)
    results: dict[str, ExactNumber | ScoredWindow | Failure | None] = {}
    for operand in operands(tree):
        if operand.text not in values:
            raise UnableToEvaluate(f"{operand.text} has no value: give one, None for NULL, or a Failure")
        results[operand.text] = _operand_value(operand, values[operand.text])
    scored = [result for result in results.values() if isinstance(result, ScoredWindow)]
    numbers = {
        text: None if isinstance(result, Failure) else result.score if isinstance(result, ScoredWindow) else result
        for text, result in results.items()
    }
    if failures := [result for result in results.values() if isinstance(result, Failure)]:
        return _error(_gravest(failures), numbers)
    verdict = of_known(tree, numbers, zero=zero)
    if not scored or verdict.failure is not None:
        return verdict
    findings: dict[str, list[Any]] = defaultdict(list)
    for result in scored:
        findings[result.kind].append(result.finding)
    sentences = [verdict.sentence, *(result.sentence for result in scored if result.sentence)]
    return replace(verdict, sentence="; ".join(sentences), findings=dict(findings))


def of_known(tree: Condition, values: Mapping[str, ExactNumber | None], *, zero: ZeroDivision) -> AssertionVerdict:
    """The verdict on a condition whose operands have these values, histories and anomalies already reckoned."""
    judgement = judge(unfolded(tree), values, zero)
    if judgement.failure is not None:
        return _error(judgement.failure, values)
    compared = judgement.compared[0] if only_predicate(tree) else None
    # a quotient that is no whole number is no more than a float: few of its digits say anything
    divides = any(isinstance(node, Arithmetic) and node.operator is Operator.DIVIDE for node in postorder(tree))
    value, bound = (
        None if side is None else float(side) if divides and not is_whole(side) else number_of(side)
        for side in ((compared.value, compared.bound) if compared else (None, None))
    )
    return AssertionVerdict(
        outcome=judgement.outcome, sentence=judgement.sentence(tree), value=value, bound=bound, operands=values
    )


def _operand_value(operand: Operand, value: Value) -> ExactNumber | ScoredWindow | Failure | None:
    match operand, value:
        case _, None | Failure():
            return value
        case Metric(), int() | float() | Decimal():
            number = value
        case History(), WithPast():
            return anomaly(operand, cast("WithPast[ExactNumber | None]", value))
        case History(), BatchWithPast():
            return novelty(operand, value)
        case History(), Sequence():
            result = aggregate(operand, cast(Sequence[ExactNumber | None], value))
            if isinstance(result, Failure):
                return result
            number = result
        case _:
            raise UnableToEvaluate(f"{operand.text} cannot have the value {value!r}")
    return number if isfinite(number) else Failure(reason=Reason.NOT_FINITE, detail=f"{operand.call} is {number}")


# An assertion ``by`` columns, and in words: ``117 of 120 groups hold (97.5 %, wanted all): …; city = 'Oslo': …``.

SAID = 3  # groups in a sentence
FOUND = 20  # groups in the findings that were judged, and as many that were not
MAX_KEY = 60  # characters of a key that are shown


def label(columns: Sequence[str], key: GroupKey) -> str:
    """A group in words: ``city = 'Oslo', status is null``."""
    return ", ".join(
        f"{column} is null"
        if value is None
        else f"{column} = {quoted(value if len(value) <= MAX_KEY else value[:MAX_KEY] + '…')}"
        for column, value in zip(columns, key, strict=True)
    )


def judge_groups(tree: By, values: Mapping[str, Any], zero: ZeroDivision) -> AssertionVerdict:
    """The verdict on all groups together; ``values`` by the text of each operand, one mapping (a window) of groups."""
    by_operand: dict[Operand, Any] = {}
    for operand in operands(tree):
        by_operand[operand] = value = values.get(operand.text)
        match operand, value:
            case (_, Failure()) | (Metric(), Mapping()) | (History(), WithPast()):
                continue
            case History(), Sequence() if all(window is None or isinstance(window, Mapping) for window in value):
                continue
        raise UnableToEvaluate(f"{operand.text} needs a value for each group, not {value!r:.100}")
    counts: dict[str, ExactNumber | None] = {
        operand.text: float(len(value)) for operand, value in by_operand.items() if isinstance(value, Mapping)
    }
    if failures := [value for value in by_operand.values() if isinstance(value, Failure)]:
        return _error(_gravest(failures), counts)
    keys: dict[GroupKey, None] = {}  # every group of any operand or past window, once
    for value in by_operand.values():
        windows = [value] if isinstance(value, Mapping) else value
        for window in [*value.past, value.now] if isinstance(value, WithPast) else windows:
            keys |= dict.fromkeys(window or ())
    if not keys:
        detail = f"there are no groups by {', '.join(tree.columns)}: no rows were found"
        return _error(Failure(reason=Reason.NO_DATA, detail=detail), counts)
    if len(keys) > MAX_GROUPS:
        return _error(too_many_groups(tree.columns, len(keys)), counts)
    return _GroupTally.of(tree, keys, by_operand, zero).verdict(counts)


@dataclass(frozen=True, kw_only=True)
class _GroupTally:
    """The groups that hold, the nearest to their bound first, those that break, the worst first, and the others."""

    tree: By
    held: int
    holding: Sequence[tuple[GroupKey, ConditionJudgement]]
    broken: Sequence[tuple[GroupKey, ConditionJudgement]]
    unjudged: Sequence[tuple[GroupKey, Failure]]

    @classmethod
    def of(cls, tree: By, keys: Iterable[GroupKey], values: Mapping[Operand, Any], zero: ZeroDivision) -> "_GroupTally":
        """Every group judged by itself."""
        nodes, is_single = unfolded(tree.condition), only_predicate(tree.condition) is not None
        holding, broken = list[tuple[GroupKey, ConditionJudgement]](), list[tuple[GroupKey, ConditionJudgement]]()
        unjudged: list[tuple[GroupKey, Failure]] = []
        sources: list[tuple[Operand, Any, ExactNumber | None]] = []
        for operand, value in values.items():
            spec = metric_of(operand).spec
            sources.append((operand, value, METRICS[spec.name].over_no_rows(spec)))
        for key in keys:
            numbers: dict[str, Any] = {}
            for operand, value, absent in sources:
                match value:
                    case Mapping():
                        of_group: Value = cast(Groups, value).get(key, absent)
                    case WithPast():
                        past = past_of_group(key, value.past, absent)
                        of_group = replace(value, now=value.now.get(key, absent), past=past)
                    case _:
                        of_group = past_of_group(key, value, absent)
                result = _operand_value(operand, of_group)
                numbers[operand.call] = result.score if isinstance(result, ScoredWindow) else result
            if failures := [number for number in numbers.values() if isinstance(number, Failure)]:
                unjudged.append((key, _gravest(failures)))
                continue
            judgement = judge(nodes, numbers, zero)
            if judgement.failure is not None:
                unjudged.append((key, judgement.failure))
            else:
                (holding if judgement.outcome is Outcome.HELD else broken).append((key, judgement))

        def rank(group: tuple[GroupKey, ConditionJudgement], sign: int) -> tuple[float, str]:
            """How far beyond its bound a group lies; alike where there are several comparisons."""
            compared = group[1].compared[0] if is_single else None
            value, bound = (compared.value, compared.bound) if compared else (Decimal(0), Decimal(0))
            distance = inf if value is None or bound is None else float(abs(value - bound))
            return sign * distance, label(tree.columns, group[0])

        broken.sort(key=lambda group: rank(group, -1))
        nearest = nsmallest(max(0, FOUND - len(broken)), holding, key=lambda group: rank(group, 1))
        return cls(tree=tree, held=len(holding), holding=nearest, broken=broken, unjudged=unjudged)

    def verdict(self, counts: Mapping[str, ExactNumber | None]) -> AssertionVerdict:
        """Whether enough of the groups hold; ``counts``: of the groups of each operand."""
        judged, needed = self.held + len(self.broken), self.tree.needed
        if not judged:
            gravest = _gravest(failure for _, failure in self.unjudged)
            key = next(key for key, failure in self.unjudged if failure is gravest)
            group = f"{label(self.tree.columns, key)}: {gravest.detail}"
            detail = f"none of {len(self.unjudged)} groups could be judged; {group}"
            return _error(Failure(reason=gravest.reason, detail=detail), counts)
        unjudged = [
            {
                "group": dict(zip(self.tree.columns, key, strict=True)),
                "said": f"{label(self.tree.columns, key)}: {failure}",
            }
            for key, failure in self.unjudged[:FOUND]
        ]
        groups = {
            "worst_groups": [self._group_as_json(*group) for group in self.broken[:FOUND]],
            "groups_that_hold": [self._group_as_json(*group) for group in self.holding],
            "groups_not_judged": unjudged,
        }
        number = {"held": self.held, "broken": len(self.broken), "not_judged": len(self.unjudged)}
        required = "all" if self.tree.percent is None else f"{number_text(self.tree.percent)} %"
        # cut rather than rounded, so that 100 % means all
        percent = (Decimal(100) * self.held / judged).quantize(Decimal("0.01"), rounding=ROUND_DOWN)
        share = f"{number_text(float(percent))} %, wanted {required}"
        # counts first, then the worst groups with their values, then those that were not judged
        parts = [f"{self.held} of {judged} groups hold ({share}): {to_text(self.tree.condition)}"]
        parts += [self._group_sentence(*group) for group in self.broken[:SAID]]
        parts += [f"and {len(self.broken) - SAID} more"] if len(self.broken) > SAID else []
        if self.unjudged:
            counted = "1 group" if len(self.unjudged) == 1 else f"{len(self.unjudged)} groups"
            parts.append(f"{counted} could not be judged, such as {unjudged[0]['said']}")
        return AssertionVerdict(
            outcome=Outcome.HELD if Decimal(repr(needed)) * judged <= self.held else Outcome.BROKEN,
            sentence="; ".join(parts),
            value=self.held / judged,
            bound=needed,
            operands=counts,
            findings={"groups": number, **{name: listed for name, listed in groups.items() if listed}},
        )

    def _group_sentence(self, key: GroupKey, judgement: ConditionJudgement) -> str:
        return f"{label(self.tree.columns, key)}: {judgement.sentence(self.tree.condition)}"

    def _group_as_json(self, key: GroupKey, judgement: ConditionJudgement) -> dict[str, Any]:
        compared = judgement.compared[0] if only_predicate(self.tree.condition) else None
        sides = {"value": compared.value if compared else None, "bound": compared.bound if compared else None}
        return {
            "group": dict(zip(self.tree.columns, key, strict=True)),
            **{name: None if side is None else to_json(number_of(side)) for name, side in sides.items()},
            "said": self._group_sentence(key, judgement),
        }
