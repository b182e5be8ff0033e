"""The lineage is readable with sixty and with six hundred neighbours of long names, on a phone too."""

import pytest
from playwright.sync_api import Page, expect

from assay.models import Dataset, LineageEdge
from tests.browser.scene import Scene
from tests.browser.test_axe import in_both_schemes
from tests.factories import DatasetFactory

NAME = "warehouse_of_the_north_{0:03}.domain_of_trips_and_fares.fact_table_of_each_day_{0:03}"
SMALLEST = """() => Math.min(...[...document.querySelectorAll("#lineage *")]
    .filter((one) => one.checkVisibility())
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""
CUT = """() => [...document.querySelectorAll("#lineage .name, #lineage .box")]
    .filter((one) => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.textContent)"""


def surround(dataset: Dataset, count: int) -> None:
    """Give it so many neighbours, half of them upstream."""
    for number in range(count):
        namespace, _, name = NAME.format(number).partition(".")
        other = DatasetFactory.create(namespace=namespace, name=name)
        pair = (other, dataset) if number % 2 else (dataset, other)
        LineageEdge.objects.create(upstream=pair[0], downstream=pair[1], source="push")


@pytest.mark.parametrize("width", [360, 768, 1440, 1920])
def test_names_fit_their_boxes_and_a_column_unfolds(
    scene: Scene, page: Page, complaints: list[str], width: int
) -> None:
    surround(scene.fares, 600 if width == 1440 else 60)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/datasets/mart.trip_fares?tab=lineage")
    upstream = page.locator("#lineage .hop", has_text="1 step upstream")
    expect(upstream.locator(".folded")).to_have_count(2)  # of good ones and of untested ones
    upstream.locator(".folded").last.click()
    expect(upstream.get_by_role("link", name="warehouse_of_the_north_001.")).to_be_visible()
    assert page.evaluate(SMALLEST) >= 11
    assert page.evaluate(CUT) == []
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert page.locator("#lineage svg").first.is_visible() == (width > 900)
    upstream.get_by_role("link", name="fold").click()
    expect(upstream.locator(".folded")).to_have_count(2)  # of good ones and of untested ones
    assert list(in_both_schemes(page)) == []
    assert complaints == []
