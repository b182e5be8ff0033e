"""Times are shown and written in the reader's zone, and sent in UTC."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from incident_manager.models import Incident, Report
from tests.browser.scene import Scene


@pytest.mark.parametrize("time_zone", ["Australia/Adelaide"])
def test_an_expected_repair_is_written_and_shown_by_the_clock_of_the_reader(
    scene: Scene, page: Page, complaints: list[str]
) -> None:
    page.goto(f"/incidents/{scene.incident.pk}")
    field = page.get_by_label("Expected repair (Australia/Adelaide)")
    field.fill("2026-03-11T10:45")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".flash.success")).to_be_visible()
    assert Incident.objects.get(pk=scene.incident.pk).eta == datetime(2026, 3, 11, 0, 15, tzinfo=UTC)
    expect(field).to_have_value("2026-03-11T10:45")
    expect(page.locator(".timeline time").last).to_have_attribute(
        "title", "2026-03-10 22:30 Australia/Adelaide (2026-03-10 12:00 UTC)"
    )
    assert complaints == []


@pytest.mark.parametrize("time_zone", ["Australia/Adelaide"])
def test_a_report_and_a_backtest_take_times_by_the_clock_of_the_reader(
    scene: Scene, page: Page, complaints: list[str]
) -> None:
    page.goto("/datasets/raw.riders/backtest")
    expect(page.get_by_label("From (Australia/Adelaide)")).to_be_visible()
    page.goto("/datasets/raw.riders")
    page.get_by_role("link", name="Report a problem").click()
    page.get_by_text("Another time").click()
    page.get_by_label("From (Australia/Adelaide)").fill("2026-03-09T10:30")
    page.get_by_label("To (Australia/Adelaide)").fill("2026-03-09T12:30")
    page.get_by_role("button", name="Report to ada").click()
    expect(page.locator(".flash.success")).to_be_visible()
    assert Report.objects.get().window_start == datetime(2026, 3, 9, 0, 0, tzinfo=UTC)
    assert complaints == []
