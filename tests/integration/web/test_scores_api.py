"""How good data and tests were: the same figure from the API, every page and the command."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from assay import clock
from assay.catalog.services import record_completion
from assay.models import Dataset
from incident_manager.models import Episode, Incident
from incident_manager.scores import metric_reporter
from incident_manager.scores.metric_reporter import Group, overview
from incident_manager.services import confirm_report, report
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.unit.incident_manager.scores_by_intervals import combine

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
LONG_AGO = NOW - 60 * DAY


def judged(*categories: str, since: datetime = LONG_AGO, **more: Any) -> Dataset:
    dataset = DatasetFactory.create(**more)
    for category in categories:
        StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset, category=category, created_at=since))
    return dataset


def bad(dataset: Dataset, category: str, start: datetime, end: datetime) -> Incident:
    """An incident that tests found, and that resolved by itself."""
    ended = {"detected_at": start, "resolved_at": end, "resolution": "auto", "open_key": None}
    incident = IncidentFactory.create(dataset=dataset, category=category, **ended)
    SpoiltWindowFactory.create(incident=incident, window=MONDAY, healed_at=end, how="auto")
    return incident


def completed(dataset: Dataset, pipeline: str) -> None:
    """Its Monday was written two hours ago."""
    record_completion(dataset=dataset, datacenter="sea", window=MONDAY, pipeline=pipeline, now=NOW - 2 * HOUR)


def claimed(dataset: Dataset) -> None:
    """Eve said half a day ago that its Monday is late, and its owner agreed."""
    claim = report(dataset=dataset, window=MONDAY, reporter="eve", description="late", now=NOW - 12 * HOUR, saw="late")
    confirm_report(claim, author="ada", now=NOW - 11 * HOUR)


def scores(api: APIClient, start: datetime, end: datetime, **more: str) -> Any:
    clock.simulate(end)
    return api.get("/api/v1/scores", {"from": start.isoformat(), "to": end.isoformat(), **more}).json()


def test_twelve_bad_hours_of_a_day_are_half_a_day_in_however_many_categories(api: APIClient) -> None:
    dataset = judged("freshness", "completeness", "custom")
    for category in ("freshness", "completeness"):
        bad(dataset, category, NOW - DAY, NOW - DAY / 2)
    total = scores(api, NOW - DAY, NOW)["total"]
    assert (total["data_quality"], total["bad"]) == (0.5, 12 * 3600)
    judged("duplicates")  # another dataset, which was good
    assert scores(api, NOW - DAY, NOW)["total"]["data_quality"] == 0.75


def test_pages_api_and_command_say_one_figure(
    api: APIClient, pages: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    clock.simulate(NOW)
    dataset = judged("freshness", "completeness", "custom", name="trips")
    for category in ("freshness", "completeness"):
        bad(dataset, category, NOW - 7 * DAY, NOW)
    assert scores(api, NOW - 28 * DAY, NOW, dataset="raw.trips")["total"]["data_quality"] == 0.75
    capsys.readouterr()
    with pytest.raises(SystemExit):
        call_command("report", "--json")
    assert json.loads(capsys.readouterr().out)["total"]["data_quality"] == 0.75
    for address in ("/", "/datasets/raw.trips", "/scores"):
        assert "75.0 %" in pages.get(address).content.decode(), address


def test_a_test_that_was_retired_and_written_again_counts_from_the_first(api: APIClient) -> None:
    dataset = judged("custom", since=NOW - HOUR)
    DataTestFactory.create(dataset=dataset, created_at=NOW - 20 * HOUR, retired_at=NOW - 10 * HOUR)
    bad(dataset, "custom", NOW - 5 * HOUR, NOW)
    assert scores(api, NOW - DAY, NOW)["total"]["data_quality"] == 0.75


def test_a_dataset_whose_tests_have_judged_nothing_yet_has_no_quality(api: APIClient, pages: Client) -> None:
    dataset = DatasetFactory.create(name="new")
    StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset), state="UNKNOWN", last_outcome="")
    DatasetFactory.create(name="without_tests")
    answer = scores(api, NOW - DAY, NOW)
    assert [(row["dataset"], row["data_quality"]) for row in answer["datasets"]] == [("raw.new", None)]
    assert answer["total"]["data_quality"] is None
    for address in ("/", "/datasets/raw.new", "/datasets/raw.without_tests", "/scores"):
        page = pages.get(address).content.decode()
        assert "not tested" in page, address
        assert "100 %" not in page, address


@pytest.mark.parametrize(("origin", "quality"), [("generated", None), ("user", 1.0)])
def test_that_no_row_lies_outside_the_partitions_tests_none_inside(
    api: APIClient, origin: str, quality: float | None
) -> None:
    stray = DataTestFactory.create(name="unpartitioned:whole", category="completeness", origin=origin)
    StandingFactory.create(data_test=stray)
    assert scores(api, NOW - DAY, NOW)["total"]["data_quality"] == quality


def reported(api: APIClient, dataset: Dataset, at: datetime, **more: str) -> int:
    """The id of a report that its owner confirms at once."""
    clock.simulate(at)
    body = {"dataset": dataset.full_name, "window": MONDAY.text, "description": "Half of it is missing.", **more}
    answer = api.post("/api/v1/reports", body, format="json")
    assert answer.status_code == 201, answer.content
    assert api.post(f"/api/v1/reports/{answer.json()['id']}/confirm", {}, format="json").status_code == 200
    return int(answer.json()["id"])


def fixed(api: APIClient, report: int, at: datetime) -> None:
    clock.simulate(at)
    assert api.post(f"/api/v1/reports/{report}/fix", {}, format="json").status_code == 200


def test_a_report_an_hour_before_a_test_found_it_is_missed_for_that_hour_alone(api: APIClient) -> None:
    dataset = judged("completeness", "custom")
    report = reported(api, dataset, NOW)
    bad(dataset, "completeness", NOW + HOUR, NOW + 12 * HOUR)
    fixed(api, report, NOW + 12 * HOUR)
    total = scores(api, NOW, NOW + DAY)["total"]
    assert (total["recall"], total["data_quality"]) == (pytest.approx(11 / 12), 0.5)


@pytest.mark.parametrize(
    ("saw", "category"),
    [
        ("late", "freshness"),
        ("rows missing", "completeness"),
        ("rows twice", "duplicates"),
        ("copies differ", "consistency"),
        ("values wrong", "custom"),
        ("something else", "custom"),
    ],
)
def test_a_report_scores_in_the_category_of_what_was_seen(api: APIClient, saw: str, category: str) -> None:
    dataset = judged(category)
    report = reported(api, dataset, NOW, saw=saw)
    bad(dataset, category, NOW + HOUR, NOW + 12 * HOUR)
    fixed(api, report, NOW + 12 * HOUR)
    ((row,),) = (row["categories"] for row in scores(api, NOW, NOW + DAY)["datasets"])
    assert (row["category"], row["recall"]) == (category, pytest.approx(11 / 12))
    assert api.get(f"/api/v1/reports/{report}").json()["saw"] == saw


def test_an_incident_of_another_team_shortens_a_miss_all_the_same(api: APIClient) -> None:
    dataset = judged("completeness")
    Incident.objects.filter(pk=bad(dataset, "completeness", NOW + HOUR, NOW + 12 * HOUR).pk).update(owner="bob")
    fixed(api, reported(api, dataset, NOW, saw="rows missing"), NOW + 12 * HOUR)
    ours = scores(api, NOW, NOW + DAY, owner="ada")["total"]
    assert (ours["true_positive"], ours["false_negative"]) == (0, 3600)


def test_a_query_over_three_tables_is_one_and_fails_by_any_of_them(api: APIClient) -> None:
    clock.simulate(NOW)
    tables = [judged("custom", name=f"t{n}") for n in range(3)]
    SpoiltWindowFactory.create(incident__dataset=tables[1], window=MONDAY)
    sql = "select * from raw.t0 join raw.t1 using (id) join raw.t2 using (id)"
    assert api.post("/api/v1/quality/query", {"sql": sql}, format="json").json()["status"] == "bad"
    asked = scores(api, NOW - HOUR, NOW + timedelta(minutes=1))["look_ups"]
    assert (asked["total"], asked["failed"], asked["quality"]) == (1, 1, 0.0)
    Incident.objects.update(resolved_at=NOW, resolution="forced")
    assert scores(api, NOW - HOUR, NOW + timedelta(minutes=1))["look_ups"]["quality_without_forced"] == 1.0


@pytest.mark.parametrize(
    ("group", "names"),
    [
        (Group.CATEGORY, ["custom", "freshness"]),
        (Group.TIER, ["1", "2", "3", "5"]),
        (Group.TEAM, ["money", "rides"]),
        (Group.OWNER, ["ada", "eve", "joan"]),
    ],
)
def test_the_scores_of_a_group_are_those_that_the_api_gives_for_it(
    api: APIClient, group: Group, names: list[str]
) -> None:
    trips = judged("freshness", "custom", name="trips", tier=1, team="rides", owner="ada")
    fares = judged("freshness", name="fares", tier=1, team="money", owner="joan")
    judged("custom", name="calm", tier=3, team="rides", owner="eve")
    judged("custom", name="alone", tier=5, team="", owner="eve")
    bad(trips, "freshness", NOW - 9 * HOUR, NOW - 5 * HOUR)
    bad(trips, "custom", NOW - 7 * HOUR, NOW - 1 * HOUR)
    bad(fares, "freshness", NOW - 30 * HOUR, NOW - 20 * HOUR)
    moved = bad(fares, "custom", NOW - 3 * HOUR, NOW - 2 * HOUR)  # it was another's then
    Incident.objects.filter(pk=moved.pk).update(team="rides", owner="eve", tier=2)
    claimed(trips)
    groups = overview(group, start=NOW - 2 * DAY, end=NOW, now=NOW, parts=4, most=0).groups
    assert [row.name for row in groups] == names
    for row in groups:
        times = {"bad": row.total.bad, "tested": row.total.total, "false_negative": row.total.false_negative}
        shares = {"precision": row.total.precision, "recall": row.total.recall}
        answer = scores(api, NOW - 2 * DAY, NOW, **{group.value: row.name})["total"]
        assert answer | shares | {name: time.total_seconds() for name, time in times.items()} == answer
        assert row.total == combine(row.parts)


@pytest.mark.parametrize("group", list(Group))
def test_an_overview_says_what_the_scores_say(group: Group) -> None:
    trips = judged("freshness", "custom", name="trips", team="rides")
    fares = judged("custom", name="fares", team="money")
    for name in ("calm", "alone"):
        judged("custom", name=name, team="rides")
    bad(trips, "freshness", NOW - 9 * HOUR, NOW - 5 * HOUR)
    bad(trips, "custom", NOW - 7 * HOUR, NOW - 1 * HOUR)
    bad(fares, "custom", NOW - 40 * HOUR, NOW - 20 * HOUR)
    claimed(trips)
    found = overview(group, start=NOW - 2 * DAY, end=NOW, now=NOW, parts=4, most=3)
    alone = metric_reporter.scores(start=NOW - 2 * DAY, end=NOW, now=NOW, by=group)
    assert [(row.name, row.total) for row in found.groups] == [(row.name, row.total) for row in alone.groups]
    assert (found.total, found.queries) == (alone.total, alone.queries)
    of = {row.dataset: row.score for row in alone.rows}
    assert found.worst == [(name, of[name]) for name in ("raw.fares", "raw.trips", "raw.alone")]


@pytest.mark.parametrize("group", list(Group))
def test_an_overview_takes_as_many_statements_however_many_groups_there_are(group: Group) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            overview(group, start=NOW - 2 * DAY, end=NOW, now=NOW, parts=4, most=50)
        return len(seen.captured_queries)

    def another(n: int) -> None:
        dataset = judged("freshness", "custom", name=f"t{n}", team=f"team {n}", owner=f"owner {n}", tier=n)
        bad(dataset, "custom", NOW - 9 * HOUR, NOW - 5 * HOUR)
        completed(dataset, f"p{n}")

    another(0)
    with_one = statements()
    for n in range(1, 5):
        another(n)
    assert statements() == with_one


@pytest.mark.parametrize(
    ("state", "outcome", "is_tested"),
    [
        ("PASS", "held", True),
        ("FAIL", "broken", True),
        ("UNKNOWN", "held", True),  # nobody knows whether it still holds
        ("PENDING", "broken", True),  # before it was due
        ("UNKNOWN", "", False),
        ("LEARNING", "", False),
    ],
)
def test_a_dataset_is_tested_once_any_of_its_tests_has_held_or_broken(
    state: str, outcome: str, is_tested: bool
) -> None:
    dataset = DatasetFactory.create(name="trips")
    tests = [DataTestFactory.create(dataset=dataset, name=name, created_at=LONG_AGO) for name in "ab"]
    StandingFactory.create(data_test=tests[1], state=state, last_outcome=outcome)
    (row,) = metric_reporter.scores(start=NOW - DAY, end=NOW, now=NOW).rows
    assert row.score.total == (DAY if is_tested else timedelta(0))
    assert row.by_category["custom"] == row.score


def test_of_an_incident_that_was_opened_again_each_time_counts_to_the_microsecond() -> None:
    incident = bad(judged("custom"), "custom", NOW - 9 * HOUR, NOW - HOUR)
    odd = timedelta(microseconds=1)
    incident.episodes.update(closed_at=NOW - 8 * HOUR + odd)
    Episode.objects.create(incident=incident, opened_at=NOW - 2 * HOUR, closed_at=NOW - HOUR)
    IncidentFactory.create(dataset=incident.dataset, category="novelty").episodes.all().delete()
    (row,) = metric_reporter.scores(start=NOW - DAY, end=NOW, now=NOW).rows
    assert row.score.bad == row.score.true_positive == 2 * HOUR + odd
    assert "novelty" not in row.by_category  # an incident that was never open
    assert not row.score.open


def test_the_page_lists_scores_by_what_one_chooses_and_leads_to_the_team(pages: Client) -> None:
    bad(judged("freshness", name="trips", team="rides & co"), "freshness", NOW - 9 * HOUR, NOW - 5 * HOUR)
    page = pages.get("/scores?by=team&days=7").content.decode()
    assert '<a href="/teams/rides%20&amp;%20co">rides &amp; co</a>' in page
    assert "Data quality: from 100 % to" in page
    team = pages.get("/teams/rides%20&%20co").content.decode()
    assert ("Team rides &amp; co" in team, "raw.trips" in team) == (True, True)
    assert "97.6 %" not in pages.get("/scores?by=nothing").content.decode()
    assert pages.get("/teams/none").status_code == 404


def test_the_datasets_are_listed_by_pages_and_the_total_is_of_all_of_them(api: APIClient) -> None:
    for name in ("a", "b", "c"):
        judged("freshness", name=name)
    bad(Dataset.objects.get(name="c"), "freshness", NOW - 12 * HOUR, NOW)
    page = scores(api, NOW - DAY, NOW, limit="1", offset="1")
    assert [(row["dataset"], len(row["categories"])) for row in page["datasets"]] == [("raw.b", 1)]
    assert (page["count"], page["total"]["bad"]) == (3, 12 * 3600)
    assert (scores(api, NOW - DAY, NOW, limit="0")["datasets"], len(scores(api, NOW - DAY, NOW)["datasets"])) == ([], 3)


def test_while_an_incident_is_open_precision_and_recall_are_marked_on_pages_and_by_the_command(
    pages: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    clock.simulate(NOW)
    IncidentFactory.create(dataset=judged("freshness", team="rides"), category="freshness", detected_at=NOW - HOUR)
    for address in ("/scores", "/teams/rides"):
        page = pages.get(address).content.decode()
        figures = 4 if address == "/scores" else 2  # with the times to acknowledge and to repair
        assert page.count('<dd><span class="so-far"') == figures, address  # not bold
        assert "100 % <small>so far</small>" in page, address
    with pytest.raises(SystemExit):
        call_command("report")
    assert "100.00% so far" in capsys.readouterr().out


def test_a_team_sees_what_is_open_and_what_nobody_tests(pages: Client) -> None:
    trips = judged("freshness", name="trips", team="rides", owner="ada")
    judged("custom", name="fares", team="money")
    IncidentFactory.create(dataset=trips, category="freshness")
    page = pages.get("/teams/rides").content.decode()
    assert (page.count("incident-card"), "raw.fares" in page) == (1, False)
    assert "People whom no channel reaches: ada" in page


def test_quality_rolls_up_by_dimension(api: APIClient) -> None:
    trips = judged("freshness", name="trips")
    for name, assertion in (("filled", "completeness(fare) >= 0.9"), ("alike", "mean(fare) > 1")):
        test = DataTestFactory.create(dataset=trips, name=name, assertion=assertion, created_at=LONG_AGO)
        StandingFactory.create(data_test=test)
    bad(trips, "freshness", NOW - 9 * HOUR, NOW - 5 * HOUR)
    custom = bad(trips, "custom", NOW - 3 * HOUR, NOW - 1 * HOUR)
    custom.spoilt_windows.update(data_test=trips.data_tests.get(name="filled"))
    groups = {row["name"]: row["bad"] / 3600 for row in scores(api, NOW - DAY, NOW, by="dimension")["groups"]}
    assert groups == {"accuracy": 0, "completeness": 2, "timeliness": 4}


def test_quality_rolls_up_by_pipeline(api: APIClient) -> None:
    trips, fares = judged("custom", name="trips"), judged("custom", name="fares")
    judged("custom", name="others")
    bad(fares, "custom", NOW - 3 * HOUR, NOW - 1 * HOUR)
    for pipeline, dataset in (("load", trips), ("load", fares), ("load", fares), ("copy", trips)):
        completed(dataset, pipeline)
    groups = {row["name"]: row["data_quality"] for row in scores(api, NOW - DAY, NOW, by="pipeline")["groups"]}
    assert groups == {"copy": 1.0, "load": pytest.approx(1 - 2 / 48)}


def test_a_test_says_of_which_dimension_it_is(api: APIClient, pages: Client) -> None:
    DataTestFactory.create(dataset=DatasetFactory.create(name="trips"), assertion="completeness(fare) >= 0.9")
    assert api.get("/api/v1/data-tests").json()["results"][0]["dimension"] == "completeness"
    assert "user · completeness" in pages.get("/datasets/raw.trips?tab=tests").content.decode()
