"""The stage ``suggest``: read a dataset's past where its files are, and offer what it suggests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from pyarrow import ArrowException
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.selectors import by_name, home, sensitive_columns
from assay.command_line.command import UnableToRun
from assay.models import Dataset
from assay.queue.claims import UnableToFinish, attempt, claim, extend, finish
from assay.queue.flow import stage
from assay.queue.log_ids import log_ids
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_windows import FileWindow, TooLarge, dataset_named, rows_of_dataset, windows_of_dataset
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.report import may_be_key
from test_generator.models import PastReading
from test_generator.suggestions.inclusions import Key, keys_of
from test_generator.suggestions.keys import is_key
from test_generator.suggestions.suggest import SuggestedWindow, Suggestion, suggestions

from .services import keep

log = structlog.get_logger(__name__)

USUAL_WINDOWS = 30
MOST_ROWS = 2_000_000  # in which keys and what columns tell of each other are looked for
MOST_BYTES = 500_000_000  # in the files of one partition, that a worker reads
MOST_REFERENCES = 50  # datasets without partitions
MOST_BYTES_OF_REFERENCES = 1 << 26  # of files of each
LEASE = timedelta(minutes=15)  # from one window to the next, and for all rules and keys at the end
MOST_TRIES = 2
LAST_PARTITIONS: dict[str, Any] = {
    "start": None, "end": None, "by": "", "by_file": False, "option": [], "json": True,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Past:
    """The windows that were read, by key, and what they suggest; or why there is nothing."""

    keys: tuple[str, ...] = ()
    found: tuple[Suggestion, ...] = ()
    problem: str = ""


def suggested_window(window: FileWindow) -> SuggestedWindow:
    """The window as suggestions are made of it: its rows only where they are few enough to look for keys."""
    kept = window.rows if window.rows.num_rows <= MOST_ROWS // USUAL_WINDOWS else None
    profile = gathered_profile([window.rows], window.start)
    unique = {name for name, column in profile.columns.items() if may_be_key(column) and is_key(window.rows, [name])}
    return SuggestedWindow(key=window.key, profile=profile, rows=kept, unique=frozenset(unique))


def other_keys(dataset: Dataset, named: Sequence[str] | None = None) -> list[Key]:
    """Those of the datasets that are named, or of the first small ones without partitions that can be read."""
    if named is not None:
        others = [dataset_named(name) for name in named]
    else:
        unpartitioned = Dataset.objects.filter(partition_column="").exclude(id=dataset.pk)
        others = list(unpartitioned.prefetch_related("replicas").order_by("namespace", "name")[:MOST_REFERENCES])
    keys = []
    for other in others:
        try:
            rows = rows_of_dataset(other, MOST_BYTES_OF_REFERENCES)
        except (UnableToRun, UnableToListFiles):
            if named is not None:
                raise
            continue
        if rows is None and named is not None:
            most = MOST_BYTES_OF_REFERENCES >> 20
            raise UnableToRun(f"{other.full_name} has no files, or more than {most} MB of them")
        keys += [] if rows is None else keys_of(other.full_name, rows)
    return keys


def suggest_due(datacenter: str | None = None) -> int:
    """Read one past that somebody asked for, in one datacenter or in any; how many were read."""
    now = clock.now()
    place: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    rows = claim(stage("suggest"), now=now, limit=1, lease=LEASE, **place)
    for row in rows:
        with bound_contextvars(**log_ids("suggest", row)):
            try:
                past = _read(row)  # outside any transaction: it may take a minute
            except UnableToFinish as lost:
                log.warning("lease lost", row=row.pk, why=str(lost))
                continue
        attempt("suggest", row, now, lambda row, now, past=past: end(row, past, now))  # type: ignore[misc]
    return len(rows)


def end(row: PastReading, past: Past, now: datetime) -> None:
    """Offer what was found, and note what was read; ends the stage ``suggest``."""
    if not past.problem:
        keep(row.dataset, past.found, now=now)
    finish(row, **_ended(past, now))


def note(dataset: Dataset, past: Past, *, author: str, now: datetime) -> int:
    """Offer what was read at once, by command; how many suggestions are offered now."""
    asked = {"datacenter": home(dataset).datacenter, "asked_at": now, "asked_by": author}
    PastReading.objects.update_or_create(dataset=dataset, defaults={**asked, **_ended(past, now)})
    return keep(dataset, past.found, now=now)


def _ended(past: Past, now: datetime) -> dict[str, Any]:
    """What the row of a reading says of it afterwards."""
    first, last = (past.keys[0], past.keys[-1]) if past.keys else ("", "")
    return {
        "ended_at": now,
        "windows": len(past.keys),
        "first_window": first[:120],
        "last_window": last[:120],
        "problem": past.problem[:500],
    }


def _read(row: PastReading) -> Past:
    dataset = by_name(row.dataset.full_name)
    assert dataset is not None
    if row.attempts > MOST_TRIES:
        return Past(problem=f"the worker that read it ended {MOST_TRIES} times: {_elsewhere(dataset)}")
    try:
        read = windows_of_dataset(dataset, USUAL_WINDOWS, LAST_PARTITIONS, most_bytes=MOST_BYTES)
        windows = list(_windows(row, read))
        if not windows:
            return Past(problem=f"its last {USUAL_WINDOWS} partitions have no rows to suggest anything from")
        found = suggestions(windows, other_keys(dataset))
        return Past(keys=tuple(window.key for window in windows), found=tuple(found))
    except TooLarge as error:
        return Past(problem=f"{error}: {_elsewhere(dataset)}")
    except UnableToRun as error:
        return Past(problem=str(error))
    except UnableToListFiles as error:
        is_open = not sensitive_columns(dataset)  # what a file holds may be quoted
        said = (
            error.failure.detail
            if is_open
            else f"{error.failure.reason}: `assay suggest {dataset.full_name}` says more"
        )
        return Past(problem=said)
    except (ArrowException, OSError, MemoryError) as error:  # their texts may quote values
        log.exception("the past cannot be read", row=row.pk)
        return Past(problem=f"its files cannot be read ({type(error).__name__}): the log of the worker says more")


def _windows(row: PastReading, read: Iterator[FileWindow]) -> Iterator[SuggestedWindow]:
    """The windows that have rows, one after the other, each under a longer lease."""
    for window in read:
        if not extend(row, LEASE):
            raise UnableToFinish(f"the reading {row.pk} was claimed again")
        if window.rows.num_rows:
            yield suggested_window(window)


def _elsewhere(dataset: Dataset) -> str:
    return f"`assay suggest {dataset.full_name} --keep` reads it where there is more memory"
