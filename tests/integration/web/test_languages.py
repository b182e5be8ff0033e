"""Pages speak the reader's language, all of them; programs are answered in English."""

import json
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import html5lib
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.translation import override, trans_real
from pytest_django import Settings
from rest_framework.test import APIClient

from assay.models import DataTest
from tests.browser.scene import Scene, set_scene
from tests.browser.test_axe import busy as _busy
from tests.browser.test_axe import pages
from tests.house.texts import texts
from web.rendering.status import TEXTS
from web.templatetags.quality import _dot, _pill

GERMAN = {"Accept-Language": "de-DE,de;q=0.9,en;q=0.5"}
OPEN, CLOSE = "⟦", "⟧"
SAID = ("title", "placeholder", "aria-label", "alt", "data-label")  # attributes that people read or hear
NO_PROSE = {"script", "style", "code", "pre"}
CONTEXT = "\x04"  # between the context of a text and the text
PROSE = re.compile(r"[^\W\d_]{2,}")
# names of things and people in the scene, what these people wrote, and names of languages, units and formats
DATA = """
    Assay Deutsch UTC JSON YAML min row_count completeness(far) completeness(fare) log email
    raw mart trips riders drivers trip_fares city_daily fare tip id sea phx double bigint One row per finished trip with
    what the rider paid. fare is filled Feed restarted twice. The loader ran out of disk. Half of it.
    business takings What riders pay in a day. band value
    ada bo grace assay inhibited
"""
NAMES = re.compile(r"consistency-count:sea>phx:whole|\w+@own")  # with words of ours in them


class Marked(trans_real.DjangoTranslation):
    """A language whose every text is the English one between marks; what is no text of the pages stays as it is."""

    def __init__(self) -> None:
        super().__init__("de")
        ids = [message.id for message in texts() if message.id]
        self.known = {text for id_ in ids for text in ([id_] if isinstance(id_, str) else id_)}

    def gettext(self, message: str) -> str:
        text = message.rpartition(CONTEXT)[2]
        return f"{OPEN}{text}{CLOSE}" if text in self.known else text

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@pytest.fixture
def scene(user: User) -> Scene:
    return set_scene()


busy = _busy  # the fixture, with this scene


