"""Pages on a phone, of a table whose name has 80 letters in three parts."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from assay import clock
from assay.models import Category, Dataset
from tests.browser.scene import DAYS, LAST, commit_daily
from tests.factories import (
    DAY,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
    ReportFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
)

PARTS = ("warehouse" * 3, "daily" * 5, "customers" * 2 + "_orders2")
FITS = "document.documentElement.scrollWidth <= innerWidth"
WIDE = """() => [...document.querySelectorAll('main *, header *')].filter((each) => {
  const box = each.getBoundingClientRect();
  return box.right > innerWidth + 1 && !each.closest('.scroll') && !each.closest('.sr-only');
}).map((each) => `${each.tagName}.${each.className} ${Math.round(each.getBoundingClientRect().right)}`).slice(0, 8)"""


@pytest.fixture
def table(page: Page) -> Dataset:
    """A bad table with a long name, 28 days of results, and a neighbour with a longer one."""
    namespace, name = PARTS[0], ".".join(PARTS[1:])
    assert len(f"{namespace}.{name}") == 80
    dataset: Dataset = DatasetFactory.create(namespace=namespace, name=name, owner="grace", tier=0, team="x" * 40)
    LineageEdgeFactory.create(upstream=DatasetFactory.create(name="y" * 100), downstream=dataset)
    test = DataTestFactory.create(dataset=dataset, name="rows_of_" + "z" * 60, category=Category.COMPLETENESS)
    for window in DAYS:
        RunFactory.create(data_test=test, window=window)
        StandingFactory.create(data_test=test, window=window, **({"state": "FAIL"} if window == LAST else {}))
    incident = IncidentFactory.create(dataset=dataset, category=Category.COMPLETENESS)
    SpoiltWindowFactory.create(incident=incident, data_test=test, window=LAST)
    ReportFactory.create(dataset=dataset, description="w" * 90)
    commit_daily(dataset, late_at=NOW - DAY, fault=f"{dataset}: /{'deep' * 20}/part-0.parquet cannot be listed")
    clock.simulate(NOW)
    page.set_viewport_size({"width": 360, "height": 800})
    return dataset


ADDRESSES = {
    "dataset": "/datasets/{name}",
    **{tab: f"/datasets/{{name}}?tab={tab}" for tab in ("days", "tests", "lineage", "settings")},
    "editor": "/datasets/{name}/tests/new",
    "coverage": "/coverage",
    "tables": "/tables",
    "incident": "/incidents/{incident}",
    "catalogue": "/",
    "incidents": "/incidents",
    "scores": "/scores",
    "team": "/teams/{team}",
    "reports": "/reports",
    "backtest": "/datasets/{name}/backtest",
    "columns": "/datasets/{name}/columns",
}


def test_no_page_is_wider_than_a_phone(page: Page, table: Dataset, shots: Path) -> None:
    wide = {}
    for name, address in ADDRESSES.items():
        page.goto(address.format(name=table.full_name, team=table.team, incident=table.incidents.get().pk))
        page.screenshot(path=shots / f"{name}.png", full_page=True)
        if not page.evaluate(FITS):
            wide[name] = page.evaluate(WIDE)
    assert wide == {}


def test_the_days_begin_with_the_newest_and_a_table_that_is_cut_says_so(
    page: Page, table: Dataset, shots: Path
) -> None:
    page.goto(f"/datasets/{table.full_name}?tab=days")
    newest = page.locator("table.grid thead .upright").last.bounding_box()
    assert newest is not None
    assert 0 < newest["x"] < 360
    place = page.locator(".scroll", has=page.locator("table.grid"))
    place.screenshot(path=shots / "days.png")
    assert "gradient" in place.evaluate("each => getComputedStyle(each).backgroundImage")


def test_what_one_taps_is_24_pixels_high_and_links_are_readable(page: Page, table: Dataset) -> None:
    home = f"/datasets/{table.full_name}"
    for address in ("/", home, f"{home}?tab=days", f"{home}?tab=tests", f"{home}?tab=settings", "/scores"):
        page.goto(address)
        small = page.evaluate(
            """() => [...document.querySelectorAll('main button, main summary, main .chips a, .bar a, .tabs a, '
              + '.grid a, .foot button, .foot a, .bar button, main .crumbs a')]
              .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 24)
              .map((each) => `${each.textContent.trim().slice(0, 30)} ${each.getBoundingClientRect().height}`)"""
        )
        assert small == [], address
