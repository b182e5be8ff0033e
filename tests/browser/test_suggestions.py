"""Suggestions in a real browser: asked for on a dataset's page, shown once they are read, accepted and rejected."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Page, expect

from assay.models import Dataset
from test_generator.tasks import suggest
from tests.browser.scene import Scene

WIDTHS = (360, 1440)


def test_they_are_asked_for_shown_and_decided_of(
    scene: Scene, page: Page, complaints: list[str], shots: Path, tmp_path: Path
) -> None:
    for number in range(1, 10):
        folder = tmp_path / f"datestr=2026-03-{number:02d}"
        folder.mkdir()
        cities = ["Rome", "Oslo", "Lima" if number == 9 else "Bonn"] * 30
        pq.write_table(pa.table({"id": range(90), "city of the customer": cities}), folder / "part-0.parquet")
    table = Dataset.objects.get(full_name="mart.trip_fares")
    Dataset.objects.filter(pk=table.pk).update(owner="grace", columns=[])
    table.replicas.update(location=str(tmp_path))
    page.goto("/datasets/mart.trip_fares?tab=tests")
    page.get_by_role("button", name="Suggest tests").click()
    expect(page.locator("main")).to_contain_text("The past is being read")
    page.screenshot(path=shots / "suggestions-reading.png", full_page=True)
    suggest()
    expect(page.locator("main")).to_contain_text("Read 2026-03-10 12:00: 9 partitions", timeout=10_000)
    expect(page.locator("main")).to_contain_text("did not always hold")
    page.get_by_role("button", name="Accept uniqueness(id) = 1").click()
    expect(page.locator(".flash.success")).to_contain_text("the soft test unique-if-approximately-unique-id runs")
    page.get_by_role("button", name="Reject completeness(id) = 1").click()
    expect(page.locator(".flash.success")).to_contain_text("not offered again")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=shots / f"suggestions-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    page.goto("/datasets/mart.trip_fares?tab=tests")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.locator("[aria-labelledby=tests-title]").screenshot(path=shots / f"tests-{width}.png")
    assert complaints == []
