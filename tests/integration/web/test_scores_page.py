"""What the page of scores has beside figures: days by tier and team, and noisy tests."""

import re

import pytest
from django.test import Client

from alerting.models import Flip, Standing
from assay import clock
from assay.models import DataTest
from incident_manager.models import Incident
from incident_manager.scores import metric_reporter
from incident_manager.scores.metric_reporter import BY_DAY, Group, overview
from incident_manager.scores.noisy_tests import noisy_tests
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    NoticeFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)

pytestmark = pytest.mark.django_db


def covered(name: str, *, team: str, tier: int) -> DataTest:
    dataset = DatasetFactory.create(name=name, team=team, tier=tier)
    test: DataTest = DataTestFactory.create(dataset=dataset, name=f"test of {name}", created_at=NOW - 60 * DAY)
    StandingFactory.create(data_test=test)
    return test


def broken(test: DataTest, hours_ago: float, hours: float, *, how: str = "auto") -> Incident:
    """An incident of a test that was open for so many hours."""
    start, end = NOW - hours_ago * HOUR, NOW - (hours_ago - hours) * HOUR
    ended = {"detected_at": start, "resolved_at": end, "resolution": how, "open_key": None}
    incident: Incident = IncidentFactory.create(dataset=test.dataset, **ended)
    SpoiltWindowFactory.create(incident=incident, data_test=test, window=day("2026-03-09"), healed_at=end, how=how)
    return incident


def test_each_day_of_a_tier_and_of_a_team_has_the_score_that_the_day_alone_has() -> None:
    trips, fares = covered("trips", team="rides", tier=1), covered("fares", team="money", tier=2)
    broken(trips, 40, 30)
    broken(trips, 15, 1)
    broken(fares, 100, 3)
    broken(fares, 13, 2, how="forced")
    found = overview(Group.CATEGORY, start=NOW - 5 * DAY, end=NOW, now=NOW, parts=5, most=5)
    assert [f"{start:%d %H}" for start in found.days] == ["06 00", "07 00", "08 00", "09 00", "10 00", "10 12"]
    for group in BY_DAY:
        for at, (start, end) in enumerate(zip(found.days, found.days[1:], strict=False)):
            alone = {
                row.name: row.total for row in metric_reporter.scores(start=start, end=end, now=NOW, by=group).groups
            }
            scored = {row.name: row.parts[at] for row in found.by_day[group]}
            assert {name: scored[name] for name in alone} == alone, (group, start)


def test_a_day_of_a_team_leads_to_its_incidents(pages: Client) -> None:
    clock.simulate(NOW)
    incident = broken(covered("trips", team="rides & co", tier=1), 36, 6)  # from midnight on, a quarter of the day
    broken(covered("fares", team="money", tier=1), 36, 6)
    page = pages.get("/scores").content.decode()
    (address,) = re.findall(r'<td class="h4"><a href="([^"]*of=rides[^"]*)">25</a></td>', page)
    assert [row.pk for row in pages.get(address.replace("&amp;", "&")).context["incidents"]] == [incident.pk]
    assert 'by=tier&amp;of=1&amp;from=2026-03-09T00:00&amp;to=2026-03-10T00:00">25</a>' in page


def passed(test: DataTest, hours_ago: float) -> None:
    """A warning that was no alarm."""
    standing = Standing.objects.get(data_test=test)
    window = {"window_start": standing.window_start, "window_end": standing.window_end}
    flip = {"old": "WARN", "new": "PASS", "at": NOW - hours_ago * HOUR}
    Flip.objects.create(standing=standing, data_test=test, revision=standing.revision, **window, **flip)


def test_tests_are_as_noisy_as_their_alarms_were_false_then_muted_then_warnings_that_passed(pages: Client) -> None:
    clock.simulate(NOW)
    names = ("false", "falser", "muted", "warned", "right", "hidden", "retired")
    tests = {name: covered(name, team="rides", tier=1) for name in names}
    broken(tests["false"], 30, 2, how="forced")
    broken(tests["falser"], 30, 1)
    newest = broken(tests["falser"], 30, 3, how="redefined")
    alert = broken(tests["muted"], 30, 20).alert
    for at in (5, 6, 60 * 24):  # one of them before the range
        suppressed = {"suppressed": "silenced", "settled_at": NOW - at * HOUR, "sent_at": None}
        NoticeFactory.create(alert=alert, **suppressed)
    passed(tests["warned"], 3)
    passed(tests["warned"], 40 * 24)
    broken(tests["right"], 30, 20)
    for name in ("hidden", "retired"):
        broken(tests[name], 30, 20, how="forced")
    DataTest.objects.filter(pk=tests["retired"].pk).update(retired_at=NOW)
    hidden = [tests["hidden"].dataset_id]
    found = noisy_tests(start=NOW - 28 * DAY, end=NOW, most=4, hidden=hidden)
    assert [test.pk for test, _ in found] == [tests[name].pk for name in ("falser", "false", "muted", "warned")]
    falser, _, muted, warned = (noise for _, noise in found)
    assert (falser.false_alarms, falser.alarms, falser.false_time) == (1, 2, 3 * HOUR)
    assert (muted.muted, warned.warnings) == (2, 1)
    page = pages.get("/scores").content.decode()
    assert "1 of 2 bad windows were false alarms, for 3 h" in page
    assert f"/silences?incident={newest.pk}#new-title" in page
    assert f"/datasets/raw.falser/tests/{tests['falser'].pk}/edit" in page
