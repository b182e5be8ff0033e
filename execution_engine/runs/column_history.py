"""The columns of a dataset over its last partitions, by the profiles that novelty compares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isfinite, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.catalog.selectors import home, sensitive_columns
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History, operands
from execution_engine.models import AcceptedPast, Measurement
from execution_engine.novelty import past as stored_pasts
from execution_engine.novelty.past import Past
from execution_engine.novelty.statistics import PLACE, STATISTICS, WHOLE_BATCH
from execution_engine.parts.state_store import STATE, UnableToLoadState, state_of
from execution_engine.profiles.profile import TableProfile, ValueKind
from execution_engine.profiles.report import described
from execution_engine.profiles.stored import UnableToRead, from_bytes

from .accepted_past import IN_THE_PAST, Word, operand_key

Floats = npt.NDArray[np.float64]

LAST_WINDOWS = 90
KEPT_FOR = timedelta(days=400)  # no profile is older: without any, no more rows are looked at
MOST_READ = 6  # profiles of windows that are no part of the past, the newest
MOST_COLUMNS = 1000  # of them together, after which no further one is read: each takes a third of a millisecond
MOST_BYTES = 32 << 20  # of a past, as it is kept: some 480 columns over a year; more is too much for one request
PROFILES = "profile("


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnHistory:
    """What is known of columns in the last windows, oldest first.

    ``figures``: of each column an array (windows, statistics), NaN where nothing is known; that of the whole batch
    stands under ``WHOLE_BATCH``. ``accepted``: whether the window is one that later ones are compared with.
    ``kinds`` are those of the last window that has the column. ``newest`` is the profile of the last window that has
    one, ``newest_window`` that window.
    """

    windows: Sequence[datetime] = ()
    accepted: Sequence[bool] = ()
    figures: Mapping[str, Floats] = field(default_factory=dict)
    kinds: Mapping[str, ValueKind] = field(default_factory=dict)
    newest: TableProfile | None = None
    newest_window: Window | None = None
    unreadable: bool = False  # profiles are kept, but none of them can be read
    is_past_lost: bool = False  # what novelty keeps of accepted windows cannot be read here: only the newest are known


def column_history(dataset: Dataset, now: datetime) -> ColumnHistory:
    """Of the profiles at home of all columns; columns that are sensitive now are left out."""
    measured, hidden = _measured(dataset, now), sensitive_columns(dataset)
    past, starts, is_lost = _past(dataset)
    count = min(len(starts), len(past.batches))  # the last of both are of the same windows
    batches = dict(zip(starts[len(starts) - count :], past.batches[len(past.batches) - count :], strict=True))
    accepted = frozenset(batches)
    newest, newest_window, read = None, None, 0
    others = [row for window, row in sorted(measured.items(), reverse=True) if window not in batches][:MOST_READ]
    latest = max(measured, default=None)
    for row in others if latest is None or latest not in batches else [measured[latest], *others]:
        if read >= MOST_COLUMNS:
            break
        try:
            row.refresh_from_db(fields=STATE)
            profile = from_bytes(state_of(row))
        except (UnableToRead, UnableToLoadState):
            continue
        read += len(profile.columns)
        if newest is None:
            newest, newest_window = profile, row.window
        batches.setdefault(row.window_start, past.batch_of(profile))
    windows = sorted(batches)[-LAST_WINDOWS:]
    every = dict.fromkeys(name for window in windows for name in batches[window].names)
    names = [name for name in every if name == WHOLE_BATCH or name.casefold() not in hidden]
    figures = np.full((len(names), len(windows), len(STATISTICS)), nan)
    for at, window in enumerate(windows):
        figures[:, at] = batches[window].aligned("shown", names)
    return ColumnHistory(
        windows=windows,
        accepted=[window in accepted for window in windows],
        kinds={name: kind for window in windows for name, kind in batches[window].kinds.items() if name in names},
        figures=dict(zip(names, figures, strict=True)),
        newest=newest and newest.without_values(name for name in newest.columns if name.casefold() in hidden),
        newest_window=newest_window,
        unreadable=bool(measured) and not windows,
        is_past_lost=is_lost and bool(windows),
    )


def names_of(dataset: Dataset, history: ColumnHistory, named: Iterable[str] = ()) -> list[str]:
    """The declared columns in their order, then those that were profiled, then those that are ``named`` alone."""
    own = dataset.partition_column.casefold()
    declared = [column["name"] for column in dataset.columns if column["name"].casefold() != own]
    profiled = history.newest.columns if history.newest else ()
    names = dict.fromkeys([*declared, *profiled, *(name for name in history.figures if name != WHOLE_BATCH)])
    folded = {name.casefold() for name in names}
    return [*names, *{name.casefold(): name for name in named if name.casefold() not in folded}.values()]


def column_descriptions(dataset: Dataset, history: ColumnHistory) -> dict[str, dict[str, Any]]:
    """By column what the newest profile says of it (see ``described``); of one that is sensitive its type alone."""
    hidden = sensitive_columns(dataset)
    descriptions = {column["name"]: {"type": str(column["type"])} for column in dataset.columns}
    if history.newest is not None:
        descriptions |= {
            column["name"]: column
            for column in described(history.newest)["columns"]
            if column["name"].casefold() not in hidden
        }
    return descriptions


def values_of(history: ColumnHistory, column: str, statistic: str) -> list[float | None]:
    """Of each window, None where it is not known; empty of a column that is not known in any."""
    if column not in history.figures:
        return []
    return [value if isfinite(value) else None for value in history.figures[column][:, PLACE[statistic]].tolist()]


def _measured(dataset: Dataset, now: datetime) -> dict[datetime, Measurement]:
    """The newest profile of all columns and rows of each of the last windows, without its state."""
    rows = Measurement.objects.filter(
        dataset=dataset,
        datacenter=home(dataset).datacenter,
        window_start__gte=now - KEPT_FOR,
        spec_text__startswith=PROFILES,
        measured_at__isnull=False,
        failure_reason="",
    ).order_by("-window_start", "-measured_at", "-pk")
    rows_by_start: dict[datetime, Measurement] = {}
    for row in rows.defer("state")[: 3 * LAST_WINDOWS]:
        if not row.metric.columns and row.metric.where is None:
            rows_by_start.setdefault(row.window_start, row)
    return dict(list(rows_by_start.items())[:LAST_WINDOWS])


def _past(dataset: Dataset) -> tuple[Past, list[datetime], bool]:
    """That of the standard test, or else the one that knows most columns; with the windows of its batches.

    Of the pasts of all rows, as the figures of some rows are not the table's. The last of the three is whether there
    are some, of which none can be read here.
    """
    rows = AcceptedPast.objects.filter(data_test__dataset=dataset, data_test__retired_at=None)
    pasts: list[tuple[bool, int, Past, list[datetime]]] = []
    joined = rows.select_related("data_test__revision").defer("state").order_by("-kept_at")
    candidates = []
    for row in joined:  # where the test still asks for it
        revision = row.data_test.revision
        if any(
            isinstance(operand, History)
            and operand.metric.dataset is None
            and operand.metric.spec.where is None
            and operand_key(operand) == row.operand
            for operand in (operands(from_json(revision.tree)) if revision else ())
        ):
            candidates.append(row)
    for row in candidates[:4]:
        if row.state_length > MOST_BYTES:
            continue
        try:
            past = stored_pasts.from_bytes(state_of(row))
        except (UnableToRead, UnableToLoadState):
            continue
        starts = [datetime.fromisoformat(start) for start, _, word in row.batches if Word(word) in IN_THE_PAST]
        pasts.append((row.data_test.name == "novelty", len(past.pools), past, starts))
    if not pasts:
        return Past(), [], bool(candidates)
    _, _, past, starts = max(pasts, key=lambda entry: entry[:2])
    return past, starts, False
