"""Charts in a real browser: a tooltip at the point, by pointer and by keys; dragging zooms; no word covers another."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.pictures import take
from tests.browser.scene import Scene

COVERED = """svgs => svgs.flatMap((svg) => {
    const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    const cross = (one, other) => one.left < other.right - 1 && other.left < one.right - 1
        && one.top < other.bottom - 3 && other.top < one.bottom - 3; // a box is higher than its letters
    return boxes.flatMap(([name, one], i) => boxes.slice(i + 1).filter(([, other]) => cross(one, other))
        .map(([other]) => `${name} covers ${other}`));
})"""


@pytest.fixture
def chart(scene: Scene, page: Page) -> Locator:
    """The completeness of the scene's table: 27 days, of which the last is far off."""
    test = scene.fares.data_tests.get(name="completeness")
    page.goto(f"/datasets/{scene.fares.full_name}?test={test.pk}#plot")
    return page.locator("#plot .charts > div:visible svg")


def move_to(page: Page, chart: Locator, share: float) -> None:
    """The pointer, so far from the left to the right of a chart."""
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)


def test_the_nearest_point_says_its_window_value_and_bound(chart: Locator, page: Page, complaints: list[str]) -> None:
    tip = page.locator(".chart-tip")
    move_to(page, chart, 0.97)
    expect(tip).to_have_text("2026-03-09: 94.31 %, broken, wanted at least 99.9 %")
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    assert complaints == []


def test_arrow_keys_go_from_point_to_point_and_escape_ends_it(chart: Locator, page: Page) -> None:
    tip = page.locator(".chart-tip")
    page.get_by_role("link", name="All tests").focus()
    while not chart.evaluate("chart => chart === document.activeElement"):
        page.keyboard.press("Tab")
    expect(tip).to_contain_text("2026-03-09")
    page.keyboard.press("ArrowLeft")
    expect(tip).to_contain_text("2026-03-08")
    page.keyboard.press("Home")
    expect(tip).to_contain_text("2026-02-11")
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)


def test_dragging_zooms_the_address_keeps_it_and_back_undoes_it(
    chart: Locator, page: Page, complaints: list[str]
) -> None:
    move_to(page, chart, 0.5)
    page.mouse.down()
    move_to(page, chart, 0.8)
    page.mouse.up()
    whole = page.get_by_role("link", name="Show all of the time")
    expect(whole).to_be_visible()
    assert "from=2026-02-2" in page.url
    rows = page.locator("#plot tbody tr")
    zoomed = rows.count()
    assert 6 <= zoomed <= 10
    page.reload()
    expect(rows).to_have_count(zoomed)
    page.go_back()
    expect(rows).to_have_count(27)
    page.go_forward()
    whole.click()
    expect(rows).to_have_count(27)
    assert complaints == []


def test_a_range_that_cannot_be_read_is_told(scene: Scene, page: Page) -> None:
    page.goto("/datasets/mart.trip_fares?from=soon")
    expect(page.locator("#plot").get_by_role("alert")).to_contain_text("The range of time cannot be read")


@pytest.mark.parametrize("width", [320, 360, 800, 1280])
def test_no_word_of_a_chart_covers_another(chart: Locator, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for address in page.locator(".chips a[href*=test]").evaluate_all("links => links.map((link) => link.href)"):
        page.goto(address)
        assert page.locator("#plot .charts > div:visible svg").evaluate_all(COVERED) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take(page, "chart")


def test_without_a_script_a_chart_is_read_all_the_same(
    scene: Scene, page: Page, live_server: LiveServer, browser: Browser
) -> None:
    still = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    still.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    silent = still.new_page()
    silent.goto(f"/datasets/mart.trip_fares?test={scene.fares.data_tests.get(name='freshness').pk}")
    expect(silent.locator("#plot .wide svg")).to_be_visible()
    expect(silent.locator("#plot tbody tr")).to_have_count(27)
    still.close()
