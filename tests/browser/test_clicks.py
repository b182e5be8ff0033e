"""What people come for most, each with the clicks that it takes; what is typed is not counted.

A report (two clicks) and a test of one's own are in ``test_journeys``, a run again with its result in
``test_journey_of_a_repair``.
"""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from alerting.models import Silence
from assay.models import Dataset
from incident_manager.models import Incident
from incident_manager.services import confirm_report, fix_report, report
from tests.browser.hands import Mouse
from tests.browser.scene import LAST, Scene
from tests.factories import HOUR, NOW, DatasetFactory

FARES = "mart.trip_fares"
BOTTOM = "one => one.getBoundingClientRect().bottom"


@pytest.fixture
def mouse(scene: Scene, page: Page) -> Mouse:
    """That of an operator."""
    return Mouse(page=page)


def test_a_table_is_found_and_says_why_it_is_bad_in_one_click(mouse: Mouse) -> None:
    page = mouse.page
    page.goto("/scores")
    page.keyboard.press("/")
    page.keyboard.type("fares")
    mouse.press("link", FARES)
    expect(page.locator("#use .verdict")).to_contain_text("No in sea for 2026-03-09: 2026-03-09 is not complete")
    assert page.locator("#use .verdict").evaluate(BOTTOM) < 900
    assert mouse.clicks == 1


def test_the_root_cause_is_on_the_page_of_the_incident(mouse: Mouse, scene: Scene) -> None:
    Incident.objects.filter(pk=scene.incident.pk).update(root_cause="The loader ran twice.")
    mouse.page.goto(f"/incidents/{scene.incident.pk}")
    expect(mouse.page.locator("#head")).to_contain_text("The loader ran twice.")
    assert mouse.clicks == 0


def test_an_expected_repair_takes_the_field_and_a_click(mouse: Mouse, scene: Scene) -> None:
    mouse.page.goto(f"/incidents/{scene.incident.pk}")
    mouse.write("Expected repair (UTC)", f"{NOW + 5 * HOUR:%Y-%m-%dT%H:%M}")
    mouse.press("button", "Save")
    expect(mouse.page.locator(".flash.success")).to_be_visible()
    assert Incident.objects.get(pk=scene.incident.pk).eta == NOW + 5 * HOUR
    assert mouse.clicks == 2


def test_an_incident_is_muted_from_its_page_by_a_form_that_is_filled(mouse: Mouse, scene: Scene) -> None:
    mouse.page.goto(f"/incidents/{scene.incident.pk}")
    mouse.press("link", "Mute it")
    mouse.page.get_by_label("Reason").fill("It is known.")
    mouse.press("button", "Mute")
    expect(mouse.page.locator(".flash.success")).to_contain_text("Muted until")
    assert Silence.objects.get().dataset == scene.fares
    assert mouse.clicks == 2


def test_pipelines_may_read_a_bad_window_after_two_clicks(mouse: Mouse, scene: Scene) -> None:
    mouse.page.goto(f"/incidents/{scene.incident.pk}")
    mouse.press("link", "Let pipelines read it")
    mouse.press("button", "Let pipelines read it")
    expect(mouse.page.locator(".flash.success")).to_contain_text("The gate only warns until")
    assert mouse.clicks == 2


def test_the_incident_that_made_recall_fall_is_one_click_away(mouse: Mouse) -> None:
    riders = Dataset.objects.get(full_name="raw.riders")
    begun = NOW - timedelta(hours=20)
    row = report(dataset=riders, window=LAST, reporter="bo", description="Half is gone.", saw="rows missing", now=begun)
    confirm_report(row, author="ada", now=begun + HOUR)
    row.refresh_from_db()
    fix_report(row, author="ada", now=NOW - HOUR)
    row.refresh_from_db()
    mouse.page.goto("/scores")
    mouse.press("link", "Missed for 19 h")
    expect(mouse.page.locator("main")).to_contain_text("raw.riders")
    assert row.incident is not None
    expect(mouse.page.locator(f"main a[href='/incidents/{row.incident.pk}']").first).to_be_visible()
    assert mouse.clicks == 1


def test_untested_tables_are_one_click_away(mouse: Mouse) -> None:
    DatasetFactory.create(namespace="mart", name="nobody_tests_it")
    mouse.page.goto("/")
    mouse.page.locator("dt", has_text="Untested").locator("xpath=..").get_by_role("link").click()
    expect(mouse.page.get_by_role("table")).to_contain_text("mart.nobody_tests_it")
