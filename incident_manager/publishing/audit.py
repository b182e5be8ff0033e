"""What is known of a window that is to be published: its hard tests, what each of them read, and what lies there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alerting.models import Standing
from alerting.state import State
from assay.catalog.selectors import home
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.models import Measurement
from execution_engine.runs.shown_results import HIDDEN, Veil
from execution_engine.storage import StoredWindow, stored_window
from incident_manager.gate.rules import GateDecision, Policy, decide
from incident_manager.intervals import subtract
from incident_manager.quality.facts import Facts, KnownTest, StandingFact
from incident_manager.quality.rules import UNDECLARED, Answer, AskedRange, concerning, judge
from incident_manager.quality.selectors import known_of

from .rules import AuditedTest, Publish, Refuse, may_publish

STRICT = Policy(fail_closed=True)  # whatever the dataset asks of its gate: who publishes vouches for the data


@dataclass(frozen=True, kw_only=True)
class Audit:
    """All that the decision rests on, and what a document tells of it."""

    tests: Sequence[AuditedTest]
    blocked: Sequence[str]
    stored: StoredWindow
    told: Sequence[Mapping[str, Any]]

    @property
    def decision(self) -> Publish | Refuse:
        """May it be published?"""
        return may_publish(
            self.tests, blocked=self.blocked, looks=self.stored.fingerprint, unreadable=self.stored.unreadable
        )


def audit(dataset: Dataset, window: Window, *, now: datetime) -> Audit:
    """What is known of the window at home, where all tests run, now."""
    replica = home(dataset)
    stored = stored_window(dataset, replica, window)  # first: what is judged after it is of this data, or of newer
    asked = AskedRange(window=window, datacenter=replica.datacenter)
    facts = known_of(dataset, window, now=now)
    answer, here = judge(facts, asked), concerning(facts, asked)
    hard = [test for test in here.tests if test.hard and judges_partitions(test)]
    standings = {row.data_test_id: row for row in _standings(hard, window)}
    tests = [_audited(test, here, answer, standings.get(test.id), window) for test in hard]
    own = {test.name for test in hard}
    blocking = (each for each in decide([(answer, STRICT)]).reasons if each.decision is GateDecision.BLOCK)
    blocked = [f"{each.test}: {each.text}" if each.test else each.text for each in blocking if each.test not in own]
    told = [_told(test, standings.get(known.id), Veil(now)) for test, known in zip(tests, hard, strict=True)]
    return Audit(tests=tests, blocked=blocked, stored=stored, told=told)


def judges_partitions(test: KnownTest) -> bool:
    """Whether a test judges the rows of each partition by itself."""
    return test.judges_from is not None and not test.whole_table and test.judges_rows


def _standings(tests: Sequence[KnownTest], window: Window) -> Iterator[Standing]:
    rows = Standing.objects.filter(data_test__in=[test.id for test in tests], window_key=window.text)
    yield from rows.select_related("last_run__revision", "last_run__data_test__dataset")


def _audited(test: KnownTest, facts: Facts, answer: Answer, standing: Standing | None, window: Window) -> AuditedTest:
    check = next((check for check in facts.checks if check.test.id == test.id), None)
    says = "; ".join(reason.text for reason in answer.reasons if reason.test == test.name) or "no test has judged it"
    return AuditedTest(
        id=test.id,
        name=test.name,
        holds=not subtract([window], facts.held.get(test.id, ())),
        fingerprints=frozenset(_read_by(standing)) if standing else frozenset(),
        says=says,
        excused=_excuse(test, check, window),
    )


def _excuse(test: KnownTest, check: StandingFact | None, window: Window) -> str:
    """Why a test need not hold; the data that somebody accepted as bad has no excuse."""
    if check is not None and check.waived is not None:
        return f"waived: {check.waived}"
    if check is not None and check.state is State.LEARNING:
        return "learning: not enough history yet"
    if test.declared_from is not None and window.start < test.declared_from:  # nobody can ask for its run
        return UNDECLARED
    return ""


def _read_by(standing: Standing) -> Iterator[str]:
    """What the files of the window looked like when the newest run of a test read them, by itself or through inputs.

    The scan says it: a measurement that also reads other tables, such as a query, has no fingerprint of its own.
    """
    run = standing.last_run
    taken = Measurement.objects.filter(asks__run=run).select_related("scan").prefetch_related("inputs__scan")
    rows = list(taken) if run else []
    seen: set[int] = set()
    while rows:
        row = rows.pop()
        if row.pk in seen:
            continue
        seen.add(row.pk)
        inputs = list(row.inputs.all())
        rows += inputs
        is_own = row.dataset_id == run.data_test.dataset_id and row.window == standing.window if run else False
        if is_own and not inputs and row.datacenter == _home_of(standing):
            yield row.scan.fingerprint if row.scan else ""


def _home_of(standing: Standing) -> str:
    assert standing.last_run is not None
    return home(standing.last_run.data_test.dataset).datacenter


def _told(test: AuditedTest, standing: Standing | None, veil: Veil) -> dict[str, Any]:
    """A test as the document tells it; what it found is left out where it must not be told."""
    run = standing.last_run if standing else None
    is_hidden = run is not None and veil.hides_run(run)
    return {
        "name": test.name,
        "status": "held" if test.holds else test.excused,
        "value": None if standing is None or is_hidden else standing.value,
        "says": HIDDEN if is_hidden else (standing.sentence if standing else ""),
        "run": run.pk if run else None,
        "measured_at": run.measured_at.isoformat() if run and run.measured_at else None,
    }
