"""The pages in a real browser: they show what is there, and their forms do what they say."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from incident_manager.models import Incident
from tests.browser.scene import Scene


def test_the_catalogue_shows_open_incidents_before_all_else(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto("/")
    first = page.locator("#matrix tbody tr").first
    expect(first).to_contain_text("mart.trip_fares")
    expect(first.locator(".pill.fail, .sign.fail")).to_have_count(3)  # the table, and two of its categories
    expect(page.locator(".incident-card")).to_have_count(1)  # of the root cause alone
    expect(page.locator(".incident-card")).to_contain_text("2026-03-09 is not complete 12 h after its end")
    expect(page.locator(".incident-card")).to_contain_text("with it completeness")
    page.screenshot(path=shots / "catalogue.png", full_page=True)
    assert complaints == []


def test_the_catalogue_filters_while_one_types(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.goto("/")
    page.get_by_label("Find").press_sequentially("riders")
    expect(page.locator("#matrix tbody tr")).to_have_count(1)
    expect(page.locator("#matrix tbody tr")).to_contain_text("raw.riders")
    assert "q=riders" in page.url
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_dataset_page_draws_days_results_and_lineage(
    scene: Scene, page: Page, complaints: list[str], shots: Path, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto("/datasets/mart.trip_fares?tab=days")
    expect(page.locator(".grid tbody tr")).to_have_count(4)
    expect(page.locator(".grid .dot.fail")).to_have_count(2)
    page.get_by_role("link", name="Lineage").click()
    expect(page.locator("#lineage .box[aria-current]")).to_contain_text("mart.trip_fares")
    page.get_by_role("link", name="Tests", exact=True).click()
    page.get_by_role("link", name="Complete in time").click()
    expect(page.locator("#plot .wide svg")).to_be_visible()
    expect(page.locator("#plot tbody tr")).to_have_count(27)
    page.screenshot(path=shots / f"dataset-{scheme}.png", full_page=True)
    assert complaints == []


def test_the_incident_page_tells_what_is_spoilt_and_why(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto(f"/incidents/{scene.incident.pk}")
    expect(page.locator("main")).to_contain_text("Muted: its cause is freshness of mart.trip_fares")
    expect(page.locator("main")).to_contain_text("48213")
    expect(page.locator(".timeline li")).to_have_count(3)
    page.screenshot(path=shots / "incident.png", full_page=True)
    assert complaints == []


def test_force_resolve_through_the_form_ends_the_incident(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.goto(f"/incidents/{scene.incident.pk}")
    page.get_by_text("False positive: the data is right, the test was wrong").click()
    page.locator("#force").get_by_label("Reason").fill("The bound was copied from another table.")
    page.locator("#force").get_by_role("button").click()
    expect(page.get_by_role("status").first).to_contain_text("Resolved as a false positive")
    incident = Incident.objects.get(pk=scene.incident.pk)
    assert (incident.resolution, incident.open_key) == ("forced", None)
    assert incident.timeline.filter(actor="grace", event="forced").exists()
    assert complaints == []


def test_what_is_typed_when_a_session_ends_is_there_after_the_login(scene: Scene, page: Page) -> None:
    page.goto(f"/incidents/{scene.incident.pk}")
    page.get_by_label("Root cause").fill("The feed of Tuesday was cut off.")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Name").fill("grace")
    page.get_by_label("Password").fill("hopper")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("status").first).to_contain_text("nothing was done")
    expect(page.get_by_label("Root cause")).to_have_value("The feed of Tuesday was cut off.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    assert Incident.objects.get(pk=scene.incident.pk).root_cause == "The feed of Tuesday was cut off."


def test_the_scores_page_counts_the_open_incidents(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto("/scores")
    expect(page.locator("tbody tr", has_text="mart.trip_fares").first).to_contain_text("open")
    page.screenshot(path=shots / "scores.png", full_page=True)
    assert complaints == []


def test_a_narrow_screen_need_not_scroll_sideways(scene: Scene, page: Page, shots: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for address in ("/", "/datasets/mart.trip_fares", f"/incidents/{scene.incident.pk}", "/scores"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    page.goto("/datasets/mart.trip_fares")
    page.screenshot(path=shots / "narrow.png")


@pytest.mark.parametrize("address", ["/", "/incidents", "/scores", "/datasets/mart.trip_fares", "/nowhere"])
def test_a_script_that_got_into_a_page_does_not_run(
    scene: Scene, page: Page, complaints: list[str], address: str
) -> None:
    page.goto(address)
    complaints.clear()
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.stolen = document.cookie";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='window.stolen = 1'>");
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("() => typeof window.stolen") == "undefined"
    assert any("Content Security Policy" in said for said in complaints)


def without_headers(route: Route) -> None:
    """Take away what the server forbids."""
    route.fulfill(response=route.fetch(), headers={"Content-Type": "text/html"})


@pytest.mark.parametrize("is_forbidden", [True, False])
def test_a_foreign_site_can_frame_a_page_only_without_our_headers(scene: Scene, page: Page, is_forbidden: bool) -> None:
    if not is_forbidden:
        page.route("**/login", without_headers)
    inside = page.url
    page.goto("about:blank")
    page.set_content(f"<iframe src='{inside}login'></iframe>")
    page.wait_for_timeout(300)
    assert ("Log in" not in page.frames[1].content()) == is_forbidden


def test_what_a_user_wrote_is_shown_as_text(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.goto(f"/incidents/{scene.incident.pk}")
    page.get_by_label("Root cause").fill("<script>window.stolen = 1</script><b id=bold>late</b>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("<b id=bold>late</b>")
    expect(page.locator("#bold")).to_have_count(0)
    assert complaints == []
