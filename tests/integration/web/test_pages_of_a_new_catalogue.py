"""Pages of what has no result yet, or only a user's word: the first pages that a new user opens."""

import pytest
from django.template import Context, Template
from django.test import Client

from assay.models import Category, Dataset
from incident_manager.services import confirm_report, report
from tests.factories import NOW, DatasetFactory, DataTestFactory, RunFactory, StandingFactory, day

pytestmark = pytest.mark.django_db


@pytest.fixture
def rides() -> Dataset:
    dataset = DatasetFactory.create(namespace="shop", name="rides", first_partition="2026-01-01")
    DataTestFactory.create(dataset=dataset, name="freshness", category=Category.FRESHNESS)
    return dataset


def test_the_page_of_a_dataset_shows_a_test_that_has_not_run_yet_without_a_value(pages: Client, rides: Dataset) -> None:
    answer = pages.get("/datasets/shop.rides?tab=tests")
    assert (answer.status_code, '<td class="num" data-label="Value">–</td>' in answer.content.decode()) == (200, True)


def test_the_page_of_a_users_report_shows_its_window_without_a_value(pages: Client, rides: Dataset) -> None:
    claim = report(dataset=rides, window=day("2026-03-08"), reporter="grace", description="Fares doubled.", now=NOW)
    answer = pages.get(f"/incidents/{claim.incident_id}")
    page = answer.content.decode()
    assert (answer.status_code, "2026-03-08" in page, "None" in page) == (200, True, False)


def test_a_confirmed_report_makes_a_table_bad_on_its_page_and_in_the_catalogue(pages: Client, rides: Dataset) -> None:
    StandingFactory.create(data_test=rides.data_tests.get(), window=day("2026-03-09"))
    bad = '<span class="pill fail"'
    assert not any(bad in pages.get(address).content.decode() for address in ("/", "/datasets/shop.rides"))
    claim = report(dataset=rides, window=day("2026-03-09"), reporter="grace", description="Doubled.", now=NOW)
    confirm_report(claim, author="ada", now=NOW)
    catalogue, own = (pages.get(address).content.decode() for address in ("/", "/datasets/shop.rides"))
    assert (bad in own.split("</h1>")[0], "<dt>Good</dt><dd>0</dd>" in catalogue) == (True, True)
    assert bad in catalogue.split('id="matrix"')[1]
    assert pages.get("/?status=bad").content.decode().count("/datasets/shop.rides") == 1
    assert "/datasets/shop.rides" not in pages.get("/?status=good").content.decode()


@pytest.mark.parametrize("address", ["/", "/datasets/shop.rides"])
def test_pages_say_when_nobody_works_or_an_engine_is_away(pages: Client, rides: Dataset, address: str) -> None:
    assert "What is shown may be old" not in pages.get(address).content.decode()
    test = rides.data_tests.get()
    RunFactory.create(data_test=test, window=day("2026-03-09"), planned_at=None, evaluated_at=None, judged_at=None)
    assert "Nobody has worked what is due in plan" in pages.get(address).content.decode()
    StandingFactory.create(data_test=test, window=day("2026-03-08"), state="UNKNOWN", error_reason="engine unreachable")
    assert "their engine cannot be reached: 1 in sea" in pages.get(address).content.decode()


@pytest.mark.parametrize(
    "shown", ["measured:'freshness'", "measured:'custom'", "figure", "percent", "roughly", "when", "since:now", "after"]
)
def test_every_filter_shows_a_value_that_is_absent(shown: str) -> None:
    template = Template("{% load quality %}{{ standing.value|" + shown + " }}")
    assert template.render(Context({"standing": None, "now": NOW})) in ("–", "none")
