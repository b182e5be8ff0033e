"""What scores are made of, read as plain values: the incidents and reports of a range, and when tests were live."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np
from django.db.models import CharField, Count, Exists, ExpressionWrapper, F, Field, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from alerting.models import Standing
from alerting.state import State
from assay.clock import instant_of
from assay.models import DataTest
from assay.time.windows import Window
from incident_manager.models import EntryKind, Episode, Report, Resolution, SpoiltWindow
from incident_manager.quality.facts_of_rows import JUDGES_NO_ROWS

from .resolutions import CONFIRMED, HOW
from .rules import ConfirmedReport, DetectedIncident, OpenTime, missed
from .together import FOREVER, KIND_OF, Ints, Kind, Spells, microseconds

KINDS = (
    {(EntryKind.DETECTED.value, resolution): KIND_OF[how].value for resolution, how in HOW.items()}
    | {(EntryKind.DETECTED.value, ""): KIND_OF[None].value}
    | {(EntryKind.REPORTED.value, resolution): Kind.REPORTED.value for resolution in ("", *Resolution.values)}
)
COLUMNS = ("incident", *(f"incident__{name}" for name in ("dataset", "category", "kind", "resolution")), "start", "end")


@dataclass(frozen=True, kw_only=True)
class ScoreFilter:
    """Whose data counts: tier, team and owner of an incident are those at its detection."""

    who: Mapping[str, Any] = field(default_factory=dict)
    category: str | None = None
    datasets: Collection[int] | None = None  # None: all

    def narrow(self, rows: QuerySet[Any], *, of: str = "", who: str = "") -> QuerySet[Any]:
        """The rows that count; ``of`` leads to their dataset and category, ``who`` to tier, team and owner."""
        rows = rows.filter(**{f"{who}{name}": value for name, value in self.who.items()})
        if self.category is not None:
            rows = rows.filter(**{f"{of}category": self.category})
        return rows if self.datasets is None else rows.filter(**{f"{of}dataset__in": self.datasets})


class Part(NamedTuple):
    """Some spells and what each is of, one an index; a test's is of incident 0."""

    datasets: Sequence[int]
    categories: Sequence[str]
    incidents: Sequence[int]
    kind: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All spells of a range, and what each is of, one an index; a test's is of incident 0."""

    spells: Spells
    datasets: Sequence[int]
    categories: Sequence[str]
    incidents: Sequence[int]
    category_names: Sequence[str]  # by their number in the spells
    values: Mapping[int, str]  # by incident, of the column that was asked for


def read_facts(wanted: ScoreFilter, asked: Window, *columns: str) -> Facts:
    """The facts of the range, with one more column of each incident, if it is asked for."""
    rows = _episodes(wanted, asked, *columns)
    read = list(zip(*rows, strict=True)) or [()] * (len(COLUMNS) + len(columns))
    parts = [_of_incidents(read), _of_reports(rows, wanted, asked), _of_tests(wanted, asked)]
    moved = set(read[1]) - set(parts[-1].datasets) if wanted.who else None
    if moved:  # to another tier, team or owner since
        parts.append(_of_tests(ScoreFilter(datasets=moved, category=wanted.category), asked))
    datasets, categories, incidents = ([*chain(*(part[at] for part in parts))] for at in range(3))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(categories))}
    category = list(map(numbers.__getitem__, categories))
    kind, start, end = (np.concatenate([part[at] for part in parts]) for at in range(3, 6))
    return Facts(
        spells=Spells(dataset=_ints(datasets), category=_ints(category), kind=kind, start=start, end=end),
        datasets=datasets,
        categories=categories,
        incidents=incidents,
        category_names=list(numbers),
        values=dict(zip(read[0], map(str, read[-1]), strict=True)) if columns else {},
    )


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _episodes(wanted: ScoreFilter, asked: Window, *columns: str) -> list[tuple[Any, ...]]:
    """The episodes in the range, each with COLUMNS and these of its incident; not those of claims unconfirmed.

    They are asked for from the side of the episodes, of which an index holds all that is asked. Django looks for the
    zone of each instant; so they are read as texts, which numpy reads by the thousand.
    """
    confirmed = Report.objects.filter(incident=OuterRef("incident"), state__in=CONFIRMED)
    rows = Episode.objects.filter(Q(closed_at__isnull=True) | Q(closed_at__gt=asked.start), opened_at__lt=asked.end)
    if wanted.datasets is not None:  # an index leads from these to the incidents of the range
        rows = rows.filter(Q(incident__resolved_at__isnull=True) | Q(incident__resolved_at__gt=asked.start))
    rows = wanted.narrow(rows, of="incident__", who="incident__")
    rows = rows.filter(Q(incident__kind=EntryKind.DETECTED) | Q(Exists(confirmed)))
    ends = {"start": _text(F("opened_at")), "end": _text(F("closed_at"))}
    return list(rows.annotate(**ends).values_list(*COLUMNS, *(f"incident__{name}" for name in columns)))


def _text(instant: Any) -> Cast:
    return Cast(instant, CharField())


def _instants(texts: Sequence[str | None]) -> Ints:
    """Microseconds since 1970; None, which numpy holds for the least number, is so here too."""
    return np.array(texts, dtype="M8[us]").astype(np.int64)


NEVER = int(np.iinfo(np.int64).min)  # what ``_instants`` makes of None


