"""The page that explains the API."""

from html import unescape

from django.test import Client

from tests.crawler.pages import read_page
from web.api.problems import KINDS


def test_the_page_explains_every_kind_of_problem_where_its_type_leads(client: Client, db: None) -> None:
    text = client.get("/api/docs").content.decode()
    page = read_page(text)
    assert page.mistakes == ()
    assert {kind.url.partition("#")[2] for kind in KINDS.values()} <= page.ids
    assert "Send 'Authorization: Token …'" in unescape(text)


def test_its_script_starts_swagger_ui_with_our_document(client: Client, db: None) -> None:
    script = client.get("/api/docs?script=")
    assert script.headers["Content-Type"] == "application/javascript"
    assert 'url: "/api/schema"' in script.content.decode().replace("\\u002D", "-")


def test_every_page_leads_to_it(pages: Client) -> None:
    for address in ("/", "/incidents", "/login"):
        assert "/api/docs" in read_page(pages.get(address, follow=True).content.decode()).links
