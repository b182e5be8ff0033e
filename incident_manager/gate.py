"""The gate: may a pipeline read this data now? Allow, warn or block, with every reason."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from alerting.standing import State
from assay.windows import Window
from execution_engine.outcome import Outcome


class Decision(StrEnum):
    """The gate's answer, from the mildest to the strictest."""

    ALLOW = "allow"
    WARN = "warn"
    BLOCK = "block"


STRICTNESS = {Decision.ALLOW: 0, Decision.WARN: 1, Decision.BLOCK: 2}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a dataset asks of its gate; the default of ``fail_closed`` follows from its tier."""

    fail_closed: bool
    only_incidents: bool = False  # gate_on: incident


@dataclass(frozen=True, kw_only=True)
class Check:
    """A live test's standing on one window; ``datacenter`` is where its finding lies, None for home's tests."""

    test: str
    category: str
    window: Window
    hard: bool
    state: State
    outcome: Outcome | None = None  # the latest that held or broke
    datacenter: str | None = None
    whole_table: bool = False
    not_there_yet: bool = False  # asked before the window was due, and found incomplete
    waived: str | None = None  # the reason the user gave
    accepted: str | None = None


@dataclass(frozen=True, kw_only=True)
class Spoilt:
    """An unhealed spoilt window of an incident; ``window`` is None where a whole-table test names no ranges."""

    incident_id: int
    category: str
    hard: bool
    window: Window | None
    datacenter: str | None = None
    whole_table: bool = False


@dataclass(frozen=True, kw_only=True)
class Reported:
    """An open user report."""

    report_id: int
    window: Window
    confirmed: bool
    datacenter: str | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """One dataset, window and datacenter that a pipeline wants to read, and what is known of them."""

    dataset: str
    window: Window
    datacenter: str
    policy: Policy
    checks: tuple[Check, ...] = ()
    spoilt: tuple[Spoilt, ...] = ()
    reports: tuple[Reported, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Because:
    """One reason of an answer."""

    decision: Decision
    dataset: str
    window: Window
    text: str
    test: str | None = None
    incident_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class GateAnswer:
    """The strictest of all reasons' decisions, and the reasons, strictest first."""

    decision: Decision
    reasons: tuple[Because, ...]


def judge_gate(questions: Iterable[Question]) -> GateAnswer:
    """The answer for everything a pipeline is about to read."""
    reasons = [reason for question in questions for reason in _reasons(question)]
    reasons.sort(key=lambda reason: -STRICTNESS[reason.decision])
    return GateAnswer(decision=reasons[0].decision if reasons else Decision.ALLOW, reasons=tuple(reasons))


def _reasons(question: Question) -> Iterator[Because]:
    checks = [c for c in question.checks if _concerns(question, c.window, c.datacenter)]
    held = _held_categories(checks)
    if not checks:
        yield _because(question, Decision.ALLOW, "no live test covers this window")
    for check in checks:
        yield from _judge_check(question, check, held)
    for spoilt in question.spoilt:
        if _concerns(question, spoilt.window, spoilt.datacenter):
            yield _judge_spoilt(question, spoilt, held)
    for report in question.reports:
        if _concerns(question, report.window, report.datacenter):
            yield _judge_report(question, report)


def _concerns(question: Question, window: Window | None, datacenter: str | None) -> bool:
    return datacenter in (None, question.datacenter) and (window is None or window.overlaps(question.window))


def _held_categories(checks: Iterable[Check]) -> frozenset[str]:
    """The categories of which some partition test holds on all of the asked window."""
    outcomes: dict[tuple[str, str], list[bool]] = {}
    for check in checks:
        if not check.whole_table:
            outcomes.setdefault((check.category, check.test), []).append(check.outcome is Outcome.HELD)
    return frozenset(category for (category, _), held in outcomes.items() if all(held))


def _judge_check(question: Question, check: Check, held: frozenset[str]) -> Iterator[Because]:
    verdict = _verdict(check, question.policy)
    if verdict is None:
        return
    decision, text = verdict
    if decision is Decision.BLOCK and check.whole_table and check.category in held:
        decision = Decision.WARN
    if decision is Decision.BLOCK and question.policy.only_incidents:
        decision = Decision.WARN
    yield _because(question, decision, text, window=check.window, test=check.test)


def _verdict(check: Check, policy: Policy) -> tuple[Decision, str] | None:
    """What one check says, before the dataset's other tests and its ``gate_on`` are heard; None for a held one."""
    if check.waived is not None:
        return Decision.ALLOW, f"waived: {check.waived}"
    if check.accepted is not None:
        return Decision.WARN, f"accepted as it is: {check.accepted}"
    strictest = Decision.BLOCK if check.hard else Decision.WARN
    if check.outcome is Outcome.BROKEN:
        return strictest, f"{check.category} is broken ({check.state.value})"
    if check.not_there_yet:
        return Decision.BLOCK, "not there yet"
    if check.state is State.UNTESTED:
        return Decision.ALLOW, "untested: it ended before the test existed, or is kept no more"
    if check.state is State.LEARNING:
        return Decision.ALLOW, "learning: not enough history yet"
    if check.state in (State.PENDING, State.UNKNOWN):
        text = "not judged yet" if check.state is State.PENDING else "could not be judged"
        return (strictest if policy.fail_closed else Decision.ALLOW), text
    return None


def _judge_spoilt(question: Question, spoilt: Spoilt, held: frozenset[str]) -> Because:
    mild = not spoilt.hard or (spoilt.whole_table and spoilt.category in held)
    text = f"{spoilt.category} incident {spoilt.incident_id} is open"
    decision = Decision.WARN if mild else Decision.BLOCK
    return _because(question, decision, text, window=spoilt.window, incident_id=spoilt.incident_id)


def _judge_report(question: Question, report: Reported) -> Because:
    decision = Decision.BLOCK if report.confirmed else Decision.WARN
    text = f"report {report.report_id} is {'confirmed' if report.confirmed else 'not confirmed yet'}"
    return _because(question, decision, text, window=report.window)


def _because(
    question: Question,
    decision: Decision,
    text: str,
    *,
    window: Window | None = None,
    test: str | None = None,
    incident_id: int | None = None,
) -> Because:
    return Because(
        decision=decision,
        dataset=question.dataset,
        window=window or question.window,
        text=text,
        test=test,
        incident_id=incident_id,
    )
