"""Several incidents are worked from their list by the keyboard, on a phone too."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.scene import Scene
from tests.browser.test_axe import in_both_schemes


@pytest.mark.parametrize("width", [360, 1440])
def test_several_incidents_are_acknowledged_by_the_keyboard_alone(
    scene: Scene, page: Page, complaints: list[str], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/incidents")
    boxes = page.locator("[name=incident]")
    for number in range(2):
        boxes.nth(number).focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Acknowledge").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".flash.success")).to_contain_text("Acknowledged")
    expect(page.locator("#list")).to_contain_text("grace works on it")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert list(in_both_schemes(page)) == []
    assert complaints == []
