"""Times are shown and written in the reader's zone, and sent in UTC."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from incident_manager.models import Incident
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
