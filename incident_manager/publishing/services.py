"""Publish a window: audit, write down what is about to be done, look again, move the pointer, write down that it moved.

Every step may be the last one before the process dies, and every step may be done twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s
from pathlib import Path

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from assay.accounts.audit import RequestOrigin, record
from assay.catalog.selectors import home
from assay.models import Dataset, DataTest
from assay.time.windows import UnableToAlign, Window
from execution_engine.models import RunReason
from execution_engine.services import request_runs
from incident_manager.models import Publication
from incident_manager.publication_state import PublicationState

from .audit import Audit, audit
from .document import CHECKSUM, sealed
from .pointers import Place, Pointer, pointer_to
from .rules import Publish, PublishingStep, Refuse, next_step, to_judge
from .versions import UnableToCopy, copy_version, files_of, files_of_version, version_folder

log = structlog.get_logger(__name__)


class UnableToPublish(Exception):
    """What was asked cannot be done; the message says why, and how to mend it."""


@dataclass(frozen=True, kw_only=True)
class ToPublish:
    """A window and the pointer to it; with ``versions`` the pointer names a copy in that folder."""

    dataset: Dataset
    window: Window
    to: str
    versions: Path | None = None

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
        return pointer_to(self.to, Place(dataset=self.dataset.full_name, partition=self.partition))

    @property
    def open_key(self) -> str:
        """What one publication holds while it is under way."""
        text = f"{self.dataset.pk}\0{self.window.text}\0{self.to}"
        return blake2s(text.encode(), digest_size=16).hexdigest()


def publish(asked: ToPublish, *, origin: RequestOrigin, now: Callable[[], datetime]) -> Publication | Refuse:
    """The publication, or all reasons why there is none; raises UnableToPublish, UnableToPoint or OSError.

    What an earlier process left half done is first finished or undone.
    """
    pointer = asked.pointer
    if (left := Publication.objects.filter(open_key=asked.open_key).first()) is not None:
        _go_on(left, asked, pointer, origin, now)
    found = audit(asked.dataset, asked.window, now=now())
    if isinstance(decision := found.decision, Refuse):
        _have_judged(asked, found, now())
        return decision
    newest = published(asked.dataset).filter(pointer=asked.to, partition=asked.partition).first()
    if newest and newest.fingerprint == decision.fingerprint and pointer.says() == newest.document[CHECKSUM]:
        return newest
    try:
        row = _intend(asked, found, decision, origin, now())
    except UnableToCopy as unable:
        return Refuse(reasons=(str(unable),))
    return _go_on(row, asked, pointer, origin, now)


def _have_judged(asked: ToPublish, found: Audit, now: datetime) -> None:
    """Ask for a run of each test that has not judged this data: once for each fingerprint."""
    looks = found.stored.fingerprint
    tests = DataTest.objects.filter(pk__in=[test.id for test in to_judge(found.tests, looks=looks)], retired_at=None)
    due = [(test, asked.window, now) for test in tests.select_related("dataset", "revision")]
    request_runs(due, reason=RunReason.TRIGGER, occasion=f"publish:{looks}", now=now)


def published(dataset: Dataset) -> QuerySet[Publication]:
    """What of a dataset was published, the newest first."""
    return Publication.objects.filter(dataset=dataset, state=PublicationState.PUBLISHED).order_by("-pk")


def _go_on(
    row: Publication, asked: ToPublish, pointer: Pointer, origin: RequestOrigin, now: Callable[[], datetime]
) -> Publication | Refuse:
    """Bring a publication to its end, from wherever it is."""
    while True:
        refusal = _changed(row, asked, now())
        points_here = pointer.says() == row.document[CHECKSUM]
        step = next_step(PublicationState(row.state), holds=refusal is None, points_here=points_here)
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
                assert refusal is not None
                _become(row, PublicationState.UNDONE, open_key=None, ended_at=now(), why_not="\n".join(refusal.reasons))
            case None:
                return (
                    row if row.state == PublicationState.PUBLISHED else Refuse(reasons=tuple(row.why_not.split("\n")))
                )


def _changed(row: Publication, asked: ToPublish, now: datetime) -> Refuse | None:
    """Why the data is no longer what was audited, or holds no more; None where it is, and does."""
    decision = audit(asked.dataset, asked.window, now=now).decision
    if isinstance(decision, Refuse):
        return decision
    if decision.fingerprint != row.fingerprint:
        return Refuse(reasons=("the data was written again after it was audited",))
    return None


def _intend(asked: ToPublish, found: Audit, decision: Publish, origin: RequestOrigin, now: datetime) -> Publication:
    """Write down what is about to be done; what the document names is there already, and nobody knows of it yet."""
    files, location = files_of(found.stored), found.stored.location
    if asked.versions is not None:
        name = asked.dataset.full_name
        parts = {"dataset": name, "partition": asked.partition, "fingerprint": decision.fingerprint}
        folder = version_folder(asked.versions.absolute(), **parts)
        _demand_apart(folder, Path(location))
        copy_version(found.stored, folder, again=lambda: audit(asked.dataset, asked.window, now=now).stored)
        files, location = files_of_version(found.stored, folder), str(folder)
    datacenter = home(asked.dataset).datacenter
    document = sealed(
        {
            "dataset": asked.dataset.full_name,
            "datacenter": datacenter,
            "partition": asked.partition,
            "window": asked.window.text,
            "location": location,
            "copied": asked.versions is not None,
            "files": files,
            "fingerprint": decision.fingerprint,
            "verdict": "every hard test holds, or is excused",
            "tests": list(found.told),
            "decided_at": now.isoformat(),
            "published_by": origin.actor,
        }
    )
    try:
        with transaction.atomic():
            return Publication.objects.create(
                dataset=asked.dataset,
                datacenter=datacenter,
                window_start=asked.window.start,
                window_end=asked.window.end,
                partition=asked.partition,
                pointer=asked.to,
                open_key=asked.open_key,
                state=PublicationState.AUDITED,
                fingerprint=decision.fingerprint,
                document=document,
                author=origin.actor,
                audited_at=now,
            )
    except IntegrityError:
        raise UnableToPublish(f"somebody else publishes {asked.partition} to {asked.to} now: ask again") from None


def _demand_apart(folder: Path, location: Path) -> None:
    real, data = folder.resolve(), location.resolve()
    if real.is_relative_to(data) or data.is_relative_to(real):
        raise UnableToPublish(
            f"{folder} lies in the data's own folder {location}: name another folder for the versions"
        )


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
