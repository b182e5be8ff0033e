"""Journeys of users, from the catalogue to the end: each by mouse, and by the keyboard alone."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from assay.models import Dataset, DataTest, Origin
from execution_engine import tasks
from incident_manager.models import Report
from incident_manager.services import report
from tests.browser.hands import Hands, hands_of
from tests.browser.scene import LAST, Scene
from tests.factories import NOW

FARES, RIDERS = "mart.trip_fares", "raw.riders"


@pytest.fixture(params=["mouse", "keyboard"])
def hands(request: pytest.FixtureRequest, scene: Scene, page: Page) -> Hands:
    """Those of a user who has the catalogue before them; the page is opened by nothing else from here on."""
    page.goto("/")
    return hands_of(request.param, page)


def on_page(page: Page, title: str) -> None:
    """Wait until the page with this heading is there."""
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)


def test_a_known_problem_is_reported_and_joins_its_incident(scene: Scene, hands: Hands, complaints: list[str]) -> None:
    page = hands.page
    hands.press("link", FARES)
    on_page(page, FARES)
    hands.press("link", "Report a problem")
    expect(page.get_by_label("What you saw")).to_be_focused()
    expect(page.locator("#known")).to_contain_text(f"Incident {scene.incident.pk}: completeness of {FARES}")
    hands.choose("What you saw", "rows missing")
    hands.choose("First bad partition", "2026-03-05")
    hands.choose("Last bad partition", "2026-03-05")
    expect(page.locator("#known")).to_contain_text("Nothing is known of this yet")
    hands.choose("First bad partition", "2026-03-09")
    hands.choose("Last bad partition", "2026-03-09")
    expect(page.locator("#known")).to_contain_text("they are known already", ignore_case=True)
    hands.write("Note (may stay empty)", "Half of Monday is missing.")
    hands.press("button", f"This is it: incident {scene.incident.pk}")
    expect(page.locator(".flash.success")).to_contain_text("This is known already as incident")
    assert scene.incident in Report.objects.get().joined.all()
    assert complaints == []
    assert hands.took(clicks=14, keys=70), hands


def test_who_is_about_to_join_an_incident_keeps_the_focus_while_the_answer_is_asked_again(
    scene: Scene, page: Page, complaints: list[str]
) -> None:
    page.goto(f"/datasets/{FARES}")
    page.get_by_role("link", name="Report a problem").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_label("Note (may stay empty)").fill("Half of Monday is missing.")
    this = page.get_by_role("button", name=f"This is it: incident {scene.incident.pk}")
    this.focus()  # the note is left, which is a change of the form: it says nothing of what is known
    page.wait_for_timeout(300)
    assert asked == []

    mark = "(button) => { button.dataset.first = 'yes'; }"
    this.evaluate(mark)
    with page.expect_response(lambda answer: "part=known" in answer.url):
        page.get_by_label("Datacenter").evaluate("(list) => list.dispatchEvent(new Event('change', {bubbles: true}))")
    expect(this).not_to_have_attribute("data-first", "yes")  # it is the new answer's
    expect(this).to_be_focused()
    assert complaints == []


def test_a_new_problem_is_reported_in_two_clicks(scene: Scene, hands: Hands, complaints: list[str]) -> None:
    hands.press("link", RIDERS)
    on_page(hands.page, RIDERS)
    hands.begin()
    hands.press("link", "Report a problem")
    hands.press("button", "Report to ada")
    expect(hands.page.locator(".flash.success")).to_contain_text("is saved. It is incident")
    assert Report.objects.get().window == LAST
    assert complaints == []
    assert hands.took(clicks=2, keys=18), hands


def test_a_report_is_confirmed_and_then_fixed_in_the_inbox(scene: Scene, hands: Hands, complaints: list[str]) -> None:
    page, table = hands.page, Dataset.objects.get(full_name=RIDERS)
    Dataset.objects.filter(pk=table.pk).update(owner="grace")
    row = report(dataset=table, window=LAST, reporter="bo", description="Half is gone.", saw="rows missing", now=NOW)
    hands.press("link", RIDERS)
    on_page(page, f"{RIDERS} Reported")
    expect(page.locator("#use .verdict")).to_contain_text("With care")
    hands.press("link", "Reports 1 wait for you")
    on_page(page, "Reports")
    hands.press("button", f"Confirm report {row.pk}")
    expect(page.locator(".flash.success")).to_contain_text("is confirmed: the gate blocks")
    hands.press("link", RIDERS)
    on_page(page, f"{RIDERS} Bad")
    expect(page.locator("#use .verdict")).to_contain_text("No")
    hands.press("link", "Reports")
    on_page(page, "Reports")
    hands.press("button", f"Report {row.pk} is fixed")
    expect(page.locator(".flash.success")).to_contain_text("is fixed; bo is told")
    expect(page.locator("main")).to_contain_text("No report waits")
    hands.choose("State", "fixed")
    hands.press("button", "Show")
    expect(page.locator(".inbox li")).to_have_count(1)
    hands.press("link", RIDERS)
    on_page(page, f"{RIDERS} Good")
    expect(page.locator("#use .verdict")).to_contain_text("Yes")
    assert complaints == []
    assert hands.took(clicks=10, keys=92), hands


def test_a_gate_is_overridden_for_a_time(scene: Scene, hands: Hands, complaints: list[str]) -> None:
    page = hands.page
    hands.press("link", FARES)
    on_page(page, FARES)
    assert gate(FARES) == ("block", [])
    hands.press("link", "Let pipelines read it")
    expect(page.get_by_label("Window, a key or START/END")).to_have_value("2026-03-09")
    hands.press("button", "Let pipelines read it")
    expect(page.locator(".flash.success")).to_contain_text("The gate only warns until 2026-03-10 16:00")
    decision, reasons = gate(FARES)
    assert decision == "warn"
    assert any("is known." in reason for reason in reasons)
    expect(page.locator("#use .verdict")).to_contain_text("With care in sea for 2026-03-09")
    hands.press("link", "Settings")
    hands.press("button", "End now")
    expect(page.locator(".flash.success")).to_contain_text("Ended: the gate blocks again")
    assert gate(FARES) == ("block", [])
    assert complaints == []
    assert hands.took(clicks=5, keys=85), hands


def test_a_test_is_written_wrongly_then_rightly_tried_and_saved(
    riders: Dataset, hands: Hands, complaints: list[str]
) -> None:
    page = hands.page
    hands.press("link", RIDERS)
    on_page(page, RIDERS)
    hands.press("link", "Tests")
    hands.press("link", "Write a test")
    on_page(page, "Write a test")
    hands.write("Name", "enough riders")
    hands.write("Assertion", "compl")
    hands.take("completeness(")
    page.keyboard.type("far")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(1)
    page.keyboard.type("x")
    page.keyboard.press("End")
    page.keyboard.type(" >= 1")
    expect(page.locator("#wrong")).to_contain_text("did you mean fare?")
    expect(page.locator("#wrong pre")).to_contain_text("^")
    expect(page.get_by_label("Assertion")).to_have_attribute("aria-invalid", "true")
    hands.write("Assertion", "row_count() >= 80")
    expect(page.locator("#wrong")).to_have_count(0)
    expect(page.locator("#checked")).to_contain_text("30 were never measured")
    hands.press("button", "Measure the last 30 windows")
    expect(page.locator("#checked")).to_contain_text("0 of 30 are measured")
    while tasks.plan() + tasks.scan():
        pass
    expect(page.locator("#checked")).to_contain_text("29 held, 1 broke", timeout=10_000)
    expect(page.locator("#checked tbody tr", has_text="2026-03-05").first).to_contain_text("broken: FAIL")
    expect(page.locator("#checked")).to_contain_text("It would have opened 1 incident")
    expect(page.locator("#said")).to_contain_text("1 would be broken")
    hands.write("Assertion", "row_count() between 0.5 * median(row_count(), last=7) and 2000")
    expect(page.locator("#checked .wide .bound-text")).to_have_count(2)
    hands.unfold("The same as YAML for a catalog file")
    expect(page.locator("#checked pre")).to_contain_text("name: enough riders")
    hands.press("button", "Save")
    expect(page.get_by_role("status").first).to_contain_text("Saved: enough riders")
    expect(page.locator("#plot")).to_contain_text("row_count() between 0.5 * median(row_count(), last=7) and 2000")
    assert DataTest.objects.get(name="enough riders").origin == Origin.USER
    hands.press("link", "Edit enough riders")
    on_page(page, "Edit enough riders")
    expect(page.get_by_label("Assertion")).to_have_value(
        "row_count() between 0.5 * median(row_count(), last=7) and 2000"
    )
    assert complaints == []
    assert hands.took(clicks=12, keys=93), hands


def gate(name: str) -> tuple[str, list[str]]:
    """What the API answers a pipeline, and the reasons that speak of an override."""
    client = Client()
    client.force_login(User.objects.get(username="grace"))
    body = {"datasets": [name], "window": "2026-03-09", "pipeline": "fares"}
    answer = client.post("/api/v1/gate", body, content_type="application/json").json()
    reasons = [str(reason) for reason in answer["reasons"]]
    return answer["decision"], [reason for reason in reasons if "overridden" in reason.lower()]
