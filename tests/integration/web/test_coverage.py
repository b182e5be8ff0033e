"""Coverage of tests and of owners, as the API, the page and the weekly message tell it."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Notice, Waiver
from assay import clock
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import Category, Dataset, DataTest, EdgeTelling, Round
from assay.scheduler.beat import begin_rounds
from execution_engine.models import Heartbeat
from incident_manager import tasks
from incident_manager.models import LookUp
from test_generator.models import Gap
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory, OfferFactory, day
from tests.integration.story import advance

pytestmark = pytest.mark.django_db


@pytest.fixture
def mail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "email_url", "smtp://127.0.0.1:9")


def standard_test(dataset: Dataset, **more: Any) -> DataTest:
    return DataTestFactory.create(dataset=dataset, origin="generated", **more)


def tier(api: APIClient, level: int, **query: str) -> Any:
    answer = api.get("/api/v1/coverage", query)
    assert answer.status_code == 200
    return answer.json()["tiers"][level]


def test_a_tier_is_covered_by_tests_that_are_live_and_owners_who_can_be_told(api: APIClient, mail: None) -> None:
    good, bad = (DatasetFactory.create(name=name, tier=0, owner=f"{name}@example.org") for name in ("good", "bad"))
    standard_test(good), standard_test(bad), standard_test(bad, retired_at=NOW)
    DataTestFactory.create(dataset=bad)  # a user's own test covers no standard test
    Gap.objects.create(dataset=bad, category=Category.DUPLICATES, reason="no primary key", since=NOW)
    Gap.objects.create(dataset=bad, category=Category.CONSISTENCY, reason="one replica", since=NOW, mendable=False)
    found = tier(api, 0)
    assert (found["live"], found["wanted"], found["gaps"]) == (2, 2, 1)
    assert (found["uncovered"], found["reachable_share"], found["is_met"]) == (["raw.bad"], 1.0, False)
    assert tier(api, 0, owner="good@example.org")["is_met"] is True


def test_the_log_reaches_nobody(api: APIClient, pages: Client) -> None:
    standard_test(DatasetFactory.create(tier=1, owner="ada"))
    found = tier(api, 1)
    expected = {"share": 1.0, "reachable_share": 0.0, "unreachable": ["ada"], "is_met": False}
    assert found | expected == found
    assert "People whom no channel reaches: ada" in pages.get("/coverage").content.decode()


def test_a_waived_test_and_a_dataset_without_tests_are_not_covered(api: APIClient, mail: None) -> None:
    DatasetFactory.create(name="new", tier=2)
    test = standard_test(DatasetFactory.create(name="waived", tier=2))
    assert test.revision is not None
    monday = day("2026-03-09")
    Waiver.objects.create(
        data_test=test, revision=test.revision, kind="forced", window_start=monday.start, window_end=monday.end,
        reason="twins", author="ada", starts_at=NOW, ends_at=NOW + DAY,
    )  # fmt: skip
    assert (tier(api, 2)["uncovered"], tier(api, 2)["share"]) == (["raw.new", "raw.waived"], 0.0)
    Waiver.objects.update(ended_at=NOW)
    assert (tier(api, 2)["uncovered"], tier(api, 2)["share"]) == (["raw.new"], 0.5)


def test_the_weekly_message_tells_owners_how_much_of_their_data_is_tested(user: User) -> None:
    dataset = DatasetFactory.create(name="trips", tier=0, owner="ada")
    standard_test(dataset)
    Gap.objects.create(dataset=dataset, category="duplicates", reason="no primary key", since=NOW, next_report_at=NOW)
    advance(NOW)
    body = Notice.objects.get(event="gaps", recipient="ada").body
    assert "tier 0: 1 of 2 standard tests are live (50%); the target is 100%" in body
    assert "No channel but the log reaches ada" in body


def test_what_is_missing_is_named_the_untested_first_then_the_critical_and_what_most_others_read(pages: Client) -> None:
    tables = {
        name: DatasetFactory.create(name=name, tier=tier)
        for name, tier in (("known", 0), ("gap", 1), ("read", 2), ("new", 2), ("minor", 4), ("gone", 0))
    }
    Dataset.objects.filter(name="gone").update(missing_since=NOW)
    LineageEdgeFactory.create(upstream=tables["read"], downstream=tables["known"])
    for name in ("known", "gap"):
        standard_test(tables[name])
    DataTestFactory.create(dataset=tables["known"], name="own", category=Category.DUPLICATES)
    for name in ("known", "gap"):  # of the first a user's test makes up for it
        Gap.objects.create(dataset=tables[name], category="duplicates", reason="it has no primary key", since=NOW)
    Gap.objects.create(dataset=tables["minor"], category="freshness", reason="it has no partition key", since=NOW)
    OfferFactory.create(dataset=tables["gap"])
    page = pages.get("/coverage")
    missing = [(row["dataset"].name, dict(row["missing"].reasons)) for row in page.context["rows"]]
    usual = {"freshness": "", "completeness": "", "duplicates": ""}
    assert missing == [
        ("read", usual),
        ("new", usual),
        ("minor", usual | {"freshness": "it has no partition key"}),
        ("gap", {"duplicates": "it has no primary key"}),
    ]
    text = page.content.decode()
    assert "3 datasets have no test at all. 4 datasets lack a standard test." in text
    assert "/datasets/raw.gap/suggestions" in text
    assert "/datasets/raw.gap/tests/new?missing=duplicates" in text


def test_a_missing_test_opens_the_editor_filled(pages: Client) -> None:
    trips = DatasetFactory.create(name="trips", primary_key=["id"])
    page = pages.get(f"/datasets/{trips.full_name}/tests/new?missing=duplicates").content.decode()
    assert "1 - distinct_count(id) / row_count() &lt;= 0" in page
    assert 'value="duplicates"' in page
    assert pages.get(f"/datasets/{trips.full_name}/tests/new?missing=nothing").status_code == 200


def test_where_tests_of_people_stand_in_for_standard_ones_the_page_says_so(pages: Client) -> None:
    trips = DatasetFactory.create()
    standard_test(trips, category=Category.FRESHNESS)
    assert "Each dataset has a test of each standard kind." in pages.get("/coverage").content.decode()
    Gap.objects.create(dataset=trips, category=Category.DUPLICATES, reason="no primary key", since=NOW)
    DataTestFactory.create(dataset=trips, category=Category.DUPLICATES)
    assert "tests of your own stand in for those that are not live" in pages.get("/coverage").content.decode()


def test_an_obsolete_dataset_counts_in_no_tier_and_is_listed_with_the_reason(api: APIClient, pages: Client) -> None:
    made = {"created_at": NOW - 200 * DAY, "tier": 0}
    left, above, asked, read, gone = (
        DatasetFactory.create(name=name, **made) for name in ("left", "above", "asked", "read", "gone")
    )
    DatasetFactory.create(name="new", created_at=NOW - DAY, tier=0)
    for dataset in Dataset.objects.all():
        Heartbeat.objects.create(dataset=dataset, datacenter="sea", seen_at=NOW, last_commit_at=NOW - 100 * DAY)
    Dataset.objects.filter(name="gone").update(missing_since=NOW - DAY)
    for upstream, downstream in ((above, left.full_name), (above, gone.full_name), (read, "undeclared.report")):
        edge = {"upstream_key": upstream.name_key, "downstream_key": name_key(downstream), "seen_at": NOW}
        EdgeTelling.objects.create(source="jobs", upstream=upstream.full_name, downstream=downstream, **edge)
    question = LookUp.objects.create(
        query=uuid4(), dataset=asked, at=NOW - 27 * DAY, failed=False, window_start=NOW, window_end=NOW + DAY
    )
    mark(NOW)
    answer = api.get("/api/v1/coverage").json()
    silence = "no commit since 2025-11-30; nothing in use is made of it, and nobody asks for it"
    assert {row["dataset"]: row["reason"] for row in answer["obsolete"]} == {
        **{"raw.above": silence, "raw.left": silence, "raw.gone": "gone from its source since 2026-03-09"}
    }
    assert (answer["tiers"][0]["datasets"], answer["tiers"][0]["uncovered"]) == (
        3,
        ["raw.asked", "raw.new", "raw.read"],
    )
    assert api.get("/api/v1/datasets/raw.left").json()["obsolete"] == silence
    assert [silence in pages.get(f"/datasets/raw.{name}").content.decode() for name in ("left", "read")] == [
        True,
        False,
    ]
    page = pages.get("/coverage")
    assert {row["dataset"].name for row in page.context["rows"]} == {"asked", "new", "read"}
    assert silence in page.content.decode()
    Heartbeat.objects.filter(dataset=left).update(last_commit_at=NOW)  # it comes back, and with it what it is made of
    question.delete()
    mark(NOW)
    assert [row["dataset"] for row in api.get("/api/v1/coverage").json()["obsolete"]] == ["raw.asked", "raw.gone"]


def mark(now: datetime) -> None:
    begin_rounds(now)
    Round.objects.filter(name="signs").update(due_at=now)
    clock.simulate(now)
    tasks.signs()
