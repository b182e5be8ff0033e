"""How long detection, acknowledgement and repair take, against a count by hand of one incident after the other."""

import random
from datetime import datetime, timedelta
from statistics import median
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.time.windows import Window
from incident_manager.models import EntryKind, Episode, Incident, ReportState
from incident_manager.scores.metric_reporter import Counted, Group, incidents_counted, overview
from incident_manager.scores.response_times import Step
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    ReportFactory,
    SpoiltWindowFactory,
)

pytestmark = pytest.mark.django_db

START, END = NOW - 10 * DAY, NOW - 2 * DAY
STEPS = {"detect": Step.DETECT, "acknowledge": Step.ACKNOWLEDGE, "repair": Step.REPAIR}


def times_by_hand(incident: Incident) -> dict[Step, tuple[timedelta, bool]]:
    """How long each step of one incident took, and whether it still waits; without those that do not count."""
    is_confirmed = incident.all_reports().filter(state__in=[ReportState.CONFIRMED, ReportState.FIXED]).exists()
    is_found = incident.kind == EntryKind.DETECTED
    if incident.resolution in ("forced", "rejected", "redefined", "withdrawn") or not (is_found or is_confirmed):
        return {}
    times = {}
    ends = [
        spoilt.window_end
        for spoilt in incident.spoilt_windows.all()
        if spoilt.data_test
        and not spoilt.whole_table
        and spoilt.data_test.created_at < spoilt.window_end
        and spoilt.spoilt_at <= incident.detected_at
    ]
    if is_found and ends:
        times[Step.DETECT] = max(incident.detected_at - min(ends), timedelta(0)), False
    if incident.acknowledged_at:
        times[Step.ACKNOWLEDGE] = incident.acknowledged_at - incident.detected_at, False
    elif incident.resolved_at is None:
        times[Step.ACKNOWLEDGE] = NOW - incident.detected_at, True
    if incident.resolution != "accepted":
        lengths = [(episode.closed_at or NOW) - episode.opened_at for episode in incident.episodes.all()]
        times[Step.REPAIR] = sum(lengths, timedelta(0)), incident.resolved_at is None
    return times


def incident_by_chance(chance: random.Random, n: int) -> None:
    detected = START - 2 * DAY + timedelta(seconds=chance.randrange(12 * 86400))
    how = chance.choice(["auto", "auto", "accepted", "forced", "redefined", "withdrawn", "", ""])
    resolved = detected + timedelta(seconds=chance.randrange(1, 86400)) if how else None
    is_found = chance.random() < 0.8
    how = how if is_found or not how else "fixed"
    incident = IncidentFactory.create(
        dataset=DatasetFactory.create(name=f"t{n}", tier=n % 3),
        kind=EntryKind.DETECTED if is_found else EntryKind.REPORTED,
        open_key=None if how else f"{n}",
        detected_at=detected,
        resolved_at=resolved,
        resolution=how,
        acknowledged_at=detected + timedelta(seconds=chance.randrange(3600)) if chance.random() < 0.6 else None,
    )
    if resolved and chance.random() < 0.4:  # it was opened again
        again = {"opened_at": resolved + HOUR, "closed_at": resolved + 3 * HOUR}
        Episode.objects.create(incident=incident, **again)
        Incident.objects.filter(pk=incident.pk).update(resolved_at=again["closed_at"])
    if not is_found:
        state = chance.choice([ReportState.CONFIRMED, ReportState.OPEN])
        ReportFactory.create(dataset=incident.dataset, incident=incident, state=state)
    for number in range(chance.randrange(3)):
        end = detected - timedelta(hours=chance.randrange(-1, 30))
        test = DataTestFactory.create(
            dataset=incident.dataset, name=f"test{number}", created_at=end + chance.choice([-DAY, DAY])
        )
        SpoiltWindowFactory.create(
            incident=incident,
            data_test=test,
            window=Window(start=end - DAY, end=end),
            whole_table=chance.random() < 0.2,
            spoilt_at=detected + chance.choice([0, 0, 1]) * HOUR,
        )


