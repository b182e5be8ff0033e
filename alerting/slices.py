"""Searches for the slice that explains a broken window: worked once, beside the data, and shown by the rights of now.

Nothing waits for a search: a notice that is written before its end does without it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog
from django.db.models import F, Q
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.selectors import replica as replica_of
from assay.catalog.selectors import sensitive_columns
from assay.models import Category, Dataset, LineageEdge, Scope
from assay.queue.claims import attempt, claim, finish, heartbeat, log_ids
from assay.queue.flow import stage
from assay.time.windows import Window
from execution_engine.engines.protocol import NO_FILES, Engine, Part, Table
from execution_engine.language.serialise import from_json
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import HIDDEN, Veil
from execution_engine.selectors import excluded_windows
from execution_engine.slices.result import SearchStatus, as_json, not_searched, without_slices
from execution_engine.storage import engine_of, part_of, table_of

from .models import Alert, SliceSearch, SliceTrial, Standing
from .state import State

if TYPE_CHECKING:
    from execution_engine.slices.rules import Subject

log = structlog.get_logger(__name__)

MOST_TRIES = 2
HIDDEN_SLICE = f"A slice was looked for, but {HIDDEN}."
OF_MISSING_ROWS = (Category.COMPLETENESS, Category.CONSISTENCY)


def search_worst(alert: Alert, now: datetime) -> None:
    """Ask for the slice behind the worst window that an alert stands on, unless somebody did."""
    broken = Standing.objects.filter(
        data_test__dataset=alert.dataset_id,
        data_test__category=alert.category,
        data_test__retired_at__isnull=True,
        state=State.FAIL.value,
        waiver__isnull=True,
    )
    worst = broken.select_related("data_test").order_by(F("excess").desc(nulls_last=True), "-window_start", "pk")
    if standing := worst.first():
        fields = {"datacenter": standing.data_test.spoilt_datacenter, "requested_at": now}
        SliceSearch.objects.get_or_create(standing=standing, defaults=fields)


# The stage ``explain``.


def explain_due(datacenter: str | None = None) -> int:
    """Work one search, of one datacenter or of any; how many were worked."""
    return work_searches("explain", datacenter, _explain, not_searched, _end)


def _end(row: SliceSearch, now: datetime, result: dict[str, Any]) -> None:
    finish(row, ended_at=now, result=result)
    if result["slices"]:  # what is broken in the same dataset or below may be tried without them
        dataset = row.standing.data_test.dataset_id
        below = LineageEdge.objects.filter(upstream=dataset).values_list("downstream", flat=True)
        decide_untold(Q(dataset__in=[dataset, *below]), now)


def work_searches(
    name: str,
    datacenter: str | None,
    search: Callable[[Any], dict[str, Any]],
    unable: Callable[..., dict[str, Any]],
    end: Callable[[Any, datetime, dict[str, Any]], None],
) -> int:
    """Work one row of a stage that reads data, of one datacenter or of any, to its end or a reason; how many."""
    now = clock.now()
    place: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    rows = claim(stage(name), now=now, limit=1, **place)
    for row in rows:
        with bound_contextvars(**log_ids(name, row)):
            with heartbeat(row):
                result = _attempt(row, search, unable)  # outside any transaction: it may take a minute
            attempt(name, row, now, lambda row, now, result=result: end(row, now, result))  # type: ignore[misc]
    return len(rows)


def decide_untold(condition: Q, now: datetime) -> None:
    """Decide again about open alerts that were told to nobody yet."""
    Alert.objects.filter(condition, closed_at__isnull=True, told_at__isnull=True).update(next_notice_at=now)


def _attempt(
    row: SliceSearch | SliceTrial, search: Callable[[Any], dict[str, Any]], unable: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    from execution_engine.slices.reading import UnableToSearch

    if row.attempts > MOST_TRIES:
        return unable(f"{MOST_TRIES} workers were lost while they looked")
    try:
        return search(row)
    except UnableToSearch as error:
        return unable(str(error), error.left_out)
    except UnableToUseLocation as error:
        return unable(f"the data may not be read: {error}"[:500])
    except Exception as error:
        log.exception("slices cannot be searched", of=str(row))
        return unable(f"the data cannot be read ({type(error).__name__}): the log of the worker says more")


def _explain(row: SliceSearch) -> dict[str, Any]:
    from execution_engine.slices.reading import explain_part

    engine, table, part, past, subject = parts_of(row.standing, row.datacenter)
    sensitive = sensitive_columns(row.standing.data_test.dataset)
    return as_json(explain_part(engine, table, part, past, subject, sensitive=sensitive), subject.spec)


def parts_of(standing: Standing, datacenter: str) -> "tuple[Engine, Table, Part, list[Part], Subject]":
    """Where a broken window and sound ones like it before it are read, and what broke. Raises UnableToSearch."""
    # with them scipy and pyarrow, for which no gate should wait
    from execution_engine.attribution import FEWEST_DAYS
    from execution_engine.slices.reading import UnableToSearch
    from execution_engine.slices.rules import UNKNOWN_SUBJECT, subject_of

    test, dataset, window = standing.data_test, standing.data_test.dataset, standing.window
    partitioning = dataset.partitioning
    if dataset.business_metric is not None:
        raise UnableToSearch("a business metric has no rows of its own")
    if partitioning is None or test.scope == Scope.TABLE or partitioning.tile(window, 1) is None:
        raise UnableToSearch("what broke is no single partition, and so has no past like it")
    findings = standing.last_run.findings if standing.last_run else {}
    misses_rows = test.category in OF_MISSING_ROWS
    subject = subject_of(from_json(standing.revision.tree), findings, misses_rows=misses_rows)
    if subject is None:
        raise UnableToSearch(UNKNOWN_SUBJECT)
    replica = replica_of(dataset, datacenter)
    if replica is None:
        raise UnableToSearch(f"the table has no replica in {datacenter} any more")
    table, engine = table_of(dataset, replica), engine_of(replica)
    part = part_of(dataset, window, engine, table)
    if engine.fingerprint(table, part) == NO_FILES:
        raise UnableToSearch("the window has no files, so that all of its rows are gone")
    past, gone = _past_parts(standing, engine, table)
    if len(past) < FEWEST_DAYS:
        more = f" ({gone} more have no files)" if gone else ""
        raise UnableToSearch(
            f"{len(past)} like windows of the past are sound and there{more}, fewer than {FEWEST_DAYS}"
        )
    return engine, table, part, past, subject


def _past_parts(standing: Standing, engine: Engine, table: Table) -> tuple[list[Part], int]:
    """The parts of up to 14 like windows that were sound and are there, the oldest first; and how many are gone."""
    from execution_engine.attribution import PAST_DAYS
    from execution_engine.slices.rules import like_windows

    dataset = standing.data_test.dataset
    assert dataset.partitioning is not None
    windows = like_windows(dataset.partitioning, standing.window)
    unsound = _unsound_windows(standing, windows)
    parts = [part_of(dataset, window, engine, table) for window in windows if window not in unsound]
    prints = engine.fingerprints(table, parts)
    there = [part for part, seen in zip(parts, prints, strict=True) if seen != NO_FILES]
    return there[:PAST_DAYS][::-1], len(parts) - len(there)


def _unsound_windows(standing: Standing, windows: Collection[Window]) -> set[Window]:
    """Those of the windows that were broken or forgiven: they do not say what is usual."""
    test = standing.data_test
    of_dataset = Standing.objects.filter(
        Q(waiver__isnull=False) | Q(data_test=test, last_outcome=Outcome.BROKEN),
        data_test__dataset=test.dataset_id,
        window_start__in=[window.start for window in windows],
    )
    broken = {row.window for row in of_dataset.only("window_start", "window_end")}
    return broken | excluded_windows(test.dataset_id, test.spoilt_datacenter, windows)


# What may be shown of it now.


def explanation_of(row: SliceSearch, veil: Veil) -> dict[str, Any]:
    """The explanation as JSON; while it is awaited, or hidden by the marks and readers of now, its sentence says so."""
    if row.ended_at is None:
        return without_slices(SearchStatus.WAITING, "Assay is looking for the slice of the rows that explains it.")
    dataset = row.standing.data_test.dataset
    has_values = row.result["status"] in (SearchStatus.SLICES, SearchStatus.NONE)
    if has_values and (veil.hides(row.standing.revision, dataset) or names_sensitive(row.result, dataset)):
        return without_slices(SearchStatus.HIDDEN, HIDDEN_SLICE)
    return dict(row.result)


def names_sensitive(result: Mapping[str, Any], dataset: Dataset) -> bool:
    """Whether it tells values of a column that is sensitive by now."""
    hidden = sensitive_columns(dataset)
    return bool(hidden) and any(column.casefold() in hidden for column in _columns(result["slices"]))


def _columns(slices: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    return (column for row in slices for column in row["columns"])
