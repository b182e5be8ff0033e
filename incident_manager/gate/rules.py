"""The gate: may a pipeline read this data now? A small policy on what is known of it (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.time.windows import Window
from incident_manager.intervals import Intervals
from incident_manager.quality.rules import Answer, AnswerReason, ReasonKind


class GateDecision(StrEnum):
    """The gate's answer, from the mildest to the strictest."""

    ALLOW = "allow"
    WARN = "warn"
    BLOCK = "block"


STRICTNESS = {decision: rank for rank, decision in enumerate(GateDecision)}
ALWAYS = {
    ReasonKind.WAIVED: GateDecision.ALLOW,
    ReasonKind.LEARNING: GateDecision.ALLOW,
    ReasonKind.UNTESTED: GateDecision.ALLOW,
    ReasonKind.NO_TEST: GateDecision.ALLOW,
    ReasonKind.ACCEPTED: GateDecision.WARN,
    ReasonKind.CLAIMED: GateDecision.WARN,
    ReasonKind.NOT_THERE_YET: GateDecision.BLOCK,
    ReasonKind.NOT_IN_CATALOG: GateDecision.BLOCK,
}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a dataset asks of its gate, and what the pipeline does of its tests.

    The default of ``fail_closed`` follows from the dataset's tier.
    """

    fail_closed: bool
    only_incidents: bool = False  # gate_on: incident
    bound: Mapping[str, bool] = field(default_factory=dict)  # by a test's name: whether the pipeline is bound strongly


@dataclass(frozen=True, kw_only=True)
class Because:
    """One reason of an answer."""

    decision: GateDecision
    dataset: str
    windows: Intervals
    text: str
    test: str | None = None
    incident_id: int | None = None
    report_id: int | None = None
    category: str = ""
    kind: ReasonKind | None = None  # None: it is about the answer itself

    @property
    def window(self) -> Window:
        """From the first to the last of what it is about."""
        return Window(start=self.windows[0].start, end=self.windows[-1].end)


@dataclass(frozen=True, kw_only=True)
class GateAnswer:
    """The strictest of all reasons' decisions, and the reasons, strictest first."""

    decision: GateDecision
    reasons: tuple[Because, ...]


def decide(known: Iterable[tuple[Answer, Policy]]) -> GateAnswer:
    """The answer for everything a pipeline is about to read."""
    return gathered(
        Because(
            decision=_decision(reason, answer, policy),
            dataset=reason.source or answer.dataset,
            windows=reason.windows,
            text=_text(reason, policy),
            test=reason.test,
            incident_id=reason.incident_id,
            report_id=reason.report_id,
            category=reason.category,
            kind=reason.kind,
        )
        for answer, policy in known
        for reason in answer.reasons
    )


def gathered(reasons: Iterable[Because]) -> GateAnswer:
    """The answer that these reasons make."""
    ordered = sorted(reasons, key=lambda reason: -STRICTNESS[reason.decision])
    return GateAnswer(decision=ordered[0].decision if ordered else GateDecision.ALLOW, reasons=tuple(ordered))


def _decision(reason: AnswerReason, answer: Answer, policy: Policy) -> GateDecision:
    """What one reason asks for. A test of the whole table only warns beside one of partitions that holds throughout."""
    outweighed = reason.whole_table and reason.category in answer.holds_throughout
    strictest = GateDecision.BLOCK if reason.hard and not outweighed else GateDecision.WARN
    if reason.kind is ReasonKind.SPOILT:
        return strictest
    found = ALWAYS.get(reason.kind, strictest)
    if reason.kind in (ReasonKind.NOT_JUDGED, ReasonKind.NOT_OVER) and not policy.fail_closed:
        found = GateDecision.ALLOW
    is_mild = policy.only_incidents or policy.bound.get(_own_test(reason)) is False
    return GateDecision.WARN if found is GateDecision.BLOCK and is_mild else found


def _own_test(reason: AnswerReason) -> str:
    """The test by which a pipeline is bound, if it is of the dataset itself."""
    return "" if reason.source else reason.test or ""


def _text(reason: AnswerReason, policy: Policy) -> str:
    if (is_strong := policy.bound.get(_own_test(reason))) is None:
        return reason.text
    return f"{reason.text} ({'strong' if is_strong else 'weak'} for this pipeline)"
