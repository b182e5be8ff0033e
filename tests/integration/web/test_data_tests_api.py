"""Data tests, runs and measurements over REST."""

import json
from math import inf
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from assay.config import config
from assay.models import DataTest, Origin, Scope
from execution_engine.models import Run
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, RunFactory, day

NEW = {"name": "enough rows", "assertion": "row_count() >= 100", "severity": "soft", "sustain": "2h"}


def test_a_user_writes_revises_and_retires_a_test(api: APIClient) -> None:
    made = api.post("/api/v1/data-tests", {**NEW, "dataset": DatasetFactory.create().full_name}, format="json").json()
    assert (made["revision"], made["severity"], made["sustain"], made["origin"]) == (1, "soft", "2h", "user")
    address = f"/api/v1/data-tests/{made['id']}"
    revised = api.patch(address, {"assertion": "row_count() >= 50"}, format="json").json()
    assert (revised["revision"], revised["assertion"], api.delete(address).status_code) == (2, "row_count() >= 50", 204)
    assert DataTest.objects.get().retired_at is not None
    assert api.get("/api/v1/data-tests").json()["count"] == 0
    assert api.get("/api/v1/data-tests", {"live": "false"}).json()["count"] == 1


def test_a_test_keeps_its_failing_rows_in_a_store_until_it_is_told_to_end(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSAY_ROW_STORES", json.dumps({"quarantine": str(tmp_path)}))
    config.cache_clear()
    body = {**NEW, "dataset": DatasetFactory.create().full_name, "keep_rows": {"table": "quarantine/trips", "days": 7}}
    made = api.post("/api/v1/data-tests", body, format="json").json()
    assert made["keep_rows"] == {"table": "quarantine/trips", "limit": 100_000, "days": 7, "sensitive": "hash"}
    address = f"/api/v1/data-tests/{made['id']}"
    refusal = api.patch(address, {"keep_rows": {"table": "elsewhere"}}, format="json").json()
    assert (refusal["where"], "no store is called 'elsewhere'" in refusal["error"]) == ("keep_rows", True)
    assert api.patch(address, {"keep_rows": {"days": 7}}, format="json").json()["where"] == "keep_rows.table"
    assert api.patch(address, {"keep_rows": None}, format="json").json()["keep_rows"] is None
    config.cache_clear()


@pytest.mark.parametrize("assertion", ["row_count( >= 100", "completeness(fair) > 0.9", "row_count() < 4h", "mean("])
def test_a_wrong_assertion_is_answered_with_a_caret_under_the_place(api: APIClient, assertion: str) -> None:
    body = {**NEW, "dataset": DatasetFactory.create().full_name, "assertion": assertion}
    answer = api.post("/api/v1/data-tests", body, format="json")
    assert (answer.status_code, answer.json()["where"]) == (400, "assertion")
    assert (answer.json()["error"].splitlines()[-1].strip(" ").strip("^"), DataTest.objects.exists()) == ("", False)


def test_generated_tests_are_not_edited_by_hand(api: APIClient) -> None:
    test = DataTestFactory.create(origin=Origin.GENERATED)
    answer = api.patch(f"/api/v1/data-tests/{test.pk}", {"assertion": "row_count() > 1"}, format="json")
    assert (answer.status_code, "SLA" in answer.json()["mend"]) == (409, True)
    assert api.delete(f"/api/v1/data-tests/{test.pk}").status_code == 409


@pytest.mark.parametrize("window", ["2026-03-08", day("2026-03-08").text])
def test_a_run_is_asked_for_by_key_or_by_window(api: APIClient, window: str) -> None:
    body = {"data_test": DataTestFactory.create().pk, "window": window, "key": "once"}
    answers = [api.post("/api/v1/runs", body, format="json") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    run = Run.objects.get()
    assert (run.reason, run.window, answers[0].json()["id"]) == ("manual", day("2026-03-08"), run.pk)


@pytest.mark.parametrize(
    "window", ["yesterday", "2026-13-01", "2026-03-08/2026-03-09", "", "2026-03-02T00:00Z/2026-03-01T00:00Z"]
)
def test_a_run_of_no_window_is_refused(api: APIClient, window: str) -> None:
    answer = api.post("/api/v1/runs", {"data_test": DataTestFactory.create().pk, "window": window}, format="json")
    assert (answer.status_code, answer.json()["where"]) == (400, "window")


def test_many_tests_of_a_dataset_run_by_one_request_and_what_does_not_run_says_why(api: APIClient) -> None:
    dataset = DatasetFactory.create(retention=30 * DAY)
    fresh, early = (DataTestFactory.create(dataset=dataset, name=name) for name in ("fresh", "early"))
    whole = DataTestFactory.create(dataset=dataset, name="whole", scope=Scope.TABLE)
    DataTestFactory.create(dataset=dataset, name="old", retired_at=NOW)
    early.judges_from = day("2026-03-09").start
    early.save()
    asked = {"dataset": dataset.full_name, "window": "2026-03-08", "key": "once"}
    answers = [api.post("/api/v1/runs/bulk", asked, format="json") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    (run,) = Run.objects.all()
    assert [row["id"] for row in answers[1].json()["runs"]] == [run.pk]
    assert (run.data_test, run.reason, run.window) == (fresh, "manual", day("2026-03-08"))
    (left_out,) = answers[0].json()["left_out"]
    assert (left_out["test"], "columns were declared" in left_out["why"]) == ("early", True)

    named = api.post("/api/v1/runs/bulk", {**asked, "tests": ["whole", "old", "fresh"]}, format="json").json()
    assert {row["data_test"] for row in named["runs"]} <= {fresh.pk, whole.pk}
    assert [row for row in named["left_out"] if row["test"] == "old"] == [
        {"test": "old", "why": f"{dataset.full_name} has no live test of this name"}
    ]
    beyond = api.post("/api/v1/runs/bulk", {**asked, "window": "2026-01-01", "tests": ["fresh"]}, format="json").json()
    why = "the window is beyond the dataset's retention"
    assert beyond == {"runs": [], "left_out": [{"test": "fresh", "why": why}]}


def test_runs_are_filtered(api: APIClient) -> None:
    broken = RunFactory.create(outcome="broken", value=3.0, excess=inf)
    RunFactory.create(window=day("2026-03-08"))
    for query in ({"outcome": "broken"}, {"data_test": broken.data_test_id}, {"window": day("2026-03-09").text}):
        found = api.get("/api/v1/runs", query).json()["results"]
        assert [row["id"] for row in found] == [broken.pk]
    assert found[0]["excess"] is None


@pytest.mark.parametrize(
    "query",
    [
        {"outcome": "great"},
        {"window": "2026"},
        {"data_test": "NaN"},
        {"data_test": str(10**30)},
        {"dataset": "raw.nothing"},
        {"outcom": "held"},
        {"window": "0001-01-01T00:00+23:00/0001-01-02T00:00Z"},
    ],
)
def test_a_wrong_filter_is_refused(api: APIClient, query: dict[str, str]) -> None:
    answer = api.get("/api/v1/runs", query)
    assert answer.status_code == 400
    assert answer.json()["where"] == next(iter(query))


def test_lists_are_cut_into_pages_whatever_is_asked(api: APIClient) -> None:
    RunFactory.create_batch(3)
    assert len(api.get("/api/v1/runs", {"limit": 2}).json()["results"]) == 2
    for offset, status in ((10**40, 200), (-1, 400), ("many", 400)):
        assert api.get("/api/v1/runs", {"limit": 2, "offset": offset}).status_code == status
