"""May this data be used? Quality, queries, the gate, pipelines and scores over REST."""

from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from alerting.models import Standing
from assay.models import Binding, DataChange, Dataset, DataTest
from execution_engine.models import Run, RunReason
from incident_manager.models import Incident, LookUp, SpoiltWindow
from tests.factories import (
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    ReportFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from web.api import pipelines

MONDAY = {"from": "2026-03-09T00:00:00Z", "to": "2026-03-10T00:00:00Z"}
SUNDAY = {"from": "2026-03-08T00:00:00Z", "to": "2026-03-09T00:00:00Z"}


@pytest.fixture(autouse=True)
def trips(db: None) -> Dataset:
    """``raw.trips``, whose 9 March is spoilt."""
    dataset = DatasetFactory.create(name="trips", first_partition="2026-01-01")
    test = DataTestFactory.create(dataset=dataset, created_at=day("2026-03-07").start)
    StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken")
    for key in ("2026-03-07", "2026-03-08"):
        StandingFactory.create(data_test=test, window=day(key))
    SpoiltWindowFactory.create(incident__dataset=dataset, data_test=test, datacenter="sea")
    return dataset


def query(api: APIClient, sql: str, **more: str) -> Any:
    return api.post("/api/v1/quality/query", {"sql": sql, **more}, format="json")


def gate(api: APIClient, window: str = "2026-03-09", **more: Any) -> Any:
    return api.post("/api/v1/gate", {"datasets": ["raw.trips"], "window": window, **more}, format="json")


def completed(api: APIClient, pipeline: str = "load", **more: Any) -> Any:
    body = {"outputs": [{"dataset": "raw.trips", "window": "2026-03-09"}], **more}
    return api.post(f"/api/v1/pipelines/{pipeline}/completed", body, format="json")


def test_the_spoilt_day_is_bad_and_the_day_before_is_good(api: APIClient) -> None:
    bad = api.get("/api/v1/quality", {"dataset": "raw.trips", **MONDAY}).json()
    good = api.get("/api/v1/quality", {"dataset": "raw.trips", **SUNDAY}).json()
    assert (bad["status"], good["status"], good["incidents"]) == ("bad", "good", [])
    assert bad["incidents"][0]["id"] == Incident.objects.get().pk
    assert [row.failed for row in LookUp.objects.order_by("pk")] == [True, False]


@pytest.mark.parametrize(
    ("start", "end"), [("2020-01-01", "2020-02-01"), ("2027-01-01", "2027-02-01"), ("2020-01-01", "2199-01-01")]
)
def test_years_that_no_test_has_judged_are_untested_unless_something_is_wrong_in_them(
    api: APIClient, start: str, end: str
) -> None:
    query = {"dataset": "raw.trips", "from": f"{start}T00:00:00Z", "to": f"{end}T00:00:00Z"}
    assert api.get("/api/v1/quality", query).json()["status"] == ("bad" if end > "2100" else "untested")
    assert LookUp.objects.get().failed is (end > "2100")


def test_one_hour_of_a_broken_day_is_bad_for_look_up_and_gate(api: APIClient) -> None:
    SpoiltWindow.objects.all().delete()
    Standing.objects.filter(state="FAIL").update(state="WARN")
    hour = {"from": "2026-03-09T05:00:00Z", "to": "2026-03-09T06:00:00Z"}
    answer = api.get("/api/v1/quality", {"dataset": "raw.trips", **hour}).json()
    assert (answer["status"], answer["incidents"]) == ("bad", [])
    assert answer["reasons"][0]["text"] == "custom is broken (WARN): no incident yet"
    assert gate(api, "2026-03-09T05:00:00Z/2026-03-09T06:00:00Z").json()["decision"] == "block"


def test_the_gate_has_only_windows_measured_that_have_ended_and_at_most_400(api: APIClient) -> None:
    DataTest.objects.update(created_at=day("2020-01-01").start)
    Dataset.objects.update(granularity="hour")
    answer = gate(api, "2020-01-01T00:00:00Z/2199-01-01T00:00:00Z").json()
    assert Run.objects.count() == 400
    assert Run.objects.latest("window_start").window_end <= NOW
    assert any("at most 400 windows" in reason["text"] for reason in answer["reasons"])


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"to": "2026-03-09T00:00:00Z"}, "to"),
        ({"from": "monday"}, "from"),
        ({"from": "NaN"}, "from"),
        ({"dataset": "raw.nope"}, "dataset"),
        ({"datacenter": "moon"}, "datacenter"),
        ({"window": "x"}, "window"),
    ],
)
def test_a_question_that_means_nothing_is_refused(api: APIClient, change: dict[str, str], where: str) -> None:
    answer = api.get("/api/v1/quality", {"dataset": "raw.trips", **MONDAY, **change})
    assert (answer.status_code, answer.json()["where"]) == (400, where)


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("datestr = '2026-03-08'", "good"),
        ("datestr = '2026-03-09'", "bad"),
        ("datestr < '2026-03-09'", "untested"),
        ("datestr in ('2026-03-07', '2026-03-08')", "good"),
        ("fare > 3", "bad"),
    ],
)
def test_a_query_is_as_good_as_the_partitions_it_reads(api: APIClient, condition: str, status: str) -> None:
    body = query(api, f"select 1 from raw.trips where {condition}").json()
    assert (body["status"], body["unknown"], len({row.query for row in LookUp.objects.all()})) == (status, [], 1)


