"""The page of the API in a browser: Swagger UI from this host, under the policy of all pages."""

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.pictures import take


def test_a_stranger_opens_an_operation(
    login_page: Callable[[str], Page], complaints: list[str], live_server: LiveServer
) -> None:
    page = login_page(live_server.url)
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto("/api/docs")
    gate = page.locator("#operations-gate-gate_create")
    gate.get_by_role("button").first.click()
    expect(gate).to_contain_text("A token needs the scope gate. Who may: every role.")
    expect(gate).to_contain_text('"pipeline": "nightly_fares"')
    take(page, "api-docs-open")
    assert complaints == []
    assert hosts == {urlsplit(live_server.url).netloc}


def test_a_request_from_the_page_is_that_of_who_is_logged_in(page: Page, live_server: LiveServer) -> None:
    page.goto("/api/docs")
    gate = page.locator("#operations-gate-gate_create")
    gate.get_by_role("button").first.click()
    gate.get_by_role("button", name="Try it out").click()
    with page.expect_response("**/api/v1/gate") as answered:
        gate.get_by_role("button", name="Execute").click()
    assert "no dataset is called 'raw.trips'" in answered.value.json()["detail"]
