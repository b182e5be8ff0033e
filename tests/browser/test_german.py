"""The pages in German: chosen by the keyboard alone, no wider than the window, without a fault that axe sees."""

import os

from playwright.sync_api import Page, expect

from tests.browser.scene import Scene
from tests.browser.test_axe import FARES, violations

CUT_OFF = """() => [...document.querySelectorAll(".bar :is(a, button, input)")].some((link) =>
    link.getBoundingClientRect().top < 0
    || link.getBoundingClientRect().bottom > document.querySelector(".bar").getBoundingClientRect().bottom)"""


def test_german_is_chosen_by_the_keyboard_and_stays(page: Page, scene: Scene) -> None:
    page.goto("/incidents?state=open")
    page.get_by_role("button", name="Deutsch").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Vorfälle")
    assert page.url.endswith("/incidents?state=open")
    page.goto(f"/{FARES}")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator(".broken-text")).to_contain_text("Verletzt: ")
    page.get_by_role("button", name="English").press("Enter")
    expect(page.locator(".broken-text")).to_contain_text("Broken: ")


def test_german_pages_fit_their_windows_and_have_no_fault(page: Page, scene: Scene, complaints: list[str]) -> None:
    page.goto("/")
    page.get_by_role("button", name="Deutsch").click()
    found: list[str] = []
    for address in ("", FARES, f"incidents/{scene.incident.pk}", "scores", f"{FARES}/problem"):
        page.goto(f"/{address}")
        for width in (1440, 1024, 360):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="light" if width > 1000 else "dark")
            page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            if folder := os.environ.get("ASSAY_SHOTS"):
                page.screenshot(path=f"{folder}/{address.replace('/', '_') or 'home'}-{width}.png", full_page=True)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{address} is wider than {width}")
            if page.evaluate(CUT_OFF):
                found.append(f"at {width} the head of {address} cuts its links off")
            found += violations(page)
    assert found == [], "\n".join(found)
    assert complaints == []
