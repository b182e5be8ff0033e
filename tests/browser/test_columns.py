"""The columns of a dataset in a real browser: small plots, one column drawn large, names that are hard to show."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from alerting.state import State
from assay.models import Dataset, DataTest
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import History, operands
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import AcceptedPast, Measurement
from execution_engine.novelty import past as stored_pasts
from execution_engine.parts.state_store import keep_state
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.stored import to_bytes
from execution_engine.runs.accepted_past import operand_key
from tests.browser.scene import Scene
from tests.factories import DataTestFactory, StandingFactory
from tests.unit.execution_engine.novelty.batches import past_of

WIDTHS = (360, 1440)
LAST = datetime(2026, 3, 9, tzinfo=UTC)


def orders(at: int, *, miles: bool = False) -> pa.Table:
    """A day's orders; the first fifth of the days has no column ``note <b>``."""
    chance = Random(at)
    count = 300 + chance.randrange(-30, 30)
    columns = {
        "order id": [at * 1000 + number for number in range(count)],
        "km": [round(chance.gauss(8, 2) * (0.621 if miles else 1), 3) for _ in range(count)],
        "city": [chance.choice(["Lisbon", "Porto", "Faro"]) if chance.random() > 0.02 else None for _ in range(count)],
        "at": [LAST + timedelta(days=at - 39, minutes=chance.randrange(1440)) for _ in range(count)],
    }
    if at >= 8:
        columns["note <b>"] = [chance.choice(["", "<i>fragile</i>", "ring twice"]) for _ in range(count)]
    return pa.table(columns)


@pytest.fixture
def watched(scene: Scene) -> Dataset:
    """Forty days of which all but the last were accepted."""
    return profiled(40, is_broken=True)


def profiled(count: int, *, is_broken: bool) -> Dataset:
    """So many days of orders; the last one may be one on which novelty is broken."""
    dataset = Dataset.objects.get(full_name="mart.trip_fares")
    Dataset.objects.filter(pk=dataset.pk).update(columns=[{"name": "secret", "type": "string", "sensitive": True}])
    test = DataTestFactory.create(dataset=dataset, name="novelty", category="novelty", assertion="novelty() <= 1")
    named = DataTestFactory.create(dataset=dataset, name="kilometres", category="column", assertion="mean(km) < 10")
    days = [LAST - timedelta(days=back) for back in range(count - 1, -1, -1)]
    profiles = [
        gathered_profile([orders(39 - back, miles=is_broken and not back)], day.timestamp())
        for back, day in zip(range(count - 1, -1, -1), days, strict=True)
    ]
    rows = [
        Measurement(
            dataset=dataset, datacenter=dataset.replicas.all()[0].datacenter, spec=(spec := profile_at(day)).to_json(),
            spec_hash=day.isoformat(), spec_text=spec.text, window_start=day, window_end=day + timedelta(days=1),
            requested_at=day, measured_at=day + timedelta(days=1, hours=6),
        )
        for day in days
    ]  # fmt: skip
    for row, profile in zip(rows, profiles, strict=True):
        keep_state(row, to_bytes(profile))
    Measurement.objects.bulk_create(rows)
    past = AcceptedPast(data_test=test, operand=key_of(test), kept_at=LAST)
    past.batches = [[row.window_start.isoformat(), row.pk, "joined"] for row in rows[:-1]]
    keep_state(past, stored_pasts.to_bytes(past_of(profiles[:-1])))
    past.save()
    for each, state in ((test, State.WARN if is_broken else State.PASS), (named, State.PASS)):
        StandingFactory.create(
            data_test=each, revision=each.revision, state=state, window_start=LAST, window_end=LAST + timedelta(days=1)
        )
    return dataset


def key_of(test: DataTest) -> str:
    """Under which the past of what it compares is kept."""
    assert test.revision is not None
    (history,) = operands(from_json(test.revision.tree))
    assert isinstance(history, History)
    return operand_key(history)


def profile_at(day: datetime) -> MetricSpec:
    return MetricSpec(name="profile", options=(("start", int(day.timestamp())),))


def test_a_column_is_found_and_drawn_large(watched: Dataset, page: Page, complaints: list[str], shots: Path) -> None:
    page.goto(f"/datasets/{watched.full_name}")
    page.get_by_role("link", name="Columns", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Columns over time")
    expect(page.locator("main")).to_contain_text("40 profiled partitions, up to 2026-03-09")
    expect(page.locator("tr", has=page.get_by_role("link", name="km", exact=True))).to_contain_text("kilometres")
    expect(page.locator("tr", has=page.get_by_role("link", name="secret"))).to_contain_text("sensitive: not profiled")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=shots / f"columns-{scheme}-{width}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    page.get_by_role("link", name="km", exact=True).click()
    page.get_by_role("link", name="mean", exact=True).click()
    expect(page.locator("#chosen .charts")).to_have_count(1)
    page.get_by_text("As a table").click()
    expect(page.locator("#chosen details tbody tr").first).to_contain_text("broken")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=shots / f"column-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    page.get_by_role("link", name="note <b>").click()
    expect(page.locator("#chosen-title")).to_contain_text("note <b>")
    expect(page.locator("main")).to_contain_text("<i>fragile</i>")
    page.get_by_label("Find").fill("order")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr", has=page.get_by_role("link", name="order id"))).to_have_count(1)
    expect(page.get_by_role("link", name="city")).to_have_count(0)
    assert complaints == []


@pytest.mark.parametrize("count", [1, 30])
def test_calm_partitions_are_drawn_without_a_mark_and_one_alone_without_a_line(
    scene: Scene, page: Page, complaints: list[str], shots: Path, count: int
) -> None:
    dataset = profiled(count, is_broken=False)
    page.goto(f"/datasets/{dataset.full_name}/columns?column=at")
    expect(page.locator("main")).to_contain_text(
        f"{count} profiled partition{'s' if count > 1 else ''}, up to 2026-03-09"
    )
    expect(page.locator(".chart .broken")).to_have_count(0)
    expect(page.locator("#chosen .charts")).to_have_count(1 if count > 1 else 0)
    expect(page.locator("#chosen")).to_contain_text("2026-03-09T")
    assert (page.locator(".small-chart").count() > 0) is (count > 1)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=shots / f"columns-{count}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert complaints == []


def test_before_anything_was_profiled_the_page_says_what_to_do(
    scene: Scene, page: Page, complaints: list[str], shots: Path
) -> None:
    page.goto("/datasets/mart.trip_fares/columns")
    expect(page.locator("main")).to_contain_text("No partition was profiled yet")
    page.screenshot(path=shots / "columns-none.png", full_page=True)
    assert complaints == []