@pytest.mark.parametrize(("key", "status"), [("2026-03-08", "unknown"), ("2026-03-09", "bad")])
def test_a_query_over_a_table_that_the_catalog_does_not_know_is_unknown_unless_it_is_bad(
    api: APIClient, key: str, status: str
) -> None:
    sql = f"select 1 from raw.trips join elsewhere.cities using (city) where trips.datestr = '{key}'"
    body = query(api, sql).json()
    assert (body["status"], body["unknown"]) == (status, ["elsewhere.cities"])
    (stranger,) = [table for table in body["tables"] if table["dataset"] == "elsewhere.cities"]
    why = "the catalog does not know elsewhere.cities"
    assert (stranger["status"], stranger["reasons"][0]["text"]) == ("unknown", why)


def test_a_text_that_is_no_query_is_refused(api: APIClient) -> None:
    for sql in ("select from where", "   ", "select map(s)", "select * from map(s)"):
        answer = query(api, sql)
        assert (answer.status_code, answer.json()["where"]) == (400, "sql")


@pytest.mark.parametrize(("key", "decision"), [("2026-03-08", "allow"), ("2026-03-09", "block")])
def test_the_gate_blocks_the_spoilt_day_only(api: APIClient, key: str, decision: str) -> None:
    answer = gate(api, key, pipeline="fares").json()
    assert answer["decision"] == decision
    assert all(reason["decision"] != "allow" for reason in answer["reasons"] if decision == "block")


def test_a_fact_and_a_dimension_without_partitions_are_asked_of_in_one_call(api: APIClient) -> None:
    DatasetFactory.create(name="cities", partition_column="", granularity="")
    answer = gate(api, "2026-03-08", datasets=["raw.trips", "raw.cities"])
    assert (answer.status_code, answer.json()["decision"]) == (200, "allow")
    windows = {reason["dataset"]: reason["window"] for reason in answer.json()["reasons"]}
    assert windows["raw.cities"] == "2026-03-09T12:00:00Z/2026-03-10T12:00:00Z"


@pytest.mark.parametrize(
    "change", [{"datasets": []}, {"datasets": ["raw.nope"]}, {"window": "someday"}, {"datacenter": "moon"}]
)
def test_the_gate_refuses_what_it_does_not_know(api: APIClient, change: dict[str, Any]) -> None:
    answer = gate(api, **change)
    assert answer.status_code == 400
    assert answer.json()["where"].startswith(next(iter(change)))


def test_a_completed_pipeline_is_recorded_and_its_outputs_are_judged(api: APIClient) -> None:
    answer = completed(api, "load-trips", wait=0.01)
    assert (answer.status_code, answer.json()["judged"], answer.json()["decision"]) == (201, False, "block")
    assert DataChange.objects.get().window == day("2026-03-09")
    DataChange.objects.update(followed_at=DataChange.objects.get().at)
    quality = api.get("/api/v1/pipelines/load-trips/quality").json()
    assert [output["status"] for output in quality["outputs"]] == ["bad"]


def test_who_told_of_a_completion_asks_later_whether_it_is_judged(api: APIClient) -> None:
    path, told = "/api/v1/pipelines/load/completed", completed(api).json()
    (change,) = DataChange.objects.all()
    assert told["completions"] == [change.pk]
    assert api.get(path, {"completions": str(change.pk)}).json() == told | {"judged": False}
    run = RunFactory.create(
        data_test=DataTest.objects.get(), window=change.window, reason=RunReason.TRIGGER, judged_at=None
    )
    DataChange.objects.update(followed_at=change.at)
    assert api.get(path).json()["judged"] is False
    Run.objects.filter(pk=run.pk).update(judged_at=change.at)
    assert api.get(path).json() == told | {"judged": True, "waits_for": []}


@pytest.mark.parametrize("completions", ["999", "x", "1,,2", "-1", "1" * 30, "1" + ",1" * 50])
def test_a_completion_that_the_pipeline_never_told_of_is_refused(api: APIClient, completions: str) -> None:
    answer = api.get("/api/v1/pipelines/load/completed", {"completions": completions})
    assert (answer.status_code, answer.json()["where"]) == (400, "completions")


