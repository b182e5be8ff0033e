"""What a whole table is held to once the windows that somebody accepted or forced are left out of its counts (pure)."""

from collections.abc import Mapping, Sequence

from execution_engine.exact import Number, decimal_of
from execution_engine.language.evaluating.evaluate import evaluate
from execution_engine.language.evaluating.verdict import AssertionVerdict, ZeroDivision
from execution_engine.language.operands import operands
from execution_engine.language.tree import Assertion, Metric
from execution_engine.metrics.registry import METRICS
from execution_engine.outcome import Outcome

Counts = Mapping[str, Number | None]  # by the text of the operand


def holds_without(tree: Assertion, whole: Counts, waived: Sequence[Counts]) -> AssertionVerdict | None:
    """The verdict on what is left of a broken whole table without its waived windows; None where that is broken too.

    Each count of the whole is lessened by what the same assertion last counted of each of these windows: what is lost
    beyond that stays lost. Values that are no counts of rows or keys cannot be parted, and explain nothing.
    """
    asked = operands(tree)
    if not waived or not all(
        isinstance(each, Metric) and METRICS[each.spec.name].sums_bound and not each.spec.by and each.ago is None
        for each in asked
    ):
        return None
    left: dict[str, Number] = {}
    for operand in asked:
        total, parts = whole.get(operand.text), [counts.get(operand.text) for counts in waived]
        known = [part for part in parts if part is not None]
        if total is None or len(known) < len(parts):
            return None
        rest = decimal_of(total) - sum(map(decimal_of, known))
        if rest < 0:
            return None
        left[operand.text] = rest
    verdict = evaluate(tree, left, zero=ZeroDivision.STANDARD_ALLOW_EMPTY)
    return verdict if verdict.outcome is Outcome.HELD else None


def told_without(sentence: str, verdict: AssertionVerdict, count: int) -> str:
    """The sentence of a broken result that holds without so many windows."""
    windows = "1 window that was" if count == 1 else f"{count} windows that were"
    return f"{sentence}; without {windows} accepted or called a false positive: {verdict.sentence}"
