"""A backtest says what a test would have raised: as the live test did, alike everywhere, and it writes no result."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Alert, Flip, Notice, Standing
from assay import clock
from assay.config import config
from assay.models import Dataset, DataTest
from execution_engine import storage, tasks
from execution_engine.models import Measurement, Run
from incident_manager.models import Incident, SpoiltWindow
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import FakeEngine, rows
from tests.integration.story import advance, due, new_test, result, scheduled, start

pytestmark = pytest.mark.django_db

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
MARCH = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-14T00:00:00Z"}
RESULTS = (Standing, Flip, Incident, SpoiltWindow, Alert, Notice, Run)


@pytest.fixture
def lake(user: User) -> Iterator[FakeEngine]:
    engine = FakeEngine()
    with storage.using(engine):
        yield engine


def asked(api: APIClient, **query: Any) -> dict[str, Any]:
    answer = api.get("/api/v1/backtest", MARCH | query)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def refused(api: APIClient, **query: Any) -> str:
    answer = api.get("/api/v1/backtest", MARCH | query)
    assert answer.status_code == 400, answer.content
    return str(answer.json()["error"])


def lived_through() -> DataTest:
    """A month in which Monday broke for two days, and Tuesday for an hour."""
    test = new_test()
    start(MONDAY.end)
    scheduled(test, MONDAY, "broken", excess=5)
    result(test, MONDAY, "broken", due(MONDAY) + HOUR, excess=5)
    result(test, MONDAY, "broken", due(MONDAY) + 4 * HOUR, excess=5)
    scheduled(test, TUESDAY, "broken", excess=1)
    result(test, TUESDAY, "held", due(TUESDAY) + HOUR)
    result(test, MONDAY, "held", due(MONDAY) + 30 * HOUR)
    advance(day("2026-03-13").end)
    return test


def test_it_raises_what_the_live_test_raised(api: APIClient) -> None:
    test = lived_through()
    before = [model.objects.count() for model in RESULTS]
    found = asked(api, data_test=test.pk)
    (incident,), (live,) = found["incidents"], found["live_incidents"]
    times = {"opened_at": due(MONDAY) + 4 * HOUR, "resolved_at": due(MONDAY) + 30 * HOUR}
    raised = {name: at.isoformat() for name, at in times.items()} | {"windows": [MONDAY.text]}
    assert (incident | raised, live | raised) == (incident, live)
    assert incident["told_at"] == live["told_at"] is not None
    assert (found["precision"], found["recall"], [model.objects.count() for model in RESULTS]) == (1, 1, before)


@pytest.mark.parametrize(
    ("sustain", "incidents"),
    [
        ("2h", [(due(MONDAY) + 2 * HOUR, [MONDAY.text])]),  # nobody checked then: what was found an hour before counts
        ("30m", [(due(MONDAY) + HOUR / 2, [MONDAY.text, TUESDAY.text])]),  # Tuesday fails too, while Monday is open
        ("30h", []),  # Monday held just then
    ],
)
def test_another_sustain_opens_what_one_works_out_by_hand(api: APIClient, sustain: str, incidents: list[Any]) -> None:
    answer = asked(api, data_test=lived_through().pk, sustain=sustain)["incidents"]
    assert [(row["opened_at"], row["windows"]) for row in answer] == [(at.isoformat(), days) for at, days in incidents]


def test_a_grace_that_outlasts_it_tells_nobody(api: APIClient) -> None:
    (incident,) = asked(api, data_test=lived_through().pk, grace="1d")["incidents"]
    assert incident["told_at"] is not None
    (incident,) = asked(api, data_test=lived_through().pk, grace="27h")["incidents"]
    assert (incident["told_at"], incident["muted_by"]) == (None, "")


def filled(lake: FakeEngine, **more: Any) -> Dataset:
    table = DatasetFactory.create(name="trips", **more)
    for number in range(1, 9):
        lake.write("/lake/sea/trips", f"2026-03-{number:02d}", rows(40 if number == 5 else 100 + number))
    return table


def work() -> None:
    while tasks.plan() + tasks.scan() + tasks.evaluate():
        pass


def measured(api: APIClient, **question: Any) -> dict[str, Any]:
    assert api.post("/api/v1/backtest", MARCH | question, format="json").status_code == 202
    work()
    return question


def enough(table: Dataset) -> dict[str, Any]:
    """Whether each of its eight days has ninety rows."""
    return {"dataset": table.full_name, "assertion": "row_count() >= 90", "to": "2026-03-09T00:00:00Z"}


def test_an_assertion_that_nobody_wrote_is_measured_where_that_is_asked_for(api: APIClient, lake: FakeEngine) -> None:
    question = enough(filled(lake))
    before = asked(api, **question)
    assert (before["held"], len(before["not_measured"]), before["scans_needed"]) == (0, 8, 8)
    assert Measurement.objects.count() == 0
    ordered = api.post("/api/v1/backtest", MARCH | question, format="json")
    assert (ordered.status_code, ordered.json()["scans_needed"]) == (202, 8)
    work()
    found = asked(api, **question)
    assert (found["held"], found["broken"], found["not_measured"]) == (7, 1, [])
    (incident,) = found["incidents"]
    assert incident["opened_at"] == (day("2026-03-05").end + 6 * HOUR + timedelta(hours=4)).isoformat()
    assert all(each["measured_late"] for each in found["windows"][:6])
    assert DataTest.objects.count() == Run.objects.count() == Standing.objects.count() == 0


def test_before_the_first_partition_that_ever_existed_nothing_is_missing(
    api: APIClient, pages: Client, lake: FakeEngine
) -> None:
    table = filled(lake, first_partition="2026-03-06")
    clock.simulate(day("2026-03-08").end + 6 * HOUR)
    question = {"dataset": table.full_name, "assertion": "row_count() >= 90"}
    found = asked(api, **question)
    assert (len(found["not_measured"]), found["scans_needed"], found["from"]) == (3, 3, "2026-03-06T00:00:00+00:00")
    assert asked(api, **measured(api, **question))["held"] == 3
    page = pages.get(f"/datasets/{table.full_name}/tests/new", {"assertion": question["assertion"]}).content.decode()
    assert "The last 3 windows" in page


@pytest.mark.parametrize("first", ["2026-03-08", "2026-03-20"])
def test_a_table_whose_first_partition_is_not_due_yet_has_no_past(
    api: APIClient, pages: Client, lake: FakeEngine, first: str
) -> None:
    table = filled(lake, first_partition=first)
    clock.simulate(day("2026-03-08").end)
    why = f"starts at {first}T00:00:00+00:00, and none was due by the end of this range: wait for it, or end later"
    question = {"assertion": "row_count() >= 90"}
    assert why in refused(api, dataset=table.full_name, **question)
    page = pages.get(f"/datasets/{table.full_name}/tests/new", question)
    assert (page.status_code, why in page.content.decode()) == (200, True)


def test_what_was_measured_for_it_is_the_history_of_a_new_test(api: APIClient, lake: FakeEngine) -> None:
    question = measured(api, **enough(filled(lake)))
    answer = asked(api, **question | {"assertion": "anomaly(row_count(), last=8, min_values=7) <= 1"})
    assert [window["outcome"] for window in answer["windows"]] == ["error"] * 7 + ["held"]


def test_looser_and_stricter_bounds_are_judged_by_the_same_values(api: APIClient, lake: FakeEngine) -> None:
    question = measured(api, **enough(filled(lake)))
    scans = len(lake.scans)
    bounds = {one["assertion"]: (one["looser"], one["broken"]) for one in asked(api, **question)["bounds"]}
    assert (bounds["row_count() >= 76.5"], bounds["row_count() >= 100.125"], len(bounds)) == ((True, 1), (False, 1), 6)
    assert len(lake.scans) == scans


def test_freshness_that_was_not_measured_then_cannot_be_known(api: APIClient, lake: FakeEngine) -> None:
    found = asked(api, dataset=filled(lake).full_name, assertion="freshness() < 6h", to="2026-03-09T00:00:00Z")
    assert (len(found["cannot_be_known"]), found["not_measured"], found["scans_needed"]) == (8, [], 0)
    assert "stored times alone tell it" in next(iter(found["cannot_be_known"].values()))


def test_what_was_written_again_since_is_marked(api: APIClient, lake: FakeEngine) -> None:
    table = filled(lake)
    clock.simulate(day("2026-03-07").end)
    fifth = day("2026-03-05")
    times = {"window_start": fifth.start, "window_end": fifth.end, "at": clock.now()}
    table.changes.create(datacenter="sea", kind="rewritten", **times)
    clock.simulate(NOW + 2 * DAY)
    windows = asked(api, **measured(api, **enough(table)))["windows"]
    assert [window["window"] for window in windows if window["changed_since"]] == [fifth.text]


def test_api_page_and_command_answer_alike(api: APIClient, pages: Client, capsys: pytest.CaptureFixture[str]) -> None:
    test = lived_through()
    by_api = asked(api, data_test=test.pk)
    address = f"/datasets/{test.dataset.full_name}/backtest?test={test.pk}"
    page = pages.get(f"{address}&start=2026-03-01T00:00&end=2026-03-14T00:00")
    span = ("--from", "2026-03-01", "--to", "2026-03-14")
    with pytest.raises(SystemExit) as ended:
        call_command("backtest", test.dataset.full_name, test.name, *span, "--json")
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out) == by_api == json.loads(json.dumps(page.context["result"]))
    assert "2026-03-10 10:00" in page.content.decode()
    plot = page.context["plot"]
    assert len(plot.rows) == len(by_api["windows"]) + len(by_api["not_measured"])
    assert plot.has_bounds


def test_the_command_waits_for_what_it_had_measured_by_workers(
    lake: FakeEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(lake)
    monkeypatch.setattr(config(), "broker_url", "memory://")
    monkeypatch.setattr("assay.command_line.command.time.sleep", lambda seconds: work())  # workers go on meanwhile
    span = ("--from", "2026-03-01", "--to", "2026-03-09")
    with pytest.raises(SystemExit) as ended:
        call_command("backtest", table.full_name, "--assertion", "row_count() >= 90", *span, "--measure", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (ended.value.code, found["held"], found["broken"], found["not_measured"]) == (0, 7, 1, [])


def test_the_command_says_it_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    test = lived_through()
    with pytest.raises(SystemExit):
        call_command("backtest", test.dataset.full_name, test.name, "--from", "2026-03-01")
    said = capsys.readouterr().out
    assert ("1 incident (" in said, "live, this test had 1 incident in this time" in said) == (True, True)
    assert MONDAY.text in said


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({}, "There is nothing to backtest."),
        ({"assertion": "row_count() > 0"}, "There is nothing to backtest."),
        ({"dataset": "raw.trips", "assertion": "rowcount() > 0"}, "there is no metric rowcount"),
        ({"dataset": "raw.trips", "assertion": "row_count() > 0", "from": "2027-01-01T00:00:00Z"}, "to: the range"),
        ({"dataset": "raw.trips", "assertion": "row_count() > 0", "sustain": "soon"}, "no length of time"),
        ({"dataset": "raw.whole", "assertion": "row_count() > 0"}, "backtest a test of its partitions"),
        ({"dataset": "raw.trips", "assertion": "row_count() > 0", "from": "2020-01-01T00:00:00Z"}, "a shorter one"),
        ({"dataset": "raw.trips", "assertion": "row_count() > 0", "from": "2026-03-13T00:00:00Z"}, "no past"),
    ],
)
def test_what_cannot_be_backtested_says_why(api: APIClient, query: dict[str, str], why: str) -> None:
    clock.simulate(NOW)
    DatasetFactory.create(name="trips")
    DatasetFactory.create(name="whole", partition_column="", granularity="")
    assert why in refused(api, **query)


def test_a_revision_of_the_past_is_tried_by_its_number(api: APIClient) -> None:
    test = lived_through()
    assert asked(api, data_test=test.pk, revision=1)["revision"] == 1
    assert "has no revision 2: take one from 1 to 1" in refused(api, data_test=test.pk, revision=2)
    assert "nothing to backtest" in refused(
        api, dataset=test.dataset.full_name, assertion="row_count() > 0", revision=1
    )


def test_a_new_test_says_in_its_page_what_it_would_have_raised(api: APIClient, pages: Client, lake: FakeEngine) -> None:
    question = measured(api, **enough(filled(lake)))
    del question["to"]
    assert api.post("/api/v1/data-tests", question | {"name": "enough"}, format="json").status_code == 201
    said = pages.get(f"/datasets/raw.trips?test={DataTest.objects.get(name='enough').pk}").content.decode()
    assert "In the last 28 days it would have opened 1 incident and told of 1, by the 8 windows that were" in said


def test_each_other_bound_on_the_page_leads_to_its_own_backtest(
    api: APIClient, pages: Client, lake: FakeEngine
) -> None:
    measured(api, **enough(filled(lake)))
    asked_for = {"assertion": "row_count() >= 90", "start": "2026-03-01T00:00", "end": "2026-03-09T00:00"}
    page = pages.get("/datasets/raw.trips/backtest", asked_for).content.decode()
    links = [unescape(found) for found in re.findall(r'<a rel="nofollow" href="(\?assertion=[^"]+)"', page)]
    assert len(links) == 6
    for link in links:
        answer = unescape(pages.get(f"/datasets/raw.trips/backtest{link}").content.decode())
        for text in ("What this assertion would have raised", parse_qs(link[1:])["assertion"][0]):
            assert text in answer


@pytest.mark.parametrize("said", [{"severity": "hard"}, {}])  # these tiers make tests hard by themselves
@pytest.mark.parametrize(("tier", "status"), [(0, 409), (1, 409), (2, 201)])
def test_a_hard_test_of_a_critical_table_is_tried_on_the_past_first(
    api: APIClient, lake: FakeEngine, tier: int, status: int, said: dict[str, str]
) -> None:
    table = filled(lake, tier=tier)
    new = {"dataset": table.full_name, "name": "enough", "assertion": "row_count() >= 90", **said}
    answer = api.post("/api/v1/data-tests", new, format="json")
    assert answer.status_code == status, answer.content
    if status == 201:
        return
    assert f"a hard test of tier {tier} is tried on the past first" in answer.json()["error"]
    assert DataTest.objects.count() == 0
    measured(api, dataset=table.full_name, assertion=new["assertion"])
    assert api.post("/api/v1/data-tests", new, format="json").status_code == 201


def test_a_hard_test_of_a_whole_critical_table_has_no_past_to_be_tried_on(api: APIClient, lake: FakeEngine) -> None:
    table = filled(lake, tier=0)
    new = {"dataset": table.full_name, "name": "enough", "assertion": "row_count() >= 90", "schedule": "weekly"}
    assert api.post("/api/v1/data-tests", new, format="json").status_code == 201


def test_a_soft_test_of_a_critical_table_turns_hard_once_it_has_a_past(api: APIClient, lake: FakeEngine) -> None:
    table = filled(lake, tier=0)
    new = {"dataset": table.full_name, "name": "enough", "assertion": "row_count() >= 90", "severity": "soft"}
    test = api.post("/api/v1/data-tests", new, format="json").json()["id"]
    assert api.patch(f"/api/v1/data-tests/{test}", {"severity": "hard"}, format="json").status_code == 409
    measured(api, data_test=test)
    assert api.patch(f"/api/v1/data-tests/{test}", {"severity": "hard"}, format="json").json()["severity"] == "hard"


def test_the_page_of_a_dataset_leads_to_it_and_its_form_keeps_what_was_typed(pages: Client) -> None:
    test = DataTestFactory.create(dataset__name="trips")
    clock.simulate(NOW)
    assert (
        f'href="/datasets/raw.trips/backtest?test={test.pk}"'
        in pages.get(f"/datasets/raw.trips?test={test.pk}").content.decode()
    )
    assert "Try it on the past" in pages.get("/datasets/raw.trips/backtest").content.decode()
    wrong = pages.get("/datasets/raw.trips/backtest", {"assertion": "row_count( > 0", "sustain": "4h"}).content.decode()
    assert ('value="row_count( &gt; 0"' in wrong, 'role="alert"' in wrong) == (True, True)
    assert pages.get("/datasets/raw.trips/backtest", {"test": test.pk + 1}).status_code == 404
