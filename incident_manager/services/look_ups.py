"""Consumers' questions: may this data be used? Each is answered and, as it was answered, kept."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from assay.catalog.selectors import home
from assay.models import Dataset
from assay.windows import Window
from incident_manager.models import Incident, LookUp, Report, SpoiltWindow
from incident_manager.selectors import known_wrong


@dataclass(frozen=True, kw_only=True)
class LookUpAnswer:
    """What is known to be wrong with a range of a dataset in one datacenter."""

    dataset: Dataset
    window: Window
    datacenter: str
    query: UUID
    spoilt: tuple[SpoiltWindow, ...]
    reports: tuple[Report, ...]  # claimed, and not confirmed yet

    @property
    def failed(self) -> bool:
        """Whether any of it is spoilt."""
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
    place = datacenter or home(dataset).datacenter
    spoilt, reports = known_wrong(dataset, window, place)
    answer = LookUpAnswer(
        dataset=dataset,
        window=window,
        datacenter=place,
        query=query or uuid4(),
        spoilt=tuple(spoilt),
        reports=tuple(reports),
    )
    if record:
        LookUp.objects.create(
            query=answer.query,
            dataset=dataset,
            datacenter=place,
            window_start=window.start,
            window_end=window.end,
            at=now,
            failed=answer.failed,
            incidents=[incident.pk for incident in answer.incidents],
        )
    return answer
