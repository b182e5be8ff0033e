"""The search in the head of each page, and a catalogue of which no column is hidden, whatever the screen."""

import pytest
from playwright.sync_api import Page, Route, expect

from assay import clock
from assay.models import Category, Member
from tests.browser.scene import LAST, Scene
from tests.browser.states import busy
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, SpoiltWindowFactory, StandingFactory

FARES = "mart.trip_fares"
LONG = ("warehouse" * 3, ".".join(("daily" * 5, "customers" * 2 + "_orders2")))  # 80 letters in three parts
WIDER = """() => {
  const place = document.querySelector('.scroll'), edge = place.getBoundingClientRect().right;
  return place.scrollWidth <= place.clientWidth ? [] : [...place.querySelectorAll('*')]
    .filter((one) => one.getBoundingClientRect().right > edge).map((one) => one.outerHTML.slice(0, 90));
}"""
CUT = """() => [...document.querySelectorAll('.matrix td, .matrix tbody th, .matrix thead th')]
  .filter((cell) => cell.getBoundingClientRect().width > 2 && cell.scrollWidth > cell.clientWidth + 1)
  .map((cell) => cell.textContent.trim())"""


def test_a_table_is_found_by_the_keyboard_from_any_page(scene: Scene, page: Page, complaints: list[str]) -> None:
    page.goto("/scores")
    page.keyboard.press("/")
    page.keyboard.type("fares")
    hit = page.locator("#hits a").first
    expect(hit).to_have_text(FARES)
    page.keyboard.press("ArrowDown")
    expect(hit).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#hits a")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("trip_f")
    expect(hit).to_have_text(FARES)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(FARES)
    assert complaints == []


def test_hits_that_come_after_the_box_was_left_do_not_open(scene: Scene, page: Page) -> None:
    asked: list[Route] = []
    page.route("**/search?*", lambda route: asked.append(route))
    page.goto("/scores")
    with page.expect_request("**/search?*"):
        page.keyboard.press("/")
        page.keyboard.type("fares")
    page.keyboard.press("Tab")
    with page.expect_response("**/search?*"):
        asked[0].continue_()
    page.wait_for_timeout(300)
    expect(page.locator("#hits a")).to_have_count(0)


def test_a_slash_that_is_typed_is_a_letter(scene: Scene, page: Page) -> None:
    page.goto("/")
    page.get_by_placeholder("name, owner or team").press_sequentially("a/b")
    expect(page.get_by_placeholder("name, owner or team")).to_have_value("a/b")


def test_the_search_is_a_page_where_enter_is_pressed_at_once(scene: Scene, page: Page) -> None:
    page.goto("/scores")
    page.keyboard.press("/")
    page.keyboard.type("riders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search: riders")
    expect(page.locator("main").get_by_role("link", name="raw.riders", exact=True)).to_be_visible()


@pytest.mark.parametrize("width", [360, 768, 1360, 1440, 1920])
def test_no_column_of_the_catalogue_is_hidden_at_any_width(page: Page, width: int) -> None:
    clock.simulate(NOW)
    dataset = DatasetFactory.create(namespace=LONG[0], name=LONG[1], owner="o" * 40)
    test = DataTestFactory.create(dataset=dataset, category=Category.COMPLETENESS)
    StandingFactory.create(data_test=test, window=LAST, state="FAIL")
    SpoiltWindowFactory.create(
        incident=IncidentFactory.create(dataset=dataset, category=Category.COMPLETENESS), data_test=test, window=LAST
    )
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(WIDER) == []
    assert page.evaluate(CUT) == []


def test_six_incidents_leave_the_first_rows_in_sight(page: Page) -> None:
    clock.simulate(NOW)
    busy()
    Member.objects.filter(user__username="grace").update(role="admin")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/")
    expect(page.locator(".incident-card")).to_have_count(6)
    for place in ("#matrix tbody tr:nth-child(2)", "#search input", ".filters"):
        box = page.locator(place).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900, place
