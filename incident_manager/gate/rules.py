"""The gate: may a pipeline read this data now? A small policy on what is known of it (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.time.windows import Window
from incident_manager.intervals import Intervals
from incident_manager.quality.rules import Answer, AnswerReason, ReasonKind, Status, worst


class GateDecision(StrEnum):
    """The gate's answer, from the mildest to the strictest."""

    ALLOW = "allow"
    WARN = "warn"
    BLOCK = "block"


STRICTNESS = {decision: rank for rank, decision in enumerate(GateDecision)}
UNJUDGED = frozenset(  # what is not known yet, or never will be: no fault of the data
    {
        *(ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET, ReasonKind.NOT_OVER),
        *(ReasonKind.UNTESTED, ReasonKind.NO_TEST, ReasonKind.LEARNING),
    }
)
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
    datacenter: str = ""  # where the data was asked about

    @property
    def window(self) -> Window:
        """From the first to the last of what it is about."""
        return Window(start=self.windows[0].start, end=self.windows[-1].end)


@dataclass(frozen=True, kw_only=True)
class GateAnswer:
    """The strictest of all reasons' decisions, and the reasons: strictest first, faults before what is not judged.

    ``status`` is the worst quality of all that is read: ``allow`` of what nobody judged is still ``untested``.
    """

    decision: GateDecision
    reasons: tuple[Because, ...]
    status: Status = Status.GOOD


def decide(known: Iterable[tuple[Answer, Policy]]) -> GateAnswer:
    """The answer for everything a pipeline is about to read."""
    asked = list(known)
    reasons = (
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
            datacenter=("" if reason.source else answer.asked.datacenter) or "",
        )
        for answer, policy in asked
        for reason in answer.reasons
    )
    return gathered(reasons, status=worst(answer.status for answer, _ in asked))


def gathered(reasons: Iterable[Because], *, status: Status = Status.GOOD) -> GateAnswer:
    """The answer that these reasons make, of data with this quality."""
    ordered = sorted(reasons, key=lambda reason: (-STRICTNESS[reason.decision], reason.kind in UNJUDGED))
    decision = ordered[0].decision if ordered else GateDecision.ALLOW
    return GateAnswer(decision=decision, reasons=tuple(ordered), status=status)


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
