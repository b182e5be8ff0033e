"""axe-core finds nothing on any page, in light and in dark: contrast, names, roles, order, focus."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from alerting.alerts.texts import LinkAction, token
from assay.models import Dataset, DataTest, Member
from incident_manager.services import confirm_report, report
from test_generator.services import reconcile_datasets
from tests.browser.pictures import take
from tests.browser.scene import LAST, Scene
from tests.factories import HOUR, NOW, OfferFactory, new_business_metric
from web.pages.urls import urlpatterns

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# what colours and widths can change
OF_LOOKS = ("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size")
FARES = "datasets/mart.trip_fares"
FORMS = (
    "back-fill",
    "first-runs",
    "report",
    "suggest",
    "decide",
    "incident-action",
    "incidents-act",
    "report-action",
    "follow",
    "member",
    "channel-test",
    "me-notices",
    "token-new",
    "token-end",
    "silence-new",
    "silence-end",
    "correct",
    "proposal-preview",
    "proposal-onboard",
    "template-preview",
    "template-remove",
    "bind",
    "unbind",
    "logout",
    "language",
)
FORMS_OF_THE_GATE = ("override-new", "override-end")
FORM_OF_THE_FOOT = "language"
OF_THE_EDITOR = ("check", "measure", "save", "retire")
PICTURES = ("incident-chart", "sent-chart")  # files, which no page is


TABS = {
    "dataset-with-a-gap": "datasets/raw.drivers?tab=tests",
    **{f"dataset-{tab}": f"{FARES}?tab={tab}" for tab in ("days", "tests", "lineage", "settings")},
}


@cache
def axe() -> str:
    """The text of axe-core."""
    return (files("axe_playwright_python") / "axe.min.js").read_text()


def violations(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """Each rule that is broken, and where; of all rules, or of these. Swagger UI is not ours."""
    page.evaluate(axe())
    chosen = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    options: dict[str, object] = {"runOnly": chosen, "resultTypes": ["violations"]}
    if page.locator("#swagger-ui").count():
        options["rules"] = {"landmark-no-duplicate-main": {"enabled": False}}
    found = page.evaluate("options => axe.run({exclude: ['#swagger-ui']}, options)", options)
    return [
        f"{page.url} {rule['id']}: {node['html'][:160]} ({node['failureSummary'][:300]})"
        for rule in found["violations"]
        for node in rule["nodes"][:3]
    ]


def in_both_schemes(page: Page) -> Iterator[str]:
    """What is wrong with the page that is open: wide and light, then narrow and dark."""
    page.set_viewport_size({"width": 1360, "height": 900})
    page.emulate_media(color_scheme="light")
    yield from (f"light {wrong}" for wrong in violations(page))
    page.set_viewport_size({"width": 360, "height": 900})
    page.emulate_media(color_scheme="dark")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")  # scripts see the width
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        yield f"{page.url} scrolls sideways"
    yield from (f"dark {wrong}" for wrong in violations(page, OF_LOOKS))


def open_all(page: Page) -> None:
    """Open what is folded."""
    page.locator("main details").evaluate_all("all => all.forEach((one) => { one.open = true })")


@pytest.fixture
def busy(scene: Scene) -> Scene:
    """The scene with reports, a suggestion and a user who may do everything."""
    Member.objects.filter(user__username="grace").update(role="admin")
    for name, saw in (("raw.riders", "rows missing"), ("raw.drivers", "late")):
        table = Dataset.objects.get(full_name=name)
        row = report(dataset=table, window=LAST, reporter="bo", description="Half of it.", saw=saw, now=NOW - HOUR)
    confirm_report(row, author="ada", now=NOW)
    OfferFactory.create(dataset=scene.fares)
    OfferFactory.create(dataset=scene.fares, columns=["tip"], assertion="min(tip) >= 0", held=5)
    metric = new_business_metric(scene.fares, "sum(fare)", name="takings", description="What riders pay in a day.")
    reconcile_datasets([metric], NOW)
    OfferFactory.create(dataset=scene.fares, columns=["id"], state="rejected", decided_by="ada", decided_at=NOW)
    return scene


def pages(scene: Scene) -> dict[str, str]:
    """An address of each page, by the name of its pattern."""
    own = DataTest.objects.get(name="fare is filled").pk
    return {
        "catalogue": "",
        "problem": f"{FARES}/problem",
        "backtest": f"{FARES}/backtest?assertion={quote('completeness(fare) >= 98 %')}&test={own}",
        "columns": f"{FARES}/columns",
        "suggestions": f"{FARES}/suggestions",
        "test-new": f"{FARES}/tests/new?assertion={quote('completeness(far) >= 1')}",
        "test-edit": f"{FARES}/tests/{own}/edit",
        "dataset": FARES,
        "business-metrics": "business-metrics",
        "business-metric": "business-metrics/business.takings",
        "incidents": "incidents",
        "incident": f"incidents/{scene.incident.pk}",
        "reports": "reports?state=all",
        "scores": "scores",
        "search": "search?q=fare",
        "me": "me",
        "admin": "admin",
        "admin-tokens": "admin/tokens",
        "admin-audit": "admin/audit",
        "admin-channels": "admin/channels",
        "admin-doctor": "admin/doctor",
        "silences": "silences",
        "coverage": "coverage",
        "tables": "tables",
        "proposals": "proposals?name=raw.trips",
        "templates": "templates",
        "template-write": f"templates/write?ready={quote('mails look like mails')}",
        "team": "teams/trips",
        "api-docs": "api/docs",
        "answer": f"answer/{token(scene.incident.alert_id or 0, LinkAction.MUTE, now=NOW)}",
    }


def test_every_page_is_looked_at(busy: Scene) -> None:
    others = {*FORMS, *FORMS_OF_THE_GATE, FORM_OF_THE_FOOT, *PICTURES, "login"}
    names = {str(pattern.name) for pattern in urlpatterns} - others
    assert set(pages(busy)) == {name for name in names if not name.endswith(OF_THE_EDITOR)}


def test_axe_finds_nothing_on_any_page(page: Page, busy: Scene) -> None:
    found: list[str] = []
    for name, address in (pages(busy) | TABS).items():
        page.goto(f"/{address}")
        found += in_both_schemes(page)
        take(page, name)
    page.goto(f"/{FARES}")
    page.get_by_role("link", name="Report a problem").click()
    expect(page.locator("#problem-form")).to_be_visible()
    open_all(page)
    found += in_both_schemes(page)
    page.goto("/reports?state=all")
    open_all(page)
    found += in_both_schemes(page)
    page.context.clear_cookies()
    page.goto("/login")
    found += in_both_schemes(page)
    take(page, "login")
    assert found == [], "\n".join(found)


def test_axe_sees_what_is_wrong(page: Page, busy: Scene) -> None:
    page.goto("/scores")
    page.evaluate("document.querySelector('h1').append(new Image()); document.querySelector('h1').style.color = '#ccc'")
    seen = " ".join(violations(page))
    assert "image-alt" in seen
    assert "color-contrast" in seen
