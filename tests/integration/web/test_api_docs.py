"""The page that explains the API."""

from html import unescape

from django.contrib.auth.models import User
from django.test import Client

from tests.crawler.pages import read_page
from web.api.conventions.document import document
from web.api.conventions.problems import KINDS


def test_the_page_has_every_operation_and_every_kind_of_problem(client: Client, db: None) -> None:
    answer = client.get("/api/docs")
    text, page = answer.content.decode(), read_page(answer.content.decode())
    assert page.mistakes == ()
    for path, item in document()["paths"].items():
        assert f'<code class="path">{path}</code>' in text
        for operation in item.values():
            assert operation["operationId"] in page.ids
    assert {kind.url.partition("#")[2] for kind in KINDS.values()} <= page.ids


def test_every_place_that_the_page_leads_to_is_on_it(client: Client, db: None) -> None:
    page = read_page(client.get("/api/docs").content.decode())
    inside = [link for link in page.links if link.startswith("#")]
    assert len(inside) > 50
    assert [link for link in inside if link[1:] not in page.ids] == []


def test_the_page_needs_no_script_and_no_foreign_server(client: Client, db: None) -> None:
    text = client.get("/api/docs").content.decode()
    assert "<script>" not in text  # those of all pages come from here, and it reads without them
    assert "style=" not in text
    assert [link for link in read_page(text).links if link.startswith(("http:", "https:", "//"))] == []


def test_the_page_shows_how_to_ask_the_gate(client: Client, db: None) -> None:
    text = unescape(client.get("/api/docs").content.decode())
    assert 'curl -H "Authorization: Token $ASSAY_TOKEN" -X POST' in text
    assert '"datasets": ["raw.trips"]' in text
    assert "Send 'Authorization: Token …'" in text


def test_every_page_leads_to_it(client: Client, user: User) -> None:
    client.force_login(user)
    for address in ("/", "/incidents", "/login"):
        assert "/api/docs" in read_page(client.get(address, follow=True).content.decode()).links
