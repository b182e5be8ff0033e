"""Ask everything that can be asked, as everybody, and say what is wrong with what comes back."""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urldefrag, urljoin

from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.http import HttpResponseBase
from django.test import Client
from django.urls import Resolver404, resolve

from assay.access import Role
from assay.models import Member
from tests.crawler.addresses import addresses
from tests.crawler.answers import disagreements
from tests.crawler.pages import Form, read_page

ANONYMOUS = "anonymous"
FINE = {ANONYMOUS: {200, 302, 401, 403}, **{role.value: {200, 403} for role in Role}, Role.ADMIN.value: {200}}
NOT_FOUND_BY_NATURE = ("/api/",)  # says what lies elsewhere
THE_SAME_FOR_ALL = ("/api/schema", "/api/docs")  # made anew each time, which takes long: each is asked for once
MOST_DAYS = 3  # cells of one grid that are followed: they lead to one page by other days
ASKED: Counter[str] = Counter()


class _Errors(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.said.append(record.getMessage()[:300])


@contextmanager
def logged_errors() -> Iterator[list[str]]:
    """What is logged as an error meanwhile."""
    handler, root = _Errors(), logging.getLogger()
    root.addHandler(handler)
    try:
        yield handler.said
    finally:
        root.removeHandler(handler)


def crawl() -> list[str]:
    """Everything that is wrong: every page is asked for by everybody, of the API's rows some; by the admin all of it.

    Nothing is changed by it but look-ups that are kept, and runs that a gate asks for.
    """
    asked = [each for each in dict.fromkeys(addresses()) if not (each in THE_SAME_FOR_ALL and ASKED[each])]
    with logged_errors() as errors:
        found = [
            wrong
            for who in (ANONYMOUS, *(role.value for role in Role))
            for wrong in Crawl(who, _client(who)).ask_all(asked if who == Role.ADMIN.value else _some())
        ]
        found += disagreements(admin())
    ASKED["rows"] += len(asked)
    return [*found, *(f"logged: {said}" for said in dict.fromkeys(errors))]


def crawl_as(who: str) -> list[str]:
    """Everything that is wrong with what one of them is shown, with few of the API's rows and without filters."""
    with logged_errors() as errors:
        found = [*Crawl(who, _client(who)).ask_all(_some()), *disagreements(admin())]
    return [*found, *(f"logged: {said}" for said in dict.fromkeys(errors))]


def glance() -> list[str]:
    """What is wrong with the pages of datasets and incidents, and where answers differ: in a second or two."""
    asked = [
        each for each in dict.fromkeys(addresses()) if each == "/" or each.startswith(("/datasets/", "/incidents"))
    ]
    by_admin = Crawl(Role.ADMIN.value, admin(), keeps_pages=True)
    with logged_errors() as errors:
        found = [wrong for each in asked if "?" not in each for wrong in by_admin.ask(each)[0]]
        found += disagreements(by_admin.client, by_admin.pages)
    return [*found, *(f"logged: {said}" for said in dict.fromkeys(errors))]


def admin() -> Client:
    """The client of somebody who may see everything."""
    return _client(Role.ADMIN.value)


def _some() -> list[str]:
    asked = dict.fromkeys(addresses(newest=3))
    return [address for address in asked if "?" not in address and address not in THE_SAME_FOR_ALL]


class Crawl:
    """What one of them is shown."""

    def __init__(self, who: str, client: Client, *, keeps_pages: bool = False) -> None:
        self.who, self.client, self.keeps_pages = who, client, keeps_pages
        self.seen: dict[str, int] = {}
        self.days: Counter[str] = Counter()  # followed cells of a grid, by their page
        self.pages: dict[str, str] = {}

    def ask_all(self, asked: list[str]) -> Iterator[str]:
        """Everything that is wrong with these addresses, and with what they lead to."""
        left = list(reversed(asked))
        while left:
            address = left.pop()
            if address not in self.seen:
                wrong, more = self.ask(address)
                yield from wrong
                left += [each for each in more if each not in self.seen and self._is_followed(each)]

    def _is_followed(self, address: str) -> bool:
        """Whether a link is: three cells of a grid, filters one at a time, and once what is the same for all."""
        path, _, query = address.partition("?")
        if path in THE_SAME_FOR_ALL:
            return not ASKED[path]
        combines = path in ("/", "/me") or not {"depth", "unfold", "choose"}.isdisjoint(parse_qs(query))
        if combines and "&" in query:  # filters of a table, and how far lineage is drawn: each is followed alone
            return False
        if "day" in parse_qs(query):
            self.days[path] += 1
            return self.days[path] <= MOST_DAYS
        return True

    def ask(self, address: str) -> tuple[list[str], list[str]]:
        """What is wrong with one address, and where its page leads."""
        answer = self._get(address)
        if answer.status_code == 200:
            return self._look_at(address, answer)
        is_wrong = answer.status_code not in FINE[self.who] and address not in NOT_FOUND_BY_NATURE
        return ([f"GET {address} as {self.who}: {answer.status_code}"] if is_wrong else []), []

    def _get(self, address: str) -> HttpResponseBase:
        if len(self.seen) % 50 == 0:
            cache.clear()  # nobody is told to wait
        answer = self.client.get(address)
        self.seen[address] = answer.status_code
        ASKED[self.who] += 1
        if address in THE_SAME_FOR_ALL:
            ASKED[address] += 1
        return answer

    def _look_at(self, address: str, answer: HttpResponseBase) -> tuple[list[str], list[str]]:
        kind = answer.headers.get("Content-Type", "")
        if kind.startswith("application/json"):
            return self._look_at_json(address, answer)
        if kind.startswith("text/html"):
            return self._look_at_page(address, answer)
        return [], []

    def _look_at_json(self, address: str, answer: HttpResponseBase) -> tuple[list[str], list[str]]:
        try:
            body = json.loads(answer.content, parse_constant=_refuse)  # type: ignore[attr-defined]
        except ValueError as error:
            return [f"GET {address} as {self.who}: no JSON, {error}"], []
        further = body.get("next") if isinstance(body, dict) else None
        return [], [further.partition("testserver")[2]] if further and "limit=1&" in further + "&" else []

    def _look_at_page(self, address: str, answer: HttpResponseBase) -> tuple[list[str], list[str]]:
        text: str = answer.content.decode()  # type: ignore[attr-defined]
        if self.keeps_pages:
            self.pages[address] = text
        page = read_page(text)
        wrong = [f"GET {address} as {self.who}: {mistake}" for mistake in page.mistakes]
        links = [link for link in page.links if not link.startswith(("http:", "https:", "mailto:", "data:"))]
        wrong += [
            f"GET {address} as {self.who}: nothing has the id of {link}"
            for link in links
            if link.startswith("#") and link[1:] not in page.ids
        ]
        wrong += [
            f"GET {address} as {self.who}: {form.method} {form.action} leads nowhere"
            for form in page.forms
            if not _leads_somewhere(address, form)
        ]
        targets = [urldefrag(urljoin(address, link)).url for link in links if not link.startswith("#")]
        wrong += [
            f"GET {address} as {self.who}: there is no file {target}"
            for target in targets
            if target.startswith("/static/") and finders.find(target.removeprefix("/static/")) is None
        ]
        return wrong, [target for target in targets if not target.startswith(("/static/", "/logout"))]


def _leads_somewhere(address: str, form: Form) -> bool:
    try:
        resolve(urljoin(address, form.action).partition("?")[0])
    except Resolver404:
        return False
    return form.method in ("get", "post")


def _client(who: str) -> Client:
    client = Client(raise_request_exception=False)
    if who != ANONYMOUS:
        user, _ = User.objects.get_or_create(username=f"crawler-{who}")
        Member.objects.get_or_create(user=user, defaults={"role": Role(who)})
        client.force_login(user)
    return client


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")
