"""Publish a window: audit, write down what is about to be done, look again, move the pointer, write down that it moved.

Every step may be the last one before the process dies, and every step may be done twice.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from alerting.models import Standing
from alerting.state import State
from assay.accounts import RequestOrigin, record
from assay.catalog.locations import overlap, place_of
from assay.catalog.selectors import home
from assay.config import config
from assay.models import Dataset, DataTest
from assay.stores import read_only_fault
from assay.time.windows import UnableToAlign, Window
from execution_engine.models import Measurement, RunReason
from execution_engine.runs.shown_results import HIDDEN, Veil
from execution_engine.services import request_runs
from execution_engine.storage import StoredWindow, stored_window
from incident_manager.gate.rules import GateDecision, Policy, decide
from incident_manager.intervals import subtract
from incident_manager.models import Publication
from incident_manager.publication_state import PublicationState
from incident_manager.quality.rules import (
    UNDECLARED,
    DataTestFact,
    Facts,
    QualityAnswer,
    RangeRequest,
    concerning,
    judge,
)
from incident_manager.quality.selectors import window_facts

from .pointers import Pointer, UnableToCopy, copy_version, files_of, folder_named, pointer_to, version_folder
from .rules import CHECKSUM, AuditedTest, PublishingStep, next_step, refusals, sealed, to_judge

# What is known of a window that is to be published: its hard tests, what each of them read, and what lies there.

STRICT = Policy(fail_closed=True)  # whatever the dataset asks of its gate: who publishes vouches for the data


@dataclass(frozen=True, kw_only=True)
class PartitionAudit:
    """All that the decision rests on, and what a document tells of it."""

    tests: Sequence[AuditedTest]
    blocked: Sequence[str]
    stored: StoredWindow
    tests_as_json: Sequence[Mapping[str, Any]]

    @property
    def refusals(self) -> list[str]:
        """Why it must not be published; empty: it may."""
        stored = self.stored
        return refusals(self.tests, blocked=self.blocked, looks=stored.fingerprint, unreadable=stored.unreadable)


def audit(dataset: Dataset, window: Window, *, now: datetime) -> PartitionAudit:
    """What is known of the window at home, where all tests run, now."""
    replica = home(dataset)
    stored = stored_window(dataset, replica, window)  # first: what is judged after it is of this data, or of newer
    request = RangeRequest(window=window, datacenter=replica.datacenter)
    facts = window_facts(dataset, window, now=now)
    answer, here = judge(facts, request), concerning(facts, request)
    hard = [test for test in here.tests if test.hard and judges_partitions(test)]
    rows = Standing.objects.filter(data_test__in=[test.id for test in hard], window_key=window.text)
    related = rows.select_related("last_run__revision", "last_run__data_test__dataset")
    standings = {row.data_test_id: row for row in related}
    tests = [_audited(test, here, answer, standings.get(test.id), window) for test in hard]
    own = {test.name for test in hard}
    blocking = (reason for reason in decide([(answer, STRICT)]).reasons if reason.decision is GateDecision.BLOCK)
    blocked = [
        f"{reason.test}: {reason.text}" if reason.test else reason.text for reason in blocking if reason.test not in own
    ]
    as_json = [
        _test_as_json(test, standings.get(test_fact.id), Veil(now)) for test, test_fact in zip(tests, hard, strict=True)
    ]
    return PartitionAudit(tests=tests, blocked=blocked, stored=stored, tests_as_json=as_json)


def judges_partitions(test: DataTestFact) -> bool:
    """Whether a test judges the rows of each partition by itself."""
    return test.judges_from is not None and not test.whole_table and test.judges_rows


def _audited(
    test: DataTestFact, facts: Facts, answer: QualityAnswer, standing: Standing | None, window: Window
) -> AuditedTest:
    check = next((check for check in facts.checks if check.test.id == test.id), None)
    says = "; ".join(reason.text for reason in answer.reasons if reason.test == test.name) or "no test has judged it"
    excused = ""  # why it need not hold; the data that somebody accepted as bad has no excuse
    if check is not None and check.waived is not None:
        excused = f"waived: {check.waived}"
    elif check is not None and check.state is State.LEARNING:
        excused = "learning: not enough history yet"
    elif test.declared_from is not None and window.start < test.declared_from:  # nobody can ask for its run
        excused = UNDECLARED
    return AuditedTest(
        id=test.id,
        name=test.name,
        holds=not subtract([window], facts.held.get(test.id, ())),
        fingerprints=frozenset(_read_by(standing)) if standing else frozenset(),
        says=says,
        excused=excused,
    )


def _read_by(standing: Standing) -> Iterator[str]:
    """What the files of the window looked like when the newest run of a test read them, by itself or through inputs.

    The scan says it: a measurement that also reads other tables, such as a query, has no fingerprint of its own.
    """
    if (run := standing.last_run) is None:
        return
    dataset, seen = run.data_test.dataset, set[int]()
    rows = list(Measurement.objects.filter(asks__run=run).select_related("scan").prefetch_related("inputs__scan"))
    while rows:
        row = rows.pop()
        if row.pk in seen:
            continue
        seen.add(row.pk)
        inputs = list(row.inputs.all())
        rows += inputs
        is_own = row.dataset_id == dataset.pk and row.window == standing.window and not inputs
        if is_own and row.datacenter == home(dataset).datacenter:
            yield row.scan.fingerprint if row.scan else ""


def _test_as_json(test: AuditedTest, standing: Standing | None, veil: Veil) -> dict[str, Any]:
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


log = structlog.get_logger(__name__)


class UnableToPublish(Exception):
    """What was asked cannot be done; the message says why, and how to mend it."""


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """It must not be published, and all reasons why."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ToPublish:
    """A window and the pointer to it; with ``versions`` the pointer names a copy in that folder."""

    dataset: Dataset
    window: Window
    to: str
    versions: str | None = None

    @property
    def partition(self) -> str:
        """The key of the partition; raises UnableToPublish where the window is not that of one."""
        if (partitioning := self.dataset.partitioning) is None:
            raise UnableToPublish(f"{self.dataset} has no partitions: what is published is one of them")
        try:
            return partitioning.key(self.window)
        except UnableToAlign as error:
            raise UnableToPublish(f"one partition is published at a time: {error}") from None

    @property
    def pointer(self) -> Pointer:
        """The pointer itself; raises UnableToPoint."""
        return pointer_to(self.to, dataset=self.dataset.full_name, partition=self.partition)

    @property
    def open_key(self) -> str:
        """What one publication holds while it is under way."""
        text = f"{self.dataset.pk}\0{self.window.text}\0{self.to}"
        return blake2s(text.encode(), digest_size=16).hexdigest()


