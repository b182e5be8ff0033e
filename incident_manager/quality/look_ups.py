"""Consumers' questions: may this data be used? Each is answered and, as it was answered, kept."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID, uuid4

from assay.catalog.selectors import home
from assay.database.statements import insert, rows_of
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.intervals import union
from incident_manager.models import Incident, LookUp

from .rules import Facts, QualityAnswer, RangeRequest, SpoiltFact, concerning, judge, overlapping
from .selectors import window_facts_of_all

MOST_READ = 8  # stretches of time whose facts are read apart


@dataclass(frozen=True, kw_only=True)
class ToRead:
    """A window of a dataset that somebody asks about, or is about to read; at home, unless a datacenter is given."""

    dataset: Dataset
    window: Window
    datacenter: str = ""

    @cached_property
    def range(self) -> RangeRequest:
        """The window where it is read."""
        return RangeRequest(window=self.window, datacenter=self.datacenter or home(self.dataset).datacenter)


@dataclass(frozen=True, kw_only=True)
class LookUpAnswer:
    """What is known of a range of a dataset in one datacenter."""

    dataset: Dataset
    window: Window
    datacenter: str
    query: UUID
    quality: QualityAnswer
    spoilt: tuple[SpoiltFact, ...]
    incidents: tuple[Incident, ...]  # that spoilt it
    reports: tuple[int, ...]  # ids of those that are not confirmed yet

    @property
    def failed(self) -> bool:
        """Whether any of it is spoilt: the quality of queries counts incidents alone."""
        return bool(self.spoilt)


def look_up(
    *,
    dataset: Dataset,
    window: Window,
    datacenter: str = "",
    now: datetime,
    query: UUID | None = None,
    record: bool = True,
) -> LookUpAnswer:
    """The answer for one range (at home, unless a datacenter is given); the ranges of one question share ``query``."""
    to_read = [ToRead(dataset=dataset, window=window, datacenter=datacenter)]
    (answer,) = look_ups(to_read, now=now, query=query, record=record)
    return answer


def look_ups(
    ranges: Sequence[ToRead], *, now: datetime, query: UUID | None = None, record: bool = True
) -> list[LookUpAnswer]:
    """The answer for each range, read together; each is a question of its own, unless they share ``query``."""
    here = [
        concerning(facts, reading.range)
        for reading, facts in zip(ranges, facts_of_ranges(ranges, now=now), strict=True)
    ]
    incidents = {row.pk: row for row in rows_of(Incident, {own.incident_id for facts in here for own in facts.spoilt})}
    answers = [
        LookUpAnswer(
            dataset=reading.dataset,
            window=reading.window,
            datacenter=reading.range.datacenter or "",
            query=query or uuid4(),
            quality=judge(facts, reading.range),
            spoilt=tuple(facts.spoilt),
            incidents=tuple(incidents[pk] for pk in dict.fromkeys(spoilt.incident_id for spoilt in facts.spoilt)),
            reports=tuple(dict.fromkeys(claim.report_id for claim in facts.claims)),
        )
        for reading, facts in zip(ranges, here, strict=True)
    ]
    rows = [
        LookUp(
            query=answer.query,
            dataset=answer.dataset,
            datacenter=answer.datacenter,
            window_start=answer.window.start,
            window_end=answer.window.end,
            at=now,
            failed=answer.failed,
            incidents=[incident.pk for incident in answer.incidents],
        )
        for answer in answers
    ]
    if record and len(rows) == 1:  # one INSERT, without the transaction that several need
        insert(rows[0])
    elif record:
        LookUp.objects.bulk_create(rows)
    return answers


def facts_of_ranges(ranges: Sequence[ToRead], *, now: datetime) -> list[Facts]:
    """What is known of each range; ranges that overlap or touch are read together, of many the nearest ones too."""
    islands = union(reading.window for reading in ranges)
    if len(islands) > MOST_READ:  # the widest gaps between them stay
        gaps = sorted(range(1, len(islands)), key=lambda at: islands[at].start - islands[at - 1].end)
        starts = [0, *sorted(gaps[len(islands) - MOST_READ :])]
        ends = [at - 1 for at in (*starts[1:], len(islands))]
        islands = tuple(Window(start=islands[a].start, end=islands[z].end) for a, z in zip(starts, ends, strict=True))
    of = [next(island for island in islands if island.contains(reading.window)) for reading in ranges]
    datasets: dict[Window, dict[int, Dataset]] = defaultdict(dict)
    for reading, island in zip(ranges, of, strict=True):
        datasets[island][reading.dataset.pk] = reading.dataset
    facts_by_island = {island: window_facts_of_all(own.values(), island, now=now) for island, own in datasets.items()}
    return [
        overlapping(facts_by_island[island][reading.dataset.pk], reading.window)
        for reading, island in zip(ranges, of, strict=True)
    ]