def _of_incidents(columns: Sequence[Sequence[Any]]) -> Part:
    """The episodes of what tests found, and of what was reported."""
    incidents, datasets, categories, kinds, resolutions, starts, ends = columns[: len(COLUMNS)]
    end = _instants(ends)
    return Part(
        datasets=datasets,
        categories=categories,
        incidents=incidents,
        kind=_ints([KINDS[both] for both in zip(kinds, resolutions, strict=True)]),
        start=_instants(starts),
        end=np.where(end == NEVER, FOREVER, end),
    )


def _of_reports(rows: Sequence[tuple[Any, ...]], wanted: ScoreFilter, asked: Window) -> Part:
    """The times of confirmed reports of which no test knew, whatever category or owner its incident was of."""
    reports = [row for row in rows if row[3] == EntryKind.REPORTED]
    claimed = {row[1] for row in reports}
    found = list[tuple[int, str, int, int, int]]()
    if reports:
        others = rows if wanted == ScoreFilter() else _episodes(ScoreFilter(datasets=claimed), asked)
        rivals = [row for row in others if row[3] == EntryKind.DETECTED and row[1] in claimed]
        windows = _windows({row[0] for row in (*reports, *rivals)})
        detected = _detected(rivals, windows)
        for row in reports:
            report = ConfirmedReport(episode=_episode(row), windows=tuple(windows.get(row[0], ())))
            for window in missed(report, detected.get(row[1], ()), asked):
                found.append((row[1], row[2], row[0], microseconds(window.start), microseconds(window.end)))
    datasets, categories, incidents, starts, ends = list(zip(*found, strict=True)) or [()] * 5
    kind = np.full(len(found), Kind.MISSED, dtype=np.int64)
    return Part(datasets, categories, incidents, kind, _ints(starts), _ints(ends))


def _detected(
    rows: Iterable[tuple[Any, ...]], windows: Mapping[int, Sequence[Window]]
) -> dict[int, list[DetectedIncident]]:
    """What tests found, by dataset, one for each episode."""
    found: dict[int, list[DetectedIncident]] = defaultdict(list)
    for row in rows:
        how = HOW[row[4]] if row[4] else None
        own = tuple(windows.get(row[0], ()))
        found[row[1]].append(DetectedIncident(episodes=(_episode(row),), how=how, windows=own))
    return found


def _episode(row: tuple[Any, ...]) -> OpenTime:
    return OpenTime(start=instant_of(row[5]), end=None if row[6] is None else instant_of(row[6]))


def _windows(incidents: Collection[int]) -> dict[int, list[Window]]:
    """The spoilt windows by incident."""
    rows = SpoiltWindow.objects.filter(incident__in=incidents)
    found: dict[int, list[Window]] = defaultdict(list)
    for incident, start, end in rows.values_list("incident", "window_start", "window_end"):
        found[incident].append(Window(start=start, end=end))
    return found


def _of_tests(wanted: ScoreFilter, asked: Window) -> Part:
    """When each dataset was tested, by category: from its first test on, or to the end of its last if none is live.

    A test that has never come to a verdict has tested nothing yet. A test that judges no row of a partition never does.
    """
    tests = wanted.narrow(DataTest.objects.order_by(), who="dataset__")
    grouped = tests.values("dataset", "category").annotate(
        first=_text(Min("created_at")),
        last=_text(Max("retired_at")),
        live=_many(Q(retired_at__isnull=True)),
        judging=_many(~JUDGES_NO_ROWS),
    )
    read = grouped.values_list("dataset", "category", "first", "last", "live", "judging")
    datasets, categories, firsts, lasts, lives, judging = list(zip(*read, strict=True)) or [()] * 6
    start, last, live = _instants(firsts), _instants(lasts), np.array(lives, dtype=bool)
    judged = _ints(judging)
    if unjudged := _unjudged(tests):
        place = dict(zip(zip(datasets, categories, strict=True), range(len(datasets)), strict=True))
        for of, many in unjudged.items():
            judged[place[of]] -= many
    first_asked, last_asked = microseconds(asked.start), microseconds(asked.end)
    end = np.where(live, np.maximum(last, last_asked), last)
    tested = (judged > 0) & (start < end)
    counts = live | (tested & (start < last_asked) & (end > first_asked))
    return Part(
        datasets=list(compress(datasets, counts)),
        categories=list(compress(categories, counts)),
        incidents=[0] * int(counts.sum()),
        kind=np.where(tested, Kind.TESTED, Kind.NOTHING)[counts],
        start=start[counts],
        end=end[counts],
    )


def _many(of: Q) -> "ExpressionWrapper[Count]":
    """How many rows are so; as the database gives it, as Django converts each count by itself."""
    return ExpressionWrapper(Count("pk", filter=of), output_field=Field())


def _unjudged(tests: QuerySet[DataTest]) -> dict[tuple[int, str], int]:
    """How many of these tests have not come to a verdict on rows yet, by dataset and category; there are few.

    What passes has held; an index knows that of nearly all tests, so that few are asked for the outcomes themselves.
    """
    own = Standing.objects.filter(data_test=OuterRef("pk"))
    rows = tests.exclude(JUDGES_NO_ROWS).exclude(Exists(own.filter(state=State.PASS))).values("dataset", "category")
    left = rows.annotate(many=Count("pk", filter=~Exists(own.exclude(last_outcome=""))))
    return {(dataset, category): many for dataset, category, many in left.values_list("dataset", "category", "many")}