def publish(request: ToPublish, *, origin: RequestOrigin, now: Callable[[], datetime]) -> Publication | Refuse:
    """The publication, or all reasons why there is none; raises UnableToPublish, UnableToPoint or OSError.

    What an earlier process left half done is first finished or undone.
    """
    pointer = request.pointer
    if (left := Publication.objects.filter(open_key=request.open_key).first()) is not None:
        _go_on(left, request, pointer, origin, now)
    result = audit(request.dataset, request.window, now=now())
    if result.refusals:
        looks, at = result.stored.fingerprint, now()  # each test that has not judged it runs once for each fingerprint
        waiting = [test.id for test in to_judge(result.tests, looks=looks)]
        tests = DataTest.objects.filter(pk__in=waiting, retired_at=None).select_related("dataset", "revision")
        due = [(test, request.window, at) for test in tests]
        request_runs(due, reason=RunReason.TRIGGER, occasion=f"publish:{looks}", now=at)
        return Refuse(reasons=tuple(result.refusals))
    newest = published(request.dataset).filter(pointer=request.to, partition=request.partition).first()
    if newest and newest.fingerprint == result.stored.fingerprint and pointer.says() == newest.document[CHECKSUM]:
        return newest
    try:
        row = _intend(request, result, origin, now())
    except UnableToCopy as unable:
        return Refuse(reasons=(str(unable),))
    return _go_on(row, request, pointer, origin, now)


def published(dataset: Dataset) -> QuerySet[Publication]:
    """What of a dataset was published, the newest first."""
    return Publication.objects.filter(dataset=dataset, state=PublicationState.PUBLISHED).order_by("-pk")


