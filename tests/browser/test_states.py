"""Pages in four states of the company: none is wider than a small screen, too large, or complains; axe finds nothing.

``make pictures`` takes pictures of all of them.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from assay import clock
from assay.models import Dataset, Member
from incident_manager.models import Incident
from tests.browser.pictures import NARROW, SCREENS, take
from tests.browser.states import STATES
from tests.browser.test_axe import in_both_schemes, open_all
from tests.factories import NOW
from web.pages.catalogue import SIZES

LOOKED_AT_BY_AXE = ("empty", "broken")
LARGEST = 150_000  # bytes of a page
WIDER = """() => [...document.querySelectorAll("main *, header *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest(".scroll, .lineage, pre"))
    .slice(0, 3).map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A state of the company, at noon of a day: the time of the database stands still, and this is no replay."""
    monkeypatch.setattr(clock, "_real_now", lambda: f"'{NOW:%Y-%m-%d %H:%M:%S}'")
    STATES[request.param]()
    return str(request.param)


def addresses(state: str) -> Iterator[tuple[str, str]]:
    """The main pages that there are in a state, by what they show."""
    yield from (("catalogue", "/"), ("catalogue-long", f"/?whose=all&size={max(SIZES)}"))
    yield from (("incidents", "/incidents"), ("scores", "/scores"), ("coverage", "/coverage"), ("tables", "/tables"))
    yield "counted", "/incidents?counts=bad&by=team&of=trips"
    if state == "empty":
        yield from (("reports", "/reports"), ("silences", "/silences"))
        yield from (("templates", "/templates"), ("dataset", "/datasets/nowhere"), ("incident", "/incidents/1"))
        return
    for number, dataset in enumerate(Dataset.objects.order_by("pk")[: 3 if state == "broken" else 1]):
        yield f"dataset-{number}", f"/datasets/{dataset.full_name}"
        for tab in ("days", "tests", "lineage", "settings"):
            yield f"dataset-{number}-{tab}", f"/datasets/{dataset.full_name}?tab={tab}"
    yield "incident", f"/incidents/{Incident.objects.order_by('pk')[0].pk}"


ANSWERS = {"catalogue": ".incident-card, #figures, .empty", "dataset": ".verdict", "incident": "#head h1, #worker"}
BELOW = """(answer) => [...document.querySelectorAll(answer)].slice(0, 2)
    .map((part) => [part.id || part.className || part.tagName, part.getBoundingClientRect().bottom])
    .filter(([name, bottom]) => bottom > innerHeight).map(([name, bottom]) => `${name} ends at ${bottom}`)"""


def test_the_answer_is_seen_without_scrolling_on_any_screen(state: str, page: Page) -> None:
    Member.objects.filter(user__username="grace").update(role="admin")
    below = list[str]()
    for name, address in addresses(state):
        answer = ANSWERS.get(name.partition("-")[0])
        if answer is None or "tab=" in address:
            continue
        page.goto(address)
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            below += [f"{state} {address} {width}: {text}" for text in page.evaluate(BELOW, answer)]
        take(page, f"{state}-{name}")
    assert below == [], "\n".join(below)


def test_pages_fit_a_small_screen_and_complain_of_nothing(state: str, page: Page, complaints: list[str]) -> None:
    Member.objects.filter(user__username="grace").update(role="admin")
    found: list[str] = []
    for name, address in addresses(state):
        page.set_viewport_size({"width": NARROW, "height": 800})
        page.emulate_media(color_scheme="dark")
        answer = page.goto(address)
        assert answer is not None
        if (size := len(answer.body())) > LARGEST:
            found.append(f"{address} has {size:,} bytes")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{address} scrolls sideways: {page.evaluate(WIDER)}")
        if state in LOOKED_AT_BY_AXE:
            open_all(page)
            found += in_both_schemes(page)
        take(page, f"{state}-{name}")
    not_found = "Failed to load resource: the server responded with a status of 404"
    found += [said for said in complaints if not_found not in said or state != "empty"]
    assert found == [], "\n".join(found)
