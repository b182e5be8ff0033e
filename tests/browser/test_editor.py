"""The editor in a real browser: whose names it offers, and what becomes of the text when a session ends."""

from playwright.sync_api import Page, expect

from assay.models import Dataset
from execution_engine.models import Scan
from execution_engine.read_by import FallbackKind, Left, read_by
from tests.factories import DAY, NOW


def test_names_of_datasets_are_those_that_the_user_may_read(riders: Dataset, page: Page, complaints: list[str]) -> None:
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


def test_who_read_the_values_of_the_last_scan_is_told(riders: Dataset, page: Page, complaints: list[str]) -> None:
    percentile = Left(kind=FallbackKind.UNKNOWN, why="percentile is Spark's to gather", values=2)
    nested = Left(kind=FallbackKind.COLUMN, why="fare is no plain column of the files")
    Scan.objects.create(
        dataset=riders, datacenter="sea", window_start=NOW - DAY, window_end=NOW, created_at=NOW, ended_at=NOW,
        spark_jobs=2, taken=9, seconds=1.5, read_by=read_by(kernels=12, left=[percentile, nested]).to_json(),
    )  # fmt: skip
    page.goto("/datasets/raw.riders/tests/new")
    page.get_by_label("Assertion").press_sequentially("row_count() > 1")
    told = page.get_by_role("region", name="What it reads")
    expect(told).to_contain_text("Values read in that scan: 0 by footers, 12 by kernels, 3 by Spark.")
    expect(told).to_contain_text("2: percentile is Spark's to gather")
    expect(told).to_contain_text("1: fare is no plain column of the files")
    assert complaints == []


def test_who_was_logged_out_while_writing_is_told_and_loses_nothing(riders: Dataset, page: Page) -> None:
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