def _go_on(
    row: Publication, request: ToPublish, pointer: Pointer, origin: RequestOrigin, now: Callable[[], datetime]
) -> Publication | Refuse:
    """Bring a publication to its end, from wherever it is."""
    while True:
        result = audit(request.dataset, request.window, now=now())
        is_other = result.stored.fingerprint != row.fingerprint
        changes = result.refusals or (["the data was written again after it was audited"] if is_other else [])
        points_here = pointer.says() == row.document[CHECKSUM]
        step = next_step(PublicationState(row.state), holds=not changes, points_here=points_here)
        log.info("publication", id=row.pk, partition=row.partition, pointer=row.pointer, step=step)
        match step:
            case PublishingStep.BEGIN:
                _become(row, PublicationState.MOVING)
            case PublishingStep.MOVE:
                pointer.move(row.document)
                if pointer.says() != row.document[CHECKSUM]:
                    raise UnableToPublish(f"somebody else moves {row.pointer} for {row.partition} too: ask again")
            case PublishingStep.FINISH:
                _finish(row, origin, now())
            case PublishingStep.UNDO:
                _become(row, PublicationState.UNDONE, open_key=None, ended_at=now(), why_not="\n".join(changes))
            case None:
                return (
                    row if row.state == PublicationState.PUBLISHED else Refuse(reasons=tuple(row.why_not.split("\n")))
                )


def _intend(request: ToPublish, result: PartitionAudit, origin: RequestOrigin, now: datetime) -> Publication:
    """Write down what is about to be done; what the document names is there already, and nobody knows of it yet."""
    files, location = files_of(result.stored), result.stored.location
    if request.versions is not None:
        files, location = _copy(request, result, request.versions, now)
    datacenter = home(request.dataset).datacenter
    document = sealed(
        {
            "dataset": request.dataset.full_name,
            "datacenter": datacenter,
            "partition": request.partition,
            "window": request.window.text,
            "location": location,
            "copied": request.versions is not None,
            "files": files,
            "fingerprint": result.stored.fingerprint,
            "verdict": "every hard test holds, or is excused",
            "tests": list(result.tests_as_json),
            "decided_at": now.isoformat(),
            "published_by": origin.actor,
        }
    )
    try:
        with transaction.atomic():
            return Publication.objects.create(
                dataset=request.dataset,
                datacenter=datacenter,
                window_start=request.window.start,
                window_end=request.window.end,
                partition=request.partition,
                pointer=request.to,
                open_key=request.open_key,
                state=PublicationState.AUDITED,
                fingerprint=result.stored.fingerprint,
                document=document,
                author=origin.actor,
                audited_at=now,
            )
    except IntegrityError:
        raise UnableToPublish(f"somebody else publishes {request.partition} to {request.to} now: ask again") from None


def _copy(request: ToPublish, result: PartitionAudit, versions: str, now: datetime) -> tuple[list[dict[str, Any]], str]:
    """The files of a version of what was audited, and where it lies; raises UnableToPublish and UnableToCopy."""
    stored, location = result.stored, result.stored.location
    folder = version_folder(
        folder_named(versions),
        dataset=request.dataset.full_name,
        partition=request.partition,
        fingerprint=stored.fingerprint,
    )
    if overlap(*(place_of("parquet", place, {}, os.environ) for place in (folder, location))):
        raise UnableToPublish(
            f"{folder} lies in the data's own folder {location}: name another folder for the versions"
        )
    if fault := read_only_fault(folder, config().object_stores):
        raise UnableToPublish(fault)
    return copy_version(stored, folder, again=lambda: audit(request.dataset, request.window, now=now).stored), folder


def _finish(row: Publication, origin: RequestOrigin, now: datetime) -> None:
    """The pointer has moved: write it down, in the audit as well."""
    with transaction.atomic():
        _become(row, PublicationState.PUBLISHED, open_key=None, ended_at=now)
        after = {"dataset": row.dataset.full_name, "partition": row.partition, "pointer": row.pointer}
        after |= {"fingerprint": row.fingerprint, CHECKSUM: row.document[CHECKSUM]}
        record(origin, "publication.publish", kind="publication", key=row.pk, before=None, after=after)


def _become(row: Publication, state: PublicationState, **more: object) -> None:
    """Take a step, if nobody has taken it before; raises UnableToPublish."""
    rows = Publication.objects.filter(pk=row.pk, state=row.state)
    if rows.update(state=state, **more) != 1:
        raise UnableToPublish(f"another process goes on with publication {row.pk}: ask again")
    row.refresh_from_db()