@pytest.fixture
def reader(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def _marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """German is the marked language, also for what was kept of German before, and is no more afterwards."""
    monkeypatch.setitem(vars(trans_real)["_translations"], "de", Marked())
    for kept in (_dot, _pill):
        kept.cache_clear()
    yield
    for kept in (_dot, _pill):
        kept.cache_clear()


def tree(client: Client, address: str) -> Element:
    page = client.get(f"/{address}", headers=GERMAN)
    root: Element = html5lib.parse(page.content.decode(), namespaceHTMLElements=False)
    return root


def attributes(element: Element, *, is_english: bool = False) -> Iterator[str]:
    """What attributes say in the language of the page."""
    is_english = element.get("lang", "en" if is_english else "de") == "en"
    if not is_english:
        yield from (element.attrib[name] for name in SAID if name in element.attrib)
    for child in element:
        yield from attributes(child, is_english=is_english)


def prose(element: Element, *, is_english: bool = False) -> Iterator[str]:
    """The text of an element without code and without what is marked as English."""
    is_english = element.get("lang", "en" if is_english else "de") == "en"
    if element.tag not in NO_PROSE and isinstance(element.tag, str):
        yield "" if is_english else element.text or ""
        for child in element:
            yield from prose(child, is_english=is_english)
            yield "" if is_english else f"\n{child.tail or ''}"


def unmarked(text: str) -> str:
    while (without := re.sub(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}", " ", text)) != text:
        text = without
    return text


def untranslated(root: Element) -> list[str]:
    said = [*attributes(root), "".join(prose(root))]
    lines = [NAMES.sub("", line) for text in said for line in unmarked(text).splitlines()]
    known = set(PROSE.findall(DATA))
    return sorted({line.strip() for line in lines if set(PROSE.findall(line)) - known})


@pytest.mark.usefixtures("_marked")
def test_no_page_has_a_text_that_is_not_translated(reader: Client, busy: Scene) -> None:
    for test in DataTest.objects.filter(name__in=[message.id for message in texts()]):  # a name is no word of ours here
        DataTest.objects.filter(pk=test.pk).update(name=f"{test.name}@own")
    left = {name: untranslated(tree(reader, address)) for name, address in pages(busy).items()}
    left |= {address: untranslated(tree(reader, address)) for address in ("nowhere", "incidents/99", "teams/none")}
    left["login"] = untranslated(tree(Client(), "login"))
    assert {name: found for name, found in left.items() if found} == {}


@pytest.mark.usefixtures("_marked")
@pytest.mark.parametrize(
    "page",
    [
        "<p>Forgotten</p>",
        "<p>⟦Known⟧ forgotten</p>",
        '<p lang="en"><b lang="de">Forgotten</b></p>',
        '<a title="Forgotten">⟦Known⟧</a>',
        "<p>⟦Known⟧ <code>forgotten</code> forgotten</p>",
    ],
)
def test_a_forgotten_text_is_seen(page: str) -> None:
    assert untranslated(html5lib.parse(page, namespaceHTMLElements=False)) != []


def test_the_browser_says_which_language(reader: Client) -> None:
    for asked, language in (("de-AT,de;q=0.8", "de"), ("en-GB", "en"), ("fr", "en"), ("fr,de;q=0.1", "de"), ("", "en")):
        page = reader.get("/incidents", headers={"Accept-Language": asked})
        assert page.headers["Content-Language"] == language
        assert f'<html lang="{language}">' in page.content.decode()
        assert {"Accept-Language", "Cookie"} <= set(page.headers["Vary"].split(", "))


def test_what_the_reader_chose_comes_before_what_the_browser_says(reader: Client) -> None:
    answer = reader.post("/language?next=/incidents%3Ftier%3D1", {"language": "de"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/incidents?tier=1")
    assert "<h1>Vorfälle</h1>" in reader.get("/incidents", headers={"Accept-Language": "en"}).content.decode()
    reader.post("/language", {"language": "en"})
    assert "<h1>Incidents</h1>" in reader.get("/incidents", headers=GERMAN).content.decode()


def test_the_choice_leads_to_no_other_site_and_takes_no_unknown_language(reader: Client) -> None:
    assert reader.post("/language?next=//evil.example", {"language": "de"}).headers["Location"] == "/"
    reader.post("/language", {"language": "xx"})
    assert reader.cookies["language"].value == "de"


def test_a_stranger_reads_the_login_in_german(client: Client, user: User) -> None:
    page = client.post("/login", {"username": "grace", "password": "no"}, headers=GERMAN).content.decode()
    assert "Name und Passwort passen nicht zusammen." in page


def test_refusals_are_german_too(reader: Client, user: User) -> None:
    given = {"dataset": "no.table", "ends_at": "", "reason": "x"}
    page = reader.post("/silences/new", given, headers=GERMAN, follow=True).content.decode()
    assert "Dataset: Kein Dataset heißt no.table." in page
    assert "Endet am: Dieses Feld ist zwingend erforderlich." in page


def test_programs_are_answered_in_english(api: APIClient, client: Client) -> None:
    refused = api.post("/api/v1/silences", {"ends_at": "never"}, format="json", headers=GERMAN)
    assert (refused.status_code, "ends_at: Datetime has wrong format." in refused.json()["detail"]) == (400, True)
    assert "This field is required." in refused.json()["detail"]
    assert "Content-Language" not in refused.headers
    for address in ("/api/v1/incidents/99", "/api/v1/nothing"):
        assert api.get(address, headers=GERMAN).json()["detail"] == api.get(address).json()["detail"]
    unknown = client.get("/api/v1/incidents", headers=GERMAN)
    assert unknown.json()["detail"] == "Authentication credentials were not provided."


@pytest.mark.parametrize("address", ["api/schema?format=json", "metrics", "healthz"])
def test_documents_and_probes_are_english(client: Client, db: None, address: str) -> None:
    texts_of = [client.get(f"/{address}", headers=headers).content.decode() for headers in ({}, GERMAN)]
    words = [[line for line in text.splitlines() if line.startswith(("#", "{"))] for text in texts_of]
    assert words[0] == words[1]


def test_a_request_leaves_no_language_behind(reader: Client, api: APIClient) -> None:
    assert "<h1>Vorfälle</h1>" in reader.get("/incidents", headers=GERMAN).content.decode()
    assert "<h1>Incidents</h1>" in reader.get("/incidents").content.decode()


def test_figures_are_written_as_the_api_writes_them(reader: Client, busy: Scene, settings: Settings) -> None:
    """No comma comes into a value that a program, a browser or a drawing reads, nor into a figure."""
    assert not settings.USE_THOUSAND_SEPARATOR
    for name, address in pages(busy).items():
        english, german = (
            reader.get(f"/{address}", headers={"Accept-Language": language}).content.decode()
            for language in ("en", "de")
        )
        if name in ("dataset", "incident"):  # its marks need as much room as their words
            english, german = (re.sub(r'(?s)<svg[^>]*class="chart".*?</svg>', "", page) for page in (english, german))
        drawn = r'\b(?:value|datetime|points|d|cx|cy|x|y|x1|x2|y1|y2|width|height|max|viewBox)="([^"]*)"'
        english_drawn, german_drawn = (
            [value for value in re.findall(drawn, page) if not PROSE.search(value)] for page in (english, german)
        )
        assert english_drawn == german_drawn, name
        figures = [set(re.findall(r">(\d[\d.,]*)(?: %)?<", page)) for page in (english, german)]
        assert figures[0] == figures[1], name


def test_a_script_has_its_texts_in_the_language_of_the_page(reader: Client) -> None:
    page = reader.get("/incidents", headers=GERMAN).content.decode()
    given = json.loads(re.findall(r'<script id="texts" type="application/json">(.*?)</script>', page)[0])
    with override("de"):
        assert given == {name: str(text) for name, text in TEXTS.items()}
    assert given["owner"] == "zuständig: %(name)s"
