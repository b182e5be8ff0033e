"""The editor in a real browser, by the keyboard alone: names are offered, mistakes are shown, the past is read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from assay.models import Dataset, DataTest
from execution_engine import tasks
from tests.browser.scene import Scene


@pytest.fixture
def table(scene: Scene, tmp_path: Path) -> Dataset:
    """A table of the user's own with 31 days of files, one of which has few rows."""
    for number in range(31):
        key = f"2026-03-{number - 21:02d}" if number > 21 else f"2026-02-{number + 7:02d}"
        folder = tmp_path / f"datestr={key}"
        folder.mkdir()
        count = 12 if key == "2026-03-05" else 90 + number
        pq.write_table(pa.table({"id": range(count), "fare": [2.5] * count}), folder / "part-0.parquet")
    found = Dataset.objects.get(full_name="raw.riders")
    Dataset.objects.filter(pk=found.pk).update(
        owner="grace", columns=[{"name": "fare", "type": "double"}, {"name": "order id", "type": "bigint"}]
    )
    found.replicas.update(location=str(tmp_path))
    return found


def look(page: Page, shots: Path, name: str) -> None:
    """Pictures, narrow in the dark and wide in the light; nothing may be wider than the window."""
    for scheme, width in (("dark", 360), ("light", 1440)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=shots / f"{name}-{scheme}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)


def test_a_test_is_written_tried_and_saved_by_the_keyboard_alone(
    table: Dataset, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto("/datasets/raw.riders")
    page.get_by_role("link", name="Write a test").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Name", exact=True).focus()
    look(page, shots, "editor-empty")
    page.keyboard.type("enough riders")
    page.keyboard.press("Tab")
    page.keyboard.type("compl")
    offers = page.get_by_role("listbox")
    expect(offers.get_by_role("option")).to_have_count(2)  # completeness, compliance
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Assertion")).to_have_attribute("aria-activedescendant", "offer-1")
    page.screenshot(path=shots / "editor-offers.png")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.type("ord")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Assertion")).to_have_value("completeness(`order id`)")
    page.keyboard.press("End")
    page.keyboard.type(" > completeness(far)")
    page.keyboard.press("Escape")
    expect(page.locator("#wrong")).to_contain_text("did you mean fare?")
    expect(page.get_by_label("Assertion")).to_have_attribute("aria-invalid", "true")
    look(page, shots, "editor-wrong")
    page.get_by_label("Assertion").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("row_count() >= 80")
    expect(page.locator("#checked")).to_contain_text("30 were never measured")
    expect(page.locator("#wrong")).to_have_count(0)
    expect(page.get_by_label("Assertion")).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Measure the last 30 windows").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#checked")).to_contain_text("0 of 30 are measured")
    look(page, shots, "editor-reading")
    while tasks.plan() + tasks.scan():
        pass
    expect(page.locator("#checked")).to_contain_text("29 held, 1 broke", timeout=10_000)
    expect(page.locator("#checked .broken").first).to_be_visible()
    expect(page.locator("#checked tbody tr", has_text="2026-03-05").first).to_contain_text("broken: FAIL")
    expect(page.locator("#said")).to_contain_text("1 would be broken")
    look(page, shots, "editor-broken")
    page.get_by_label("Assertion").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("row_count() between 0.5 * median(row_count(), last=7) and 2000")
    expect(page.locator("#checked .limit")).to_have_count(2)
    look(page, shots, "editor-bounds")
    page.get_by_role("button", name="Save").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Saved: enough riders")
    test = DataTest.objects.get(name="enough riders")
    page.get_by_role("link", name="Edit enough riders").click()
    expect(page).to_have_url(f"{page.url.split('/datasets')[0]}/datasets/raw.riders/tests/{test.pk}/edit")
    look(page, shots, "editor-edit")
    assert complaints == []


def test_names_of_datasets_are_those_that_the_user_may_read(table: Dataset, page: Page, complaints: list[str]) -> None:
    Dataset.objects.filter(full_name="raw.drivers").update(readers="nobody")
    page.goto("/datasets/raw.riders/tests/new")
    page.get_by_label("Assertion").press_sequentially("row_count(dataset='raw.")
    options = page.get_by_role("listbox").get_by_role("option")
    expect(options).to_have_count(2)
    expect(options.last).to_contain_text("raw.trips")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.type(")")
    expect(page.get_by_label("Assertion")).to_have_value("row_count(dataset='raw.trips')")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Assertion")).not_to_be_focused()
    assert complaints == []


def test_who_was_logged_out_while_writing_is_told_and_loses_nothing(table: Dataset, page: Page) -> None:
    page.goto("/datasets/raw.riders/tests/new")
    page.get_by_label("Name", exact=True).fill("rows")
    page.context.clear_cookies(name="sessionid")
    page.get_by_label("Assertion").press_sequentially("row_count() > 1")
    expect(page.get_by_role("alert")).to_contain_text("what you typed is kept")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Name").fill("grace")
    page.get_by_label("Password").fill("hopper")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_label("Assertion")).to_have_value("row_count() > 1")
    expect(page.get_by_label("Name", exact=True)).to_have_value("rows")
