"""The page of a dataset answers first: may I use this, why not, until when; all else lies on tabs."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from assay.models import Dataset, LineageEdge
from incident_manager.models import Incident
from tests.browser.scene import Scene
from tests.factories import HOUR, NOW, IncidentFactory, SpoiltWindowFactory, StandingFactory

FARES = "/datasets/mart.trip_fares"
TABS = ("Overview", "Days", "Tests", "Columns", "Lineage", "Settings")
BOTTOM = "one => one.getBoundingClientRect().bottom + scrollY"


@pytest.fixture
def bad_source(scene: Scene) -> Incident:
    """What feeds the fares is bad too, and its owner expects it back."""
    trips = Dataset.objects.get(full_name="raw.trips")
    test = trips.data_tests.get(name="duplicates")
    test.standings.all().delete()
    StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken", value=0.5)
    incident: Incident = IncidentFactory.create(dataset=trips, category="duplicates")
    SpoiltWindowFactory.create(incident=incident, data_test=test)
    Incident.objects.filter(dataset=scene.fares, resolved_at=None).update(eta=NOW + 4 * HOUR)
    return incident


def test_whether_one_may_use_yesterday_is_seen_without_a_click(
    scene: Scene, bad_source: Incident, page: Page, complaints: list[str]
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(FARES)
    answer = page.locator("#use .verdict")
    expect(answer).to_contain_text("No in sea for 2026-03-09: 2026-03-09 is not complete 12 h after its end (#")
    expect(answer).to_contain_text("expected back at")
    expect(answer).to_contain_text("No in phx: 0.2 % of the rows that sea has are missing in phx.")
    assert answer.evaluate(BOTTOM) < 900
    assert page.locator("#strips").evaluate(BOTTOM) < 900
    expect(page.locator("#strips dt")).to_have_text(["sea", "phx"])
    expect(page.locator("#plot .charts > div:visible svg")).to_be_visible()
    expect(page.locator("#path li").first).to_contain_text("raw.trips")
    expect(page.locator("#path li").first).to_contain_text("50 % of the rows are duplicates on 2026-03-09.")
    expect(page.locator("#path li")).to_have_count(2)  # raw.riders, which is good, is not on the way
    assert LineageEdge.objects.filter(downstream=scene.fares).count() == 2
    assert complaints == []


def test_tabs_keep_the_range_and_the_place_and_need_no_script(
    scene: Scene, browser: Browser, live_server: LiveServer, page: Page
) -> None:
    context = browser.new_context(
        base_url=live_server.url, java_script_enabled=False, storage_state=page.context.storage_state()
    )
    silent = context.new_page()
    silent.set_viewport_size({"width": 1440, "height": 900})
    silent.goto(f"{FARES}?first=2026-03-08&last=2026-03-08&datacenter=phx")
    for name in TABS[1:]:
        silent.locator(".tabs").get_by_role("link", name=name).click()
        expect(silent.locator(".tabs [aria-current]")).to_have_text(name)
    silent.locator(".tabs").get_by_role("link", name="Overview").click()
    expect(silent.get_by_label("To", exact=True)).to_have_value("2026-03-08")
    expect(silent.locator("#use .verdict")).to_contain_text("in phx")
    context.close()


def test_pipelines_are_let_read_in_two_clicks(scene: Scene, page: Page) -> None:
    page.goto(FARES)
    page.get_by_role("link", name="Let pipelines read it").click()
    expect(page.get_by_label("Reason")).to_have_value(re.compile(r"Incident \d+ is known"))
    page.get_by_role("button", name="Let pipelines read it").click()
    expect(page.locator(".flash.success")).to_contain_text("The gate only warns until")


def test_tests_are_called_by_what_they_ask_and_each_row_has_one_assertion(scene: Scene, page: Page) -> None:
    page.goto(f"{FARES}?tab=tests")
    row = page.locator("#tests tbody tr", has_text="As many rows in phx as in sea, whole table")
    expect(row).to_contain_text("the share of rows that phx has is 0.9975, below 0.999")
    expect(row.locator(".assertion")).to_have_count(0)
    expect(page.locator("#tests tbody tr", has_text="fare is filled").locator(".assertion")).to_have_count(1)
    expect(page.locator("#tests")).not_to_contain_text("consistency-count")
