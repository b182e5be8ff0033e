"""Offers: suggestions that are kept for people, who accept or reject them; and the reading of the past behind them.

What is suggested, and what a decision covers, is decided in ``suggestions``.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from pyarrow import ArrowException
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.selectors import by_name, home, profile_of, sensitive_columns
from assay.command_line.command import UnableToRun
from assay.models import Dataset, DataTest, Severity
from assay.queue.claims import UnableToFinish, attempt, claim, extend, finish, log_ids
from assay.queue.flow import stage
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_windows import FileWindow, WindowTooLarge, dataset_named, rows_of_dataset, windows_of_dataset
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.report import may_be_key
from test_generator.suggestions.dependencies import Key, is_key, keys_of
from test_generator.suggestions.suggest import (
    Decided,
    SuggestedWindow,
    Suggestion,
    free_name,
    still_offered,
    suggestions,
)

from .data_tests import UnableToWrite, catalogued, checked_tree, write_data_test
from .models import Offer, OfferState, PastReading

# What is offered of a dataset, what was decided, and how far the reading of its past is.


def offers_of(dataset: Dataset) -> list[Offer]:
    """All of them in the order in which they were found, without those that tell of a sensitive column."""
    hidden = sensitive_columns(dataset)
    rows = dataset.offers.select_related("data_test").order_by("pk")
    return [row for row in rows if not tells_of(row, hidden)]


def is_hidden(offer: Offer) -> bool:
    """Whether it tells of a column that is sensitive by now."""
    return tells_of(offer, sensitive_columns(offer.dataset))


def tells_of(offer: Offer, columns: Collection[str]) -> bool:
    """Whether one of these columns, in lower case, is among its own."""
    return any(column.casefold() in columns for column in offer.columns)


def suggestion_of(offer: Offer) -> Suggestion:
    """The suggestion that it keeps."""
    values = {field.name: getattr(offer, field.name) for field in fields(Suggestion)}
    return Suggestion(**{**values, "columns": tuple(offer.columns)})


def reading_of(dataset: Dataset) -> PastReading | None:
    """The newest reading of its past, if somebody ever asked for one."""
    return PastReading.objects.filter(dataset=dataset).first()


def decided_of(dataset: Dataset) -> list[Decided]:
    """What was rejected, and what was accepted and is a live test still."""
    accepted = dataset.offers.filter(state=OfferState.ACCEPTED)
    over = accepted.exclude(data_test__isnull=False, data_test__retired_at__isnull=True)  # they may be offered again
    rows = dataset.offers.exclude(state=OfferState.OFFERED).exclude(pk__in=over.values("pk"))
    return [Decided(rule=row.rule, columns=tuple(row.columns), assertion=row.assertion) for row in rows]


def asserted_of(dataset: Dataset) -> set[str]:
    """What its live tests assert."""
    live = dataset.data_tests.filter(retired_at__isnull=True, revision__isnull=False)
    return set(live.values_list("revision__assertion", flat=True))


# Ask for suggestions, keep what was found, and accept or reject it; what was rejected is remembered.


class UnableToSuggest(Exception):
    """A dataset whose past cannot be read; the message says why."""


class UnableToDecide(Exception):
    """A suggestion that cannot be accepted, rejected or taken back as it stands now; the message says why."""


def ask_for_suggestions(dataset: Dataset, *, author: str, now: datetime) -> PastReading:
    """Let its past be read by the stage ``suggest``, unless that is under way; raises UnableToSuggest."""
    if dataset.business_metric is not None:
        raise UnableToSuggest(f"{dataset.full_name} is a business metric: suggestions are read from rows")
    if dataset.partitioning is None:
        raise UnableToSuggest(f"{dataset.full_name} has no partitions, and so no past to learn from")
    fields = {"datacenter": home(dataset).datacenter, "asked_at": now, "asked_by": author, "ended_at": None}
    with transaction.atomic():
        row, is_new = PastReading.objects.select_for_update().get_or_create(dataset=dataset, defaults=fields)
        if not is_new and row.ended_at is not None:
            for name, value in {**fields, "problem": "", "lease_until": None, "attempts": 0}.items():
                setattr(row, name, value)
            row.save(update_fields=[*fields, "problem", "lease_until", "attempts"])
    return row


@transaction.atomic
def keep(dataset: Dataset, new_suggestions: Sequence[Suggestion], *, now: datetime) -> int:
    """Offer what was found in place of what was offered before, but for what somebody has decided of; how many."""
    Dataset.objects.select_for_update().get(pk=dataset.pk)  # one reading after the other
    forget_sensitive(dataset)
    decided, asserted = decided_of(dataset), asserted_of(dataset)
    hidden, own = sensitive_columns(dataset), profile_of(dataset)
    dataset.offers.filter(state=OfferState.OFFERED).delete()
    rows = []
    for suggestion in still_offered(new_suggestions, decided, asserted):
        row = Offer(dataset=dataset, offered_at=now, **{**vars(suggestion), "columns": list(suggestion.columns)})
        with suppress(UnableToWrite):  # where readers may not see the other dataset that it names
            if not tells_of(row, hidden):
                checked_tree(own, row.assertion, catalogued)
                rows.append(row)
    Offer.objects.bulk_create(rows, batch_size=500)
    return len(rows)


def forget_sensitive(dataset: Dataset) -> None:
    """Remove what is kept of columns that are sensitive by now: it may quote their values."""
    if hidden := sensitive_columns(dataset):
        Offer.objects.filter(pk__in=[row.pk for row in dataset.offers.all() if tells_of(row, hidden)]).delete()


@transaction.atomic
def accept_suggestion(offer: Offer, *, author: str, now: datetime) -> DataTest:
    """Make it a soft test of its dataset; raises UnableToDecide, and UnableToWrite where it does not fit any more."""
    row = _as_it_stands(offer, OfferState.OFFERED)
    suggestion = suggestion_of(row)
    row.data_test = write_data_test(
        dataset=row.dataset,
        name=free_name(suggestion.name, row.dataset.data_tests.values_list("name", flat=True)),
        assertion=row.assertion,
        category=suggestion.category,
        severity=Severity.SOFT,
        author=author,
        now=now,
    )
    _decide(row, OfferState.ACCEPTED, author=author, now=now)
    return row.data_test


@transaction.atomic
def accept_adjusted(offer: Offer, data_test: DataTest, *, author: str, now: datetime) -> None:
    """Note that somebody changed it and wrote it as this test of its dataset; raises UnableToDecide."""
    row = _as_it_stands(offer, OfferState.OFFERED)
    row.data_test = data_test
    _decide(row, OfferState.ACCEPTED, author=author, now=now)


@transaction.atomic
def reject_suggestion(offer: Offer, *, reason: str = "", author: str, now: datetime) -> None:
    """Offer neither it nor its rule on its columns again, until somebody takes that back; raises UnableToDecide."""
    row = _as_it_stands(offer, OfferState.OFFERED)
    row.reason = reason
    _decide(row, OfferState.REJECTED, author=author, now=now)


@transaction.atomic
def take_back_rejection(offer: Offer, *, author: str, now: datetime) -> None:
    """Offer again what was rejected; raises UnableToDecide."""
    row = _as_it_stands(offer, OfferState.REJECTED)
    row.reason = ""
    _decide(row, OfferState.OFFERED, author=author, now=now)


def _as_it_stands(offer: Offer, state: OfferState) -> Offer:
    row = Offer.objects.select_for_update().select_related("dataset").filter(pk=offer.pk).first()
    if row is None or is_hidden(row):
        raise UnableToDecide("This suggestion is offered no more: the past was read again since.")
    if row.state != state:
        by = f" by {row.decided_by}" if row.decided_by else ""
        raise UnableToDecide(f"This suggestion is {row.state}{by}, and not {state.value}.")
    return row


def _decide(row: Offer, state: OfferState, *, author: str, now: datetime) -> None:
    row.state, row.decided_by, row.decided_at = state, author, now
    row.save(update_fields=["state", "decided_by", "decided_at", "reason", "data_test"])


# The stage ``suggest``: read a dataset's past where its files are, and offer what it suggests.

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
class PastSuggestions:
    """The windows that were read, by key, and what they suggest; or why there is nothing."""

    keys: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    problem: str = ""


def suggested_window(window: FileWindow) -> SuggestedWindow:
    """The window as suggestions are made of it: its rows only where they are few enough to look for keys."""
    rows = window.rows if window.rows.num_rows <= MOST_ROWS // USUAL_WINDOWS else None
    profile = gathered_profile([window.rows], window.start)
    unique = {name for name, column in profile.columns.items() if may_be_key(column) and is_key(window.rows, [name])}
    return SuggestedWindow(key=window.key, profile=profile, rows=rows, unique=frozenset(unique))


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


def end(row: PastReading, past: PastSuggestions, now: datetime) -> None:
    """Offer what was found, and note what was read; ends the stage ``suggest``."""
    if not past.problem:
        keep(row.dataset, past.suggestions, now=now)
    finish(row, **_ended(past, now))


def note(dataset: Dataset, past: PastSuggestions, *, author: str, now: datetime) -> int:
    """Offer what was read at once, by command; how many suggestions are offered now."""
    fields = {"datacenter": home(dataset).datacenter, "asked_at": now, "asked_by": author}
    PastReading.objects.update_or_create(dataset=dataset, defaults={**fields, **_ended(past, now)})
    return keep(dataset, past.suggestions, now=now)


def _ended(past: PastSuggestions, now: datetime) -> dict[str, Any]:
    first, last = (past.keys[0], past.keys[-1]) if past.keys else ("", "")
    return {
        "ended_at": now,
        "windows": len(past.keys),
        "first_window": first[:120],
        "last_window": last[:120],
        "problem": past.problem[:500],
    }


def _read(row: PastReading) -> PastSuggestions:
    dataset = by_name(row.dataset.full_name)
    assert dataset is not None
    if row.attempts > MOST_TRIES:
        return PastSuggestions(problem=f"the worker that read it ended {MOST_TRIES} times: {_elsewhere(dataset)}")
    try:
        read = windows_of_dataset(dataset, USUAL_WINDOWS, LAST_PARTITIONS, most_bytes=MOST_BYTES)
        windows = []
        for window in read:
            if not extend(row, LEASE):
                raise UnableToFinish(f"the reading {row.pk} was claimed again")
            windows += [suggested_window(window)] if window.rows.num_rows else []
        if not windows:
            return PastSuggestions(problem=f"its last {USUAL_WINDOWS} partitions have no rows to suggest anything from")
        new_suggestions = suggestions(windows, other_keys(dataset))
        return PastSuggestions(keys=tuple(window.key for window in windows), suggestions=tuple(new_suggestions))
    except WindowTooLarge as error:
        return PastSuggestions(problem=f"{error}: {_elsewhere(dataset)}")
    except UnableToRun as error:
        return PastSuggestions(problem=str(error))
    except UnableToListFiles as error:
        if sensitive_columns(dataset):  # what a file holds may be quoted
            return PastSuggestions(problem=f"{error.failure.reason}: `assay suggest {dataset.full_name}` says more")
        return PastSuggestions(problem=str(error.failure.detail))
    except (ArrowException, OSError, MemoryError) as error:  # their texts may quote values
        log.exception("the past cannot be read", row=row.pk)
        return PastSuggestions(
            problem=f"its files cannot be read ({type(error).__name__}): the log of the worker says more"
        )


def _elsewhere(dataset: Dataset) -> str:
    return f"`assay suggest {dataset.full_name} --keep` reads it where there is more memory"
