"""Consumers' questions: may this data be used? Each is answered and, as it was answered, kept."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from assay.catalog.selectors import home
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.models import Incident, LookUp

from .facts import SpoiltFact
from .rules import Answer, AskedRange, concerning, judge
from .selectors import known_of


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
    at_home = home(dataset).datacenter
    asked = AskedRange(window=window, datacenter=datacenter or at_home)
    here = concerning(known_of(dataset, window, now=now), asked)
    incidents = Incident.objects.in_bulk({spoilt.incident_id for spoilt in here.spoilt})
    answer = LookUpAnswer(
        dataset=dataset,
        window=window,
        datacenter=datacenter or at_home,
        query=query or uuid4(),
        quality=judge(here, asked),
        spoilt=tuple(here.spoilt),
        incidents=tuple(incidents[id_] for id_ in dict.fromkeys(spoilt.incident_id for spoilt in here.spoilt)),
        reports=tuple(dict.fromkeys(claim.report_id for claim in here.claims)),
    )
    if record:
        LookUp.objects.create(
            query=answer.query,
            dataset=dataset,
            datacenter=answer.datacenter,
            window_start=window.start,
            window_end=window.end,
            at=now,
            failed=answer.failed,
            incidents=[incident.pk for incident in answer.incidents],
        )
    return answer