@pytest.mark.parametrize(("pipeline", "decision"), [("load", "warn"), ("other", "block")])
def test_a_pipeline_is_answered_by_its_own_bindings_before_it_reads_and_when_it_completes(
    api: APIClient, trips: Dataset, pipeline: str, decision: str
) -> None:
    name = DataTest.objects.get().name
    Binding.objects.create(pipeline="load", dataset=trips, test=name, strength="weak", source="etl")
    answers = completed(api, pipeline), gate(api, pipeline=pipeline)
    assert [answer.json()["decision"] for answer in answers] == [decision, decision]


def test_where_too_many_wait_the_answer_comes_at_once(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as waiting:
        for _ in range(pipelines.MOST_WAITING):
            waiting.enter_context(pipelines._places)
        monkeypatch.setattr("web.api.pipelines.time.sleep", lambda _: pytest.fail("it waits"))
        answer = completed(api, wait=300)
    assert (answer.status_code, answer.json()["judged"]) == (201, False)
    assert pipelines._places._value == pipelines.MOST_WAITING


def test_nobody_waits_for_ever(api: APIClient) -> None:
    raw = '{"outputs": [{"dataset": "raw.trips", "window": "2026-03-08"}], "wait": NaN}'
    assert completed(api, wait=10**9).status_code == 400
    assert api.post("/api/v1/pipelines/p/completed", raw, content_type="application/json").status_code == 400
    assert not DataChange.objects.exists()


def test_scores_clip_the_open_incident_to_the_asked_range(api: APIClient) -> None:
    query = {"from": "2026-03-10T00:00:00Z", "to": "2026-03-10T10:00:00Z", "dataset": "raw.trips"}
    total = api.get("/api/v1/scores", query).json()["total"]
    assert (total["precision"], total["recall"], total["bad"], total["open"]) == (1.0, 1.0, 3 * 3600.0, True)


@pytest.mark.parametrize(
    "change", [{"tier": "7"}, {"category": "taste"}, {"from": "x"}, {"from": "2030-01-01T00:00:00Z"}, {"tiers": "1"}]
)
def test_scores_of_nothing_that_exists_are_refused(api: APIClient, change: dict[str, str]) -> None:
    assert api.get("/api/v1/scores", {**MONDAY, **change}).status_code == 400


def test_many_ranges_are_answered_at_once_as_each_alone(api: APIClient) -> None:
    DatasetFactory.create(name="rides", first_partition="2026-01-01")
    days = [day(f"2026-03-{number:02}") for number in (1, 3, 5, 7, 8, 9, 10, 12, 14, 16)]
    asked = [
        {"dataset": name, "from": window.start.isoformat(), "to": window.end.isoformat()}
        for window in days
        for name in ("raw.trips", "RAW.Rides")
    ]
    body = {"look_ups": [*asked, {"dataset": "raw.trips", "from": "2026-01-01T00:00Z", "to": "2026-04-01T00:00Z"}]}
    answers = api.post("/api/v1/quality/bulk", body, format="json").json()
    assert answers["status"] == "bad"
    for question, answer in zip(body["look_ups"], answers["answers"], strict=True):
        assert answer == api.get("/api/v1/quality", question).json()
    assert len({row.query for row in LookUp.objects.all()}) == LookUp.objects.count() == 2 * len(body["look_ups"])


def test_what_cannot_be_looked_up_leaves_the_other_answers_alone(api: APIClient) -> None:
    names = [{"dataset": "raw.trips"}, {"dataset": "raw.nope"}, {"dataset": "raw.trips", "datacenter": "moon"}]
    body = {"look_ups": [{**each, **SUNDAY} for each in names]}
    good, unknown, elsewhere = api.post("/api/v1/quality/bulk", body, format="json").json()["answers"]
    assert (good["status"], unknown["status"], elsewhere["status"]) == ("good", "unknown", "unknown")
    assert unknown["reasons"][0]["text"] == "the catalog does not know raw.nope"
    assert elsewhere["reasons"][0]["text"] == "raw.trips has no replica in 'moon'; it has sea."
    assert set(good) == set(unknown) == set(elsewhere)
    assert LookUp.objects.count() == 1


@pytest.mark.parametrize(
    ("look_up", "where"),
    [
        ({"from": "monday"}, "look_ups.1.from"),
        ({"to": "2026-01-01T00:00Z"}, "look_ups.1.to"),
        ({"when": "now"}, "look_ups.1.when"),
    ],
)
def test_ranges_of_which_one_means_nothing_are_refused_with_its_place(
    api: APIClient, look_up: dict[str, str], where: str
) -> None:
    asked = {"dataset": "raw.trips", **MONDAY}
    answer = api.post("/api/v1/quality/bulk", {"look_ups": [asked, {**asked, **look_up}]}, format="json")
    assert (answer.status_code, answer.json()["where"], LookUp.objects.count()) == (400, where, 0)


def test_an_answer_that_is_known_already_is_not_sent_again_and_counts_as_a_look_up(api: APIClient) -> None:
    asked = {"dataset": "raw.trips", **MONDAY}
    first = api.get("/api/v1/quality", asked)
    again = api.get("/api/v1/quality", asked, headers={"If-None-Match": first["ETag"]})
    assert first["ETag"].startswith('W/"')
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert [row.failed for row in LookUp.objects.all()] == [True, True]
    SpoiltWindow.objects.all().delete()
    Standing.objects.filter(state="FAIL").update(state="PASS", last_outcome="held")
    changed = api.get("/api/v1/quality", asked, headers={"If-None-Match": first["ETag"]})
    assert (changed.status_code, changed.json()["status"], changed["ETag"] != first["ETag"]) == (200, "good", True)


@pytest.mark.parametrize("dialect", ["spark", "trino", "presto", "mysql"])
def test_a_query_is_read_in_its_dialect(api: APIClient, dialect: str) -> None:
    quoted = f"{'hive' if dialect in ('trino', 'presto') else 'spark_catalog'}.raw.trips"
    answer = query(api, f"select 1 from {quoted} where datestr = '2026-03-08'", dialect=dialect).json()
    assert (answer["status"], answer["unknown"]) == ("good", [])


def test_a_query_in_another_dialect_is_refused_with_what_to_do(api: APIClient) -> None:
    sql = "select 1 from `raw`.`trips` where datestr = '2026-03-08'"
    answer = query(api, sql, dialect="trino").json()
    assert (answer["where"], "line 1, column" in answer["error"]) == ("sql", True)
    assert "name their dialect: spark, trino, presto, mysql" in answer["mend"]
    other = query(api, sql, dialect="oracle")
    assert (other.status_code, other.json()["where"]) == (400, "dialect")


def test_a_bare_date_is_midnight_where_the_one_dataset_is_and_in_utc_where_many_are_asked(api: APIClient) -> None:
    DatasetFactory.create(name="berlin", time_zone="Europe/Berlin")
    days = {"from": "2026-03-09", "to": "2026-03-10"}
    one = api.get("/api/v1/quality", {"dataset": "raw.berlin", **days}).json()
    assert (one["from"], one["to"]) == ("2026-03-08T23:00:00Z", "2026-03-09T23:00:00Z")
    bulk = api.post("/api/v1/quality/bulk", {"look_ups": [{"dataset": "raw.berlin", **days}]}, format="json").json()
    assert bulk["answers"][0]["from"] == "2026-03-08T23:00:00Z"
    assert api.get("/api/v1/scores", days).json()["from"] == "2026-03-09T00:00:00Z"
    assert api.get("/api/v1/scores", {**days, "dataset": "raw.berlin"}).json()["from"] == "2026-03-08T23:00:00Z"


# the clock, the dataset, its copies and tests, what passes, what does not, what is pending or spoilt, what was
# completed anew or triggered, the incidents, the answer kept; of what is bad also
# the overrides of the gate, and the result that the sentence tells
MOST = 14
AUTHENTICATION = ("assay_accesstoken", "auth_user", "assay_member", "auth_group", "auth_permission")


@pytest.mark.parametrize("many", [0, 1, 30])
def test_a_look_up_takes_as_many_statements_however_much_is_known(api: APIClient, many: int) -> None:
    dataset = DatasetFactory.create(name="known", datacenters=("sea", "phx"))
    for _ in range(many):
        broken = StandingFactory.create(data_test__dataset=dataset, state="FAIL", last_outcome="broken")
        StandingFactory.create(data_test=broken.data_test, window=day("2026-03-08"))
    incident = IncidentFactory.create(dataset=dataset)
    for _ in range(many):
        SpoiltWindowFactory.create(incident=incident, window=day("2026-03-09"))
        ReportFactory.create(dataset=dataset, incident=None)
    asked = {"dataset": "raw.known", "from": "2026-03-07T12:00:00Z", "to": "2026-03-10T12:00:00Z"}
    with CaptureQueriesContext(connection) as seen:
        answer = api.get("/api/v1/quality", asked)
    assert answer.status_code == 200, answer.content
    statements = [query["sql"] for query in seen.captured_queries]
    ours = [sql for sql in statements if not any(table in sql.split("WHERE")[0] for table in AUTHENTICATION)]
    assert len(ours) <= MOST, chr(10).join(x[:150] for x in ours)
    assert answer.json()["status"] == ("bad" if many else "untested")
