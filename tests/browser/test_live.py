"""Pages keep themselves new: nobody reloads to see that data has healed."""

import re

from playwright.sync_api import Page, expect

from alerting.models import Standing
from assay import clock
from incident_manager.models import Incident, SpoiltWindow
from tests.browser.scene import LAST, Scene
from tests.factories import NOW

# The next look comes at once; the minute that a request may take stays.
SOON = """window.setTimeout = ((set) => (f, ms, ...more) =>
  set(f, ms > 20000 ? ms : Math.min(ms, 200), ...more))(window.setTimeout)"""


def heal(incident: Incident) -> None:
    """As the service would: its windows hold again."""
    SpoiltWindow.objects.filter(incident=incident).update(healed_at=NOW, how="auto")
    Standing.objects.filter(data_test__dataset=incident.dataset).update(state="PASS", last_outcome="held")
    Incident.objects.filter(pk=incident.pk).update(resolved_at=NOW, resolution="auto", open_key=None)


def test_an_incident_heals_before_ones_eyes_and_what_is_being_typed_stays(
    scene: Scene, page: Page, complaints: list[str]
) -> None:
    page.add_init_script(SOON)
    page.goto(f"/incidents/{scene.incident.pk}")
    expect(page.locator("#head")).to_contain_text("5.7 % of the rows are missing on 2026-03-09.")
    page.get_by_label("Root cause").fill("The loader ran out of disk")
    heal(scene.incident)
    expect(page.locator("#head")).to_contain_text("Resolved")
    expect(page.locator("#head")).to_contain_text("nothing: it is resolved")
    expect(page.get_by_label("Root cause")).to_have_value("The loader ran out of disk")
    assert complaints == []


def test_the_page_of_a_dataset_turns_good_without_a_reload(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.add_init_script(SOON)
    page.goto("/datasets/mart.trip_fares")
    expect(page.locator("#use")).to_contain_text("No")
    expect(page.locator("#status")).to_contain_text("Bad")
    for incident in Incident.objects.filter(dataset=scene.fares, resolved_at=None):
        heal(incident)
    expect(page.locator("#status")).to_contain_text("Good")
    expect(page.locator("#use")).to_have_class(re.compile("allow"))
    page.goto("/datasets/mart.trip_fares?tab=days")
    page.get_by_text("What the signs mean").click()
    Standing.objects.filter(data_test__dataset=scene.fares, window_start=LAST.start).update(state="FAIL")
    expect(page.locator("#status")).to_contain_text("Bad")
    expect(page.locator(".signs dl")).to_be_visible()  # what was unfolded stays so
    assert complaints == []


def test_who_stands_on_a_button_stays_there_while_the_page_renews_itself(scene: Scene, page: Page) -> None:
    page.add_init_script(SOON)
    page.goto(f"/incidents/{scene.incident.pk}")
    page.get_by_role("button", name="Run again now").focus()
    Incident.objects.filter(pk=scene.incident.pk).update(acknowledged_at=NOW, acknowledged_by="ada")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    expect(page.get_by_role("button", name="Run again now")).to_be_focused()
    heal(scene.incident)
    expect(page.get_by_role("button", name="Run again now")).to_have_count(0)
    expect(page.locator("#act")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#main :focus")).to_be_visible()


def test_the_catalogue_turns_good_by_itself_and_keeps_its_filter(scene: Scene, page: Page) -> None:
    page.add_init_script(SOON)
    page.goto("/")
    page.get_by_label("Find").press_sequentially("fares")
    expect(page.locator("#matrix tbody tr")).to_have_count(1)
    for incident in Incident.objects.filter(dataset=scene.fares, resolved_at=None):
        heal(incident)
    expect(page.locator("#matrix tbody td").first).to_contain_text("Good")
    expect(page.locator("#figures .bad")).to_have_count(0)
    expect(page.locator("#matrix tbody tr")).to_have_count(1)


def test_who_was_logged_out_is_told_that_the_page_stands_still(scene: Scene, page: Page) -> None:
    page.add_init_script(SOON)
    page.goto(f"/incidents/{scene.incident.pk}")
    page.context.clear_cookies(name="sessionid")
    expect(page.get_by_text("You are logged out")).to_be_visible()
    expect(page.get_by_text("You are logged out")).to_have_count(1)


def test_the_range_is_asked_by_keyboard_alone(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.goto("/datasets/mart.trip_fares")
    page.get_by_label("From", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("2026-03-08")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("2026-03-08")
    page.keyboard.press("Enter")
    expect(page.locator("#use .verdict")).to_contain_text("Yes")
    assert "last=2026-03-08" in page.url
    assert clock.now() == NOW
    assert complaints == []