@pytest.mark.parametrize("seed", range(4))
def test_the_api_gives_the_medians_that_a_count_by_hand_gives(api: APIClient, seed: int) -> None:
    clock.simulate(NOW)
    chance = random.Random(seed)
    for n in range(40):
        incident_by_chance(chance, n)
    query = {"from": START.isoformat(), "to": END.isoformat()}
    narrowings: list[dict[str, str]] = [{}, {"tier": "1"}]
    for narrowing in narrowings:
        answer = api.get("/api/v1/scores", {**query, **narrowing}).json()["times"]
        rows = Incident.objects.filter(detected_at__gte=START, detected_at__lt=END, **narrowing)
        counted = [(incident.pk, times_by_hand(incident)) for incident in rows]
        for name, step in STEPS.items():
            times = {pk: own[step] for pk, own in counted if step in own}
            lengths = [length.total_seconds() for length, _ in times.values()]
            assert answer[name]["count"] == len(lengths)
            assert answer[name]["median"] == pytest.approx(median(lengths), abs=1e-5)
            assert answer[name]["open"] == any(is_open for _, is_open in times.values())
            if not narrowing:
                longest_first = sorted(times, key=lambda pk: (-times[pk][0], pk))
                assert incidents_counted(step, start=START, end=END, now=NOW) == longest_first


def test_nothing_that_happened_has_no_times(api: APIClient, pages: Client) -> None:
    clock.simulate(NOW)
    answer = api.get("/api/v1/scores", {"from": START.isoformat(), "to": END.isoformat()}).json()["times"]
    assert answer == {name: {"median": None, "count": 0, "open": False} for name in STEPS}
    assert "Time to repair" in pages.get("/scores").content.decode()


def closed(name: str, start: datetime, end: datetime, how: str, **more: Any) -> Incident:
    ended = {"detected_at": start, "resolved_at": end, "resolution": how, "open_key": None}
    incident: Incident = IncidentFactory.create(dataset=DatasetFactory.create(name=name, **more), **ended)
    return incident


def test_a_figure_of_the_scores_leads_to_its_incidents_what_counts_longest_first(pages: Client) -> None:
    clock.simulate(NOW)
    short = closed("short", NOW - 5 * HOUR, NOW - 4 * HOUR, "auto", team="rides")
    long = closed("long", NOW - 9 * HOUR, NOW - 4 * HOUR, "auto", team="money")
    wrong = closed("wrong", NOW - 9 * HOUR, NOW - 8 * HOUR, "forced", team="rides")
    closed("before", NOW - 40 * DAY, NOW - 39 * DAY, "auto")
    missed = IncidentFactory.create(dataset=DatasetFactory.create(name="missed", team="rides"), kind=EntryKind.REPORTED)
    ReportFactory.create(dataset=missed.dataset, incident=missed, state=ReportState.CONFIRMED)
    page = pages.get("/scores").content.decode()
    assert '?counts=missed&amp;from=2026-02-10T12:00:00">Missed for 5 h</a>' in page
    for query, incidents in {
        "counts=missed": [missed],
        "counts=bad": [long, missed, short],
        "counts=false alarm": [wrong],
        "counts=bad&by=team&of=rides": [missed, short],
        "counts=bad&by=team&of=rides&q=short": [short],
        "counts=bad&state=open": [missed],
        "counts=bad&from=2026-03-10T07:30&to=2026-03-10T09:00:00": [missed, short, long],
        "counts=time to repair": [long, missed, short],
        "counts=bad&page=2": [],
        "counts=bad&from=2099-01-01T00:00": [],
        "counts=time to repair&to=2020-01-01T00:00": [],
    }.items():
        response = pages.get(f"/incidents?{query}")
        assert [row.pk for row in response.context["incidents"]] == [row.pk for row in incidents], query
    assert "The range of time cannot be read" in pages.get("/incidents?counts=bad&from=x").content.decode()


@pytest.mark.parametrize("group", [Group.CATEGORY, Group.TIER, Group.TEAM, Group.OWNER])
def test_the_incidents_of_all_groups_are_those_of_the_whole(group: Group) -> None:
    closed("a", NOW - 5 * HOUR, NOW, "auto", team="x", owner="ada", tier=1)
    closed("b", NOW - 5 * HOUR, NOW, "auto", team="y", owner="bo", tier=2)
    asked: Any = {"start": START, "end": NOW, "now": NOW}
    names = [row.name for row in overview(group, **asked, parts=1, most=1).groups]
    of_groups = [pk for name in names for pk in incidents_counted(Counted.BAD, **asked, by=group, name=name)]
    assert of_groups == incidents_counted(Counted.BAD, **asked) != []
