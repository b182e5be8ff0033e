"""Consumers' questions: may this data be used? Each is answered and, as it was answered, kept."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from assay.catalog.selectors import home
from assay.models import Dataset
from assay.windows import Window
from incident_manager.models import Incident, LookUp, Report, SpoiltWindow
from incident_manager.quality.rules import Answer, Asked, concerns, judge
from incident_manager.quality.selectors import claim, known_of, spoilt_fact


@dataclass(frozen=True, kw_only=True)
class LookUpAnswer:
    """What is known of a range of a dataset in one datacenter."""

    dataset: Dataset
    window: Window
    datacenter: str
    query: UUID
    quality: Answer
    spoilt: tuple[SpoiltWindow, ...]
    reports: tuple[Report, ...]  # claimed, and not confirmed yet

    @property
    def failed(self) -> bool:
        """Whether any of it is spoilt: the quality of queries counts incidents alone."""
        return bool(self.spoilt)

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The incidents that spoilt it."""
        return tuple({window.incident_id: window.incident for window in self.spoilt}.values())


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
    asked = Asked(window=window, datacenter=datacenter or at_home)
    known = known_of(dataset, window, home=at_home, now=now)
    spoilt = ((row, spoilt_fact(row)) for row in known.spoilt)
    claims = ((row.incident.report, claim(row)) for row in known.claims)
    reports = {report.pk: report for report, fact in claims if concerns(asked, fact.datacenter, [fact.window])}
    answer = LookUpAnswer(
        dataset=dataset,
        window=window,
        datacenter=datacenter or at_home,
        query=query or uuid4(),
        quality=judge(known.facts, asked),
        spoilt=tuple(row for row, fact in spoilt if concerns(asked, fact.datacenter, fact.windows)),
        reports=tuple(reports.values()),
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
