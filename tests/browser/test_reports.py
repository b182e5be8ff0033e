"""Reports in a real browser, by the keyboard alone: a problem is reported in two clicks, known, confirmed and fixed."""

from pathlib import Path

from playwright.sync_api import Page, expect

from assay.models import Dataset
from incident_manager.models import Report
from incident_manager.services import report
from tests.browser.scene import LAST, Scene
from tests.browser.test_editor import look
from tests.factories import NOW


def press(page: Page, role: str, name: str) -> None:
    """Press a link or button by the keyboard."""
    page.get_by_role(role, name=name, exact=True).focus()  # type: ignore[arg-type]
    page.keyboard.press("Enter")


def test_a_problem_is_reported_in_two_clicks(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.goto("/datasets/raw.riders")
    page.get_by_role("link", name="Report a problem").click()
    page.get_by_role("button", name="Report to ada").click()
    expect(page.locator(".flash.success")).to_contain_text("is saved. ada is told now, as incident")
    assert Report.objects.get().window == LAST
    assert complaints == []


def test_who_reports_what_is_known_is_told_so_and_joins_it(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto("/datasets/mart.trip_fares")
    press(page, "link", "Report a problem")
    expect(page.locator("#known")).to_contain_text(f"Incident {scene.incident.pk}: completeness of mart.trip_fares")
    expect(page.get_by_label("What you saw")).to_be_focused()
    look(page, shots, "problem-known")
    page.get_by_label("First bad partition").select_option("2026-03-01")
    page.get_by_label("Last bad partition").select_option("2026-03-01")
    expect(page.locator("#known")).to_contain_text("Nothing is known of this yet")
    page.get_by_label("Last bad partition").select_option("2026-03-09")
    expect(page.locator("#known")).to_contain_text("they are known already", ignore_case=True)
    page.get_by_label("First bad partition").select_option("2026-03-09")
    page.get_by_label("Note").fill("Half of Monday is missing.")
    press(page, "button", f"This is it: incident {scene.incident.pk}")
    expect(page.locator(".flash.success")).to_contain_text("This is known already as incident")
    assert scene.incident in Report.objects.get().joined.all()
    assert complaints == []


def test_a_report_is_confirmed_and_fixed_in_the_inbox(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto("/reports")
    expect(page.locator("main")).to_contain_text("No report waits")
    look(page, shots, "reports-empty")
    riders = Dataset.objects.get(full_name="raw.riders")
    Dataset.objects.filter(pk=riders.pk).update(owner="grace")
    for name, saw in (("raw.riders", "rows missing"), ("raw.drivers", "values wrong")):
        table = Dataset.objects.get(full_name=name)
        report(dataset=table, window=LAST, reporter="bo", description="Half of it is gone.", saw=saw, now=NOW)
    page.goto("/")
    expect(page.get_by_role("link", name="Reports 1 wait for you")).to_be_visible()
    press(page, "link", "Reports 1 wait for you")
    expect(page.locator(".inbox li")).to_have_count(2)
    look(page, shots, "reports-open")
    mine = Report.objects.get(dataset=riders)
    press(page, "button", f"Confirm report {mine.pk}")
    expect(page.locator(".flash.success")).to_contain_text("is confirmed")
    expect(page.get_by_role("link", name="Write the missing test")).to_be_visible()
    look(page, shots, "reports-confirmed")
    press(page, "button", f"Report {mine.pk} is fixed")
    expect(page.locator(".flash.success")).to_contain_text("is fixed; bo is told")
    expect(page.locator(".inbox li")).to_have_count(1)
    page.get_by_label("State").select_option("fixed")
    press(page, "button", "Show")
    expect(page.locator(".inbox li")).to_contain_text("raw.riders")
    assert complaints == []
