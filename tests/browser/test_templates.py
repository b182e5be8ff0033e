"""Templates in a real browser: a ready one is tried and saved, and a pipeline is bound to a test."""

from pathlib import Path

from playwright.sync_api import Page, expect

from assay.models import Binding, Dataset
from test_generator.models import RuleTemplate
from tests.browser.scene import Scene

WIDTHS = (360, 1440)


def no_page_is_wide(page: Page, shots: Path, name: str) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=shots / f"{name}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)


def test_a_ready_template_is_changed_tried_and_saved(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    columns = [{"name": "fare", "type": "double"}, {"name": "order id", "type": "bigint"}]
    Dataset.objects.filter(full_name="raw.riders").update(owner="grace", columns=columns)
    page.goto("/templates")
    no_page_is_wide(page, shots, "templates")
    page.get_by_role("link", name="Use amounts are not negative").click()
    page.get_by_label("Name", exact=True).fill("fares are not negative")
    page.get_by_label("Owners or teams").fill("grace")
    page.get_by_label("Severity").select_option("soft")
    page.get_by_role("button", name="Show what it makes").click()
    expect(page.locator("#preview")).to_contain_text("non_negative(fare) >= 0.999")
    assert not RuleTemplate.objects.exists()
    no_page_is_wide(page, shots, "template-preview")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".flash.success")).to_contain_text("the tests of fares are not negative")
    assert RuleTemplate.objects.get().author == "grace"
    assert complaints == []


def test_a_pipeline_is_bound_to_a_test(scene: Scene, page: Page, complaints: list[str]) -> None:
    test = Dataset.objects.get(full_name="mart.trip_fares").data_tests.earliest("pk")
    Dataset.objects.filter(pk=test.dataset_id).update(owner="grace")
    page.goto(f"/datasets/mart.trip_fares?tab=tests&test={test.pk}")
    page.get_by_text("Bind a pipeline to it").click()
    page.get_by_label("Pipeline").fill("load")
    page.locator("select[name=gate]").select_option("weak")
    page.get_by_role("button", name="Bind", exact=True).click()
    expect(page.locator("main")).to_contain_text("load (weak: its gate only warns)")
    assert (Binding.objects.get().pipeline, complaints) == ("load", [])
