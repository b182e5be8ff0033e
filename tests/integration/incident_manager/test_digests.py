"""The digest of a team: its figures are those of the API, and each team is told of its week once."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from rest_framework.test import APIClient

from alerting.models import Flip, Notice
from assay import clock
from assay.models import Category, Dataset, DataTest, Round
from assay.scheduler.beat import begin_rounds
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from incident_manager.digests import WeekFigures, figures_of, html, share, subject, text
from incident_manager.models import Episode, Incident
from test_generator.models import Gap
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, IncidentFactory, StandingFactory, day
from tests.integration.rows import measurement
from tests.integration.story import settle, start

pytestmark = pytest.mark.django_db

SUNDAY = day("2026-03-08")


@pytest.fixture
def trips() -> list[DataTest]:
    """Tests of three tables of the team trips; those of other teams are worse."""
    start(NOW)
    tests = []
    for name, team in (("a", "trips"), ("b", "trips"), ("c", "trips"), ("z", "rides")):
        table = DatasetFactory.create(name=name, team=team)
        test = DataTestFactory.create(dataset=table, name=f"test-{name}", origin="generated")
        StandingFactory.create(data_test=test, state="PASS", last_outcome="held", window=SUNDAY)
        tests.append(test)
        Gap.objects.create(dataset=table, category=Category.DUPLICATES, reason="no primary key", since=NOW - DAY)
    for test, ended in ((tests[0], None), (tests[1], NOW - DAY), (tests[3], None)):
        IncidentFactory.create(
            dataset=test.dataset,
            detected_at=NOW - 2 * DAY,
            resolved_at=ended,
            resolution="auto" if ended else "",
            open_key=None if ended else f"{test.dataset_id}:custom",
        )
    for test, times in ((tests[0], 3), (tests[1], 1), (tests[3], 9)):
        standing = StandingFactory.create(data_test=test, state="FAIL", window=day("2026-03-07"))
        for number in range(times):
            Flip.objects.create(
                standing=standing,
                data_test=test,
                revision=standing.revision,
                window_start=standing.window_start,
                window_end=standing.window_end,
                old="PASS",
                new="FAIL",
                at=NOW - (number + 1) * HOUR,
                handled_at=NOW,
            )
    return tests


def test_the_figures_are_those_that_the_api_answers(trips: list[DataTest]) -> None:
    api = APIClient()
    api.force_authenticate(User.objects.create_superuser("grace"))
    found = figures_of("trips", now=NOW)
    asked = {"team": "trips", "from": (NOW - 7 * DAY).isoformat(), "to": NOW.isoformat()}
    total = api.get("/api/v1/scores", asked).json()["total"]
    assert (found.quality, found.precision, found.recall) == (
        total["data_quality"],
        total["precision"],
        total["recall"],
    )
    assert found.quality is not None
    assert 0 < found.quality < 1
    tiers = [row for row in api.get("/api/v1/coverage", {"team": "trips"}).json()["tiers"] if row["datasets"]]
    told = [(each.tier, each.live, each.wanted + each.gaps, each.share, each.target) for each in found.coverage]
    assert told == [(r["tier"], r["live"], r["wanted"] + r["gaps"], r["share"], r["target"]) for r in tiers]
    assert sum(row["gaps"] for row in tiers) == len(found.gaps) == 3
    rows = api.get("/api/v1/incidents").json()["results"]
    mine = {"raw.a", "raw.b", "raw.c"}
    still_open = {row["dataset"] for row in rows if row["resolved_at"] is None and row["dataset"] in mine}
    assert {each.dataset.full_name for each in found.incidents} == still_open == {"raw.a"}


def test_noisy_tests_are_those_that_failed_more_than_once(trips: list[DataTest]) -> None:
    assert [*figures_of("trips", now=NOW).noisy] == [("raw.a", "test-a", 3)]


def took(test: DataTest, hours: int) -> None:
    measurement(test.dataset, SUNDAY, spec=TIME_TO_COMPLETE, value=hours * 3600.0, measured_at=NOW)


def test_the_slowest_tables_come_by_how_much_of_their_time_they_took(trips: list[DataTest]) -> None:
    for test, hours in zip(trips, (1, 5, 3, 9), strict=True):
        took(test, hours)
    found = figures_of("trips", now=NOW).slowest
    assert [(dataset, took) for dataset, took, _ in found] == [
        ("raw.b", "5h of 6h"),
        ("raw.c", "3h of 6h"),
        ("raw.a", "1h of 6h"),
    ]


def test_a_back_fill_makes_no_table_slow(trips: list[DataTest]) -> None:
    took(trips[0], 150)
    assert figures_of("trips", now=NOW).slowest == []


def test_while_an_incident_is_open_precision_and_recall_are_provisional(trips: list[DataTest]) -> None:
    assert "Both are provisional: incidents are still open." in text(figures_of("trips", now=NOW))
    Incident.objects.update(resolved_at=NOW - HOUR, resolution="auto")
    Episode.objects.update(closed_at=NOW - HOUR)
    assert "provisional" not in text(figures_of("trips", now=NOW))


def test_each_team_is_told_of_its_week_once_on_its_day(trips: list[DataTest]) -> None:
    start(NOW.replace(hour=5))  # on a Tuesday
    digests = Round.objects.filter(name="digest")
    begin_rounds(clock.now())
    assert digests.get().due_at == NOW.replace(hour=6)
    clock.simulate(NOW.replace(hour=6))
    settle()
    assert not Notice.objects.exists()
    monday = NOW.replace(hour=6) + 6 * DAY
    clock.simulate(monday)
    settle()
    digests.update(due_at=monday)  # as if its worker had died before it was done
    settle()
    assert sorted(Notice.objects.values_list("recipient", flat=True)) == ["rides", "trips"]
    row = Notice.objects.get(recipient="trips")
    assert (row.sent_at, row.event) == (monday, "digest")
    assert row.html.startswith("<!doctype html>")
    assert digests.get().due_at == monday + DAY


def test_the_command_shows_a_digest_and_sends_nothing(trips: list[DataTest], capsys: Any) -> None:
    with pytest.raises(SystemExit):
        call_command("digest", "trips")
    shown = capsys.readouterr().out
    assert "Open incidents\n- [tier 2] raw.a: custom since 2026-03-08 12:00 UTC, nobody has taken it up" in shown
    with pytest.raises(SystemExit):
        call_command("digest", "trips", html=True)
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert not Notice.objects.exists()


def test_a_team_that_no_dataset_has_is_refused_with_those_there_are(trips: list[DataTest], capsys: Any) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("digest", "nobody")
    assert left.value.code == 3
    assert "no dataset has the team 'nobody'; teams: rides, trips" in capsys.readouterr().err


HOSTILE = "<script>alert(1)</script> <!channel>\nForged: line"


def test_nothing_that_data_says_is_markup_in_a_digest() -> None:
    dataset = Dataset(full_name=HOSTILE, owner=HOSTILE)
    hostile = Incident(dataset=dataset, category="custom", tier=1, owner=HOSTILE, detected_at=NOW)
    figures = WeekFigures(
        team=HOSTILE,
        start=NOW - 7 * DAY,
        end=NOW,
        quality=0.9999,
        precision=None,
        recall=1.0,
        incidents=(hostile,) * 12,
    )
    page = html(figures)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\nForged" not in text(figures)
    assert "\n" not in subject(figures)
    assert "- and 2 more" in text(figures)
    assert (share(0.9999), share(1.0), share(None)) == ("99.9 %", "100 %", "unknown")
