"""Consumers' questions: may this data be used? Each is answered and, as it was answered, kept."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from assay.catalog.selectors import home
from assay.database.statements import rows_of
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.intervals import union
from incident_manager.models import Incident, LookUp

from .rules import Answer, AskedRange, Facts, SpoiltFact, concerning, judge, overlapping
from .selectors import known_of_all

MOST_READ = 8  # stretches of time whose facts are read apart


@dataclass(frozen=True, kw_only=True)
class LookUpAnswer:
    """What is known of a range of a dataset in one datacenter."""

    dataset: Dataset
    window: Window
    datacenter: str
    query: UUID
    quality: Answer
    spoilt: tuple[SpoiltFact, ...]
    incidents: tuple[Incident, ...]  # that spoilt it
    reports: tuple[int, ...]  # ids of those that are not confirmed yet

    @property
    def failed(self) -> bool:
        """Whether any of it is spoilt: the quality of queries counts incidents alone."""
        return bool(self.spoilt)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A range of a dataset that somebody asks about; at home, unless a datacenter is given."""

    dataset: Dataset
    window: Window
    datacenter: str = ""


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
    asked = Asked(dataset=dataset, window=window, datacenter=datacenter)
    (answer,) = look_ups([asked], now=now, query=query, record=record)
    return answer


def look_ups(
    asked: Sequence[Asked], *, now: datetime, query: UUID | None = None, record: bool = True
) -> list[LookUpAnswer]:
    """The answer for each range, read together; each is a question of its own, unless they share ``query``."""
    found = [(each, _range(each), facts) for each, facts in zip(asked, _known(asked, now), strict=True)]
    here = [(each, range_, concerning(facts, range_)) for each, range_, facts in found]
    ids = {spoilt.incident_id for _, _, facts in here for spoilt in facts.spoilt}
    incidents = {incident.pk: incident for incident in rows_of(Incident, ids)}
    answers = [_answer(each, range_, facts, incidents, query or uuid4()) for each, range_, facts in here]
    if record and len(answers) == 1:  # one INSERT, without the transaction that several need
        _row(answers[0], now).save(force_insert=True)
    elif record:
        LookUp.objects.bulk_create(_row(answer, now) for answer in answers)
    return answers


def _range(asked: Asked) -> AskedRange:
    return AskedRange(window=asked.window, datacenter=asked.datacenter or home(asked.dataset).datacenter)


def _known(asked: Sequence[Asked], now: datetime) -> list[Facts]:
    """What is known of each range; ranges that overlap or touch are read together, and all if they are many."""
    islands = union(each.window for each in asked)
    if len(islands) > MOST_READ:
        islands = (Window(start=islands[0].start, end=islands[-1].end),)
    alike: dict[Window, dict[int, Dataset]] = defaultdict(dict)
    of = [next(island for island in islands if island.contains(each.window)) for each in asked]
    for each, island in zip(asked, of, strict=True):
        alike[island][each.dataset.pk] = each.dataset
    known = {island: known_of_all(datasets.values(), island, now=now) for island, datasets in alike.items()}
    return [overlapping(known[island][each.dataset.pk], each.window) for each, island in zip(asked, of, strict=True)]


def _answer(
    asked: Asked, range_: AskedRange, here: Facts, incidents: Mapping[int, Incident], query: UUID
) -> LookUpAnswer:
    return LookUpAnswer(
        dataset=asked.dataset,
        window=asked.window,
        datacenter=range_.datacenter or "",
        query=query,
        quality=judge(here, range_),
        spoilt=tuple(here.spoilt),
        incidents=tuple(incidents[id_] for id_ in dict.fromkeys(spoilt.incident_id for spoilt in here.spoilt)),
        reports=tuple(dict.fromkeys(claim.report_id for claim in here.claims)),
    )


def _row(answer: LookUpAnswer, now: datetime) -> LookUp:
    return LookUp(
        query=answer.query,
        dataset=answer.dataset,
        datacenter=answer.datacenter,
        window_start=answer.window.start,
        window_end=answer.window.end,
        at=now,
        failed=answer.failed,
        incidents=[incident.pk for incident in answer.incidents],
    )
