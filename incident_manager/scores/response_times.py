"""How long people and tests take: from bad data to its detection, from there to a person and to the repair."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
from django.db.models import F, Min, QuerySet

from assay.time.windows import Window
from incident_manager.models import Episode, Resolution, SpoiltWindow

from .facts import ScoreFilter, columns_of, ends_of, episodes_that_count, instant_text, instants_of
from .rules import FOREVER, Ints, SpellKind, microseconds


class Step(StrEnum):
    """What is timed of an incident that really was bad; the page of incidents lists by these values."""

    DETECT = "time to detect"  # from the end of the first window that its first FAIL spoils to that FAIL
    ACKNOWLEDGE = "time to acknowledge"  # from its first FAIL, or the report, to somebody who works on it
    REPAIR = "time to repair"  # how long it was open


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """The median of some incidents, None of none; ``open`` if one of them still waits, and counts up to now."""

    median: timedelta | None
    count: int
    open: bool


def step_time(times: Ints, start: datetime, end: datetime) -> StepTime:
    """That of the incidents that were detected in this part of the range."""
    *_, lengths, is_open = times[:, (times[1] >= microseconds(start)) & (times[1] < microseconds(end))]
    median = timedelta(microseconds=int(np.median(lengths))) if lengths.size else None
    return StepTime(median=median, count=int(lengths.size), open=bool(is_open.any()))


def step_times(scope: ScoreFilter, span: Window, now: datetime) -> Mapping[Step, Ints]:
    """The times of the incidents that were detected in the range, in two statements.

    Each as rows of numbers, of shape (4, n): incidents, when they were detected, how long the step took in
    microseconds, and whether it is still to come. False alarms and what was withdrawn are left out of all. So are, of
    the time to detect, reports, tests of the whole table and windows from before their test was written; of the time
    to acknowledge what ended without; of the time to repair what was accepted.
    """
    begun = {"incident__detected_at__gte": span.start, "incident__detected_at__lt": span.end}
    texts = {name: instant_text(F(f"incident__{name}")) for name in ("detected_at", "acknowledged_at")}
    texts |= {name: instant_text(F(name)) for name in ("opened_at", "closed_at")}
    rows = scope.narrow(Episode.objects.filter(**begun), of="incident__", who="incident__")
    pks, kinds, resolutions, detections, acknowledgements, openings, closings = columns_of(
        episodes_that_count(rows).annotate(**{f"{name}_text": text for name, text in texts.items()}),
        *("incident", "spell", "incident__resolution", *(f"{name}_text" for name in texts)),
    )
    incidents, first, of = np.unique(np.array(pks, dtype=np.int64), return_index=True, return_inverse=True)
    kind, instant, closed = np.array(kinds, dtype=np.int64)[first], microseconds(now), ends_of(closings)
    lengths, is_open = np.zeros((2, len(incidents)), dtype=np.int64)
    np.add.at(lengths, of, np.minimum(closed, instant) - instants_of(openings))
    is_open[of[closed == FOREVER]] = 1
    detected, acknowledged = instants_of(detections)[first], ends_of(acknowledgements)[first]
    accepted = np.array(resolutions, dtype=object)[first] == Resolution.ACCEPTED
    real = np.isin(kind, (SpellKind.REAL, SpellKind.REPORTED))
    spoilt = scope.narrow(SpoiltWindow.objects.filter(**begun), of="incident__", who="incident__")
    bad_since = _first_ends(incidents, spoilt)
    waits = (acknowledged == FOREVER) & (is_open == 1)
    timed = (kind == SpellKind.REAL) & (bad_since != FOREVER)
    until, counts = np.minimum(acknowledged, instant), waits | (acknowledged != FOREVER)
    detection = np.stack([incidents, detected, np.maximum(detected - bad_since, 0), np.zeros_like(is_open)])
    return {
        Step.DETECT: detection[:, timed],
        Step.ACKNOWLEDGE: np.stack([incidents, detected, until - detected, waits])[:, real & counts],
        Step.REPAIR: np.stack([incidents, detected, lengths, is_open])[:, real & ~accepted],
    }


def _first_ends(incidents: Ints, spoilt: QuerySet[SpoiltWindow]) -> Ints:
    """When the first window ended that the first FAIL of each incident spoilt; FOREVER where it tells nothing."""
    first = spoilt.filter(spoilt_at__lte=F("incident__detected_at"), whole_table=False)
    judged = first.filter(data_test__created_at__lt=F("window_end")).order_by().values("incident")
    pks, ends = columns_of(judged.annotate(first=instant_text(Min("window_end"))), "incident", "first")
    by_incident = dict(zip(pks, instants_of(ends).tolist(), strict=True))
    return np.array([by_incident.get(pk, FOREVER) for pk in incidents.tolist()], dtype=np.int64)
