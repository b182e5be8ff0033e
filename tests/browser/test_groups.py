"""Results by groups in a real browser, on the page of a dataset and of an incident."""

from pathlib import Path

from playwright.sync_api import Page, expect

from execution_engine.language.evaluate import label
from execution_engine.outcome import Outcome
from tests.browser.scene import Scene
from tests.factories import DataTestFactory, RunFactory, SpoiltWindowFactory, StandingFactory

WIDTHS = (360, 1440)


def found(city: str | None, value: float) -> dict[str, object]:
    """What was found of one city."""
    group = {"city": city, "kind": "a rather long kind of ride"}
    said = f"{label(list(group), tuple(group.values()))}: completeness(fare) = {value}, wanted >= 0.99"
    return {"group": group, "value": value, "bound": 0.99, "said": said}


FINDINGS = {
    "groups": {"held": 30, "broken": 2, "not_judged": 1},
    "worst_groups": [found("Oslo <b>", 0.4), found(None, 0.9213)],
    "groups_that_hold": [found("Bonn", 0.991), found("São Paulo", 1.0)],
    "groups_not_judged": [{"group": {"city": "Rome", "kind": "x"}, "said": "city = 'Rome', kind = 'x': no values"}],
}


def test_groups_are_listed_with_bars_the_worst_first(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    test = DataTestFactory.create(
        dataset=scene.fares, name="by city", assertion="completeness(fare) >= 0.99 by city, kind", category="column"
    )
    run = RunFactory.create(data_test=test, outcome=Outcome.BROKEN.value, findings=FINDINGS, value=0.94)
    window = {"window_start": run.window_start, "window_end": run.window_end}
    StandingFactory.create(data_test=test, state="FAIL", last_run=run, **window)
    SpoiltWindowFactory.create(incident=scene.incident, dataset=scene.fares, data_test=test, **window)
    for name, address in (
        ("dataset", f"/datasets/{scene.fares.full_name}?test={test.pk}"),
        ("incident", f"/incidents/{scene.incident.pk}"),
    ):
        page.goto(address)
        table = page.locator("table", has=page.locator("th", has_text="What was found")).last
        expect(table.locator("tbody tr").first).to_contain_text("Oslo <b>")
        expect(table.locator("tbody tr").first).to_contain_text("broken")
        expect(table.locator("svg.bar-of")).to_have_count(4)
        expect(page.locator("main")).to_contain_text(
            "33 groups: 2 broken, 30 held, 1 not judged. 28 more are not listed."
        )
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                table.scroll_into_view_if_needed()
                page.screenshot(path=shots / f"groups-{name}-{scheme}-{width}.png")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
    assert complaints == []
