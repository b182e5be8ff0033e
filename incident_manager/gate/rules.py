"""The gate: may a pipeline read this data now? A small policy on what is known of it (pure)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from assay.time.windows import Partitioning, Window
from incident_manager.intervals import Intervals, clip, subtract
from incident_manager.quality.rules import (
    AnswerReason,
    DataTestFact,
    Facts,
    QualityAnswer,
    QualityStatus,
    ReasonKind,
    worst,
)

# What a pipeline has said of tests, laid over what is known of data (pure).


def bound(facts: Facts, hard: Mapping[str, bool]) -> Facts:
    """The facts as they are for a pipeline that is bound to tests, by name: hard if strongly, else soft."""
    if not hard:
        return facts

    def of(test: DataTestFact) -> DataTestFact:
        return replace(test, hard=hard[test.name]) if test.name in hard else test

    names = {test.id: test.name for test in facts.tests}
    return replace(
        facts,
        tests=[of(test) for test in facts.tests],
        checks=[replace(check, test=of(check.test)) for check in facts.checks],
        spoilt=[
            replace(spoilt, hard=hard.get(names.get(spoilt.test_id or 0, ""), spoilt.hard)) for spoilt in facts.spoilt
        ],
    )


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
BINDING = {True: " (strong for this pipeline)", False: " (weak for this pipeline)", None: ""}
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

    def binds(self, reason: AnswerReason) -> bool | None:
        """Whether the pipeline is bound strongly to the test of a reason, which is of the dataset itself."""
        return None if reason.source else self.bound.get(reason.test or "")


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
    status: QualityStatus = QualityStatus.GOOD


def decide(answers: Iterable[tuple[QualityAnswer, Policy]]) -> GateAnswer:
    """The answer for everything a pipeline is about to read."""
    pairs, reasons = list(answers), []
    for (answer, policy), reason in ((pair, reason) for pair in pairs for reason in pair[0].reasons):
        # a test of the whole table only warns beside one of partitions that holds throughout
        outweighed = reason.whole_table and reason.category in answer.holds_throughout
        strictest = GateDecision.BLOCK if reason.hard and not outweighed else GateDecision.WARN
        decision = ALWAYS.get(reason.kind, strictest)
        if reason.kind in (ReasonKind.NOT_JUDGED, ReasonKind.NOT_OVER) and not policy.fail_closed:
            decision = GateDecision.ALLOW
        is_mild = policy.only_incidents or policy.binds(reason) is False
        if decision is GateDecision.BLOCK and is_mild and reason.kind is not ReasonKind.SPOILT:
            decision = GateDecision.WARN
        because = Because(
            decision=decision,
            dataset=reason.source or answer.dataset,
            windows=reason.windows,
            text=reason.text + BINDING[policy.binds(reason)],
            test=reason.test,
            incident_id=reason.incident_id,
            report_id=reason.report_id,
            category=reason.category,
            kind=reason.kind,
            datacenter=("" if reason.source else answer.request.datacenter) or "",
        )
        reasons.append(because)
    return gathered(reasons, status=worst(answer.status for answer, _ in pairs))


def gathered(reasons: Iterable[Because], *, status: QualityStatus = QualityStatus.GOOD) -> GateAnswer:
    """The answer that these reasons make, of data with this quality."""
    ordered = sorted(reasons, key=lambda reason: (-STRICTNESS[reason.decision], reason.kind in UNJUDGED))
    decision = ordered[0].decision if ordered else GateDecision.ALLOW
    return GateAnswer(decision=decision, reasons=tuple(ordered), status=status)


# What users let pipelines read although the gate would block: how long it may last, and what it changes (pure).

CRITICAL = 1  # the last tier whose overrides are short
INSTANT = timedelta(microseconds=1)


class UnableToOverride(ValueError):
    """An override that must not be; ``field`` is what is wrong with it."""

    def __init__(self, text: str, *, field: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Override:
    """A user's word that a window may be read until an instant, and why."""

    window: Window
    author: str
    ends_at: datetime
    reason: str


def longest(tier: int) -> timedelta:
    """How long an override of a dataset of this tier lasts at most."""
    return timedelta(days=1) if tier <= CRITICAL else timedelta(days=7)


def usual(tier: int) -> timedelta:
    """How long it lasts where nobody says."""
    return timedelta(hours=4) if tier <= CRITICAL else timedelta(hours=24)


def demand_sound(override: Override, *, tier: int, partitioning: Partitioning | None, now: datetime) -> None:
    """Nothing where such an override may be given; else raises UnableToOverride."""
    if not override.reason.strip():
        raise UnableToOverride("A reason is missing: say why this data may be read.", field="reason")
    if override.ends_at <= now:
        raise UnableToOverride(f"The end has passed: it is {_instant(now)}. Name a later one.", field="ends_at")
    if override.ends_at - now > longest(tier):
        text = (
            f"For a dataset of tier {tier} an override lasts at most {longest(tier) // timedelta(hours=1)} hours: end "
            f"it by {_instant(now + longest(tier))}, and give it again then."
        )
        raise UnableToOverride(text, field="ends_at")
    if partitioning is None:
        return
    first, last = partitioning.at(override.window.start), partitioning.at(override.window.end - INSTANT)
    if (first.start, last.end) != (override.window.start, override.window.end):
        whole = Window(start=first.start, end=last.end)
        text = f"{override.window.text} cuts through a partition: name whole ones, such as {whole.text}."
        raise UnableToOverride(text, field="window")


def overridden(because: Because, overrides: Iterable[Override]) -> Iterator[Because]:
    """The reason: a warning where an override covers what it would block, and as it was on all other windows."""
    left = because.windows if because.decision is GateDecision.BLOCK else ()
    for override in overrides:
        if covered := clip(left, override.window):
            note = f"overridden by {override.author} until {_instant(override.ends_at)}: {override.reason}"
            text = f"{because.text}; {note}"
            yield replace(because, decision=GateDecision.WARN, windows=covered, text=text)
            left = subtract(left, covered)
    if because.decision is not GateDecision.BLOCK or left:
        yield replace(because, windows=left or because.windows)


def overridden_all(answer: GateAnswer, overrides: Collection[Override]) -> GateAnswer:
    """The answer, with each of its reasons as the overrides leave it."""
    reasons = (because for reason in answer.reasons for because in overridden(reason, overrides))
    return gathered(reasons, status=answer.status)


def _instant(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"


# Is it worth waiting for the gate? Only for what may change without a person (pure).


def in_the_way(answer: GateAnswer, *, until: datetime) -> Because | None:
    """The first reason that blocks and that will still block at an instant, unless a person acts; None: there is none.

    A broken test is run again, and data that is not there may come. A confirmed report waits for a person, and a window
    that ends later for its end.
    """
    for reason in answer.reasons:
        stays = reason.kind is ReasonKind.NOT_IN_CATALOG or reason.report_id is not None
        if reason.kind is ReasonKind.NOT_OVER:
            stays = reason.window.end > until
        if reason.decision is GateDecision.BLOCK and stays:
            return reason
    return None
