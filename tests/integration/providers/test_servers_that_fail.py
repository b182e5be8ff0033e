"""Servers of catalogs that fail between two pages: nothing is retired, and on-call hears of it once."""

import json
from collections.abc import Callable
from itertools import count
from time import sleep
from typing import Any

import pytest

from alerting.models import Notice
from assay import clock
from assay.catalog.providers import documents
from assay.config import config
from assay.scheduler.beat import begin_pulling
from tests.factories import NOW
from tests.integration.providers.test_rest import UNITY, Server, server
from tests.integration.test_generator.test_providers import DEFAULTS, live, pull_after
from web.doctor import providers, pulled

__all__ = ["server"]
pytestmark = pytest.mark.django_db
Page = Callable[[tuple[str, ...], str], dict[str, Any]]  # of names, and of the cursor of the next one


def page_of_unity(names: tuple[str, ...], following: str) -> dict[str, Any]:
    tables = [{"name": name, "catalog_name": "prod", "schema_name": "raw"} for name in names]
    return {"tables": tables, "next_page_token": following}


def page_of_openmetadata(names: tuple[str, ...], following: str) -> dict[str, Any]:
    tables = [{"name": name, "fullyQualifiedName": f"pg.prod.raw.{name}"} for name in names]
    return {"data": tables, "paging": {"total": 4, **({"after": following} if following else {})}}


def page_of_datahub(names: tuple[str, ...], following: str) -> dict[str, Any]:
    entities = [{"urn": f"urn:li:dataset:(urn:li:dataPlatform:hive,raw.{name},PROD)"} for name in names]
    return {"entities": entities, "scrollId": following or None}


PLACES: dict[str, tuple[Page, str, str]] = {  # what makes a page, and where the first and the second are
    "unity": (page_of_unity, f"{UNITY}/tables", f"{UNITY}/tables?page_token=x"),
    "openmetadata": (page_of_openmetadata, "/api/v1/tables", "/api/v1/tables?after=x"),
    "datahub": (page_of_datahub, "/openapi/v3/entity/dataset", "/openapi/v3/entity/dataset?scrollId=x"),
}


def last_answer(page: Page) -> Any:
    sleep(0.4)
    return page(("c", "d"), "")


OF_UNITY: dict[str, Any] = {
    f"{UNITY}/catalogs": {"catalogs": [{"name": "prod"}]},
    f"{UNITY}/schemas": {"schemas": [{"name": "raw"}, {"name": "empty"}]},
    f"{UNITY}/tables?schema_name=empty": {},
}
NUMBERS = count()
FAULTS: dict[str, tuple[Callable[[Page], Any], str]] = {
    "an error": (lambda _: 500, "answers 500: see what it says there"),
    "an expired token": (lambda _: 401, "answers 401: correct its token"),
    "half a page": (lambda page: json.dumps(page(("c", "d"), ""))[:-9], "is no whole JSON document"),
    "garbage": (lambda _: "<html>Bad gateway</html>", "is no whole JSON document"),
    "an error that says 200": (lambda _: {"message": "try later"}, "is missing, not a list"),
    "the same cursor": (lambda page: page((), "x"), "gives the same page again"),
    "the same page by new cursors": (
        lambda page: lambda: page(("a",), str(next(NUMBERS))),
        "gives the same page again",
    ),
    "empty pages for ever": (lambda page: lambda: page((), str(next(NUMBERS))), "gives pages for more than 0.2 s"),
    "a slow answer": (
        lambda page: lambda: last_answer(page),
        "does not answer (127.0.0.1 did not answer within 0.2 s)",
    ),
}
ENDLESS = ("the same page by new cursors", "empty pages for ever")
SHORTER = {"empty pages for ever": ("MOST_SECONDS", 0.2), "a slow answer": ("SECONDS", 0.2)}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", PLACES)
def test_a_server_that_fails_between_two_pages_retires_nothing_and_on_call_hears_of_it_once(
    server: Server, monkeypatch: pytest.MonkeyPatch, kind: str, fault: str
) -> None:
    (page, first, second), (answer, sentence) = PLACES[kind], FAULTS[fault]
    whole = {**OF_UNITY, first: page(("a", "b"), "x"), second: page(("c", "d"), "")}
    server.answers = dict(whole)
    entry = {"name": "it", "kind": kind, "url": server.url, "location": "/lake/{table}", "defaults": DEFAULTS}
    monkeypatch.setattr(config(), "providers", json.dumps([entry]))
    clock.simulate(NOW)
    begin_pulling(NOW)
    pull_after(0)
    if is_endless := fault in ENDLESS:  # whatever the cursor is
        server.answers = {**whole, first: answer(page)}
    server.answers[second] = server.answers[first] if is_endless else answer(page)
    with monkeypatch.context() as patch:
        patch.setattr(documents, *SHORTER.get(fault, ("SECONDS", 60.0)))
        rows = [pull_after(1), pull_after(2)]
        assert (live(), [sentence in row.fault for row in rows]) == (["a", "b", "c", "d"], [True, True]), rows[0].fault
        assert (sentence in pulled().found, Notice.objects.count()) == (True, 1)
    server.answers = whole
    assert (pull_after(3).fault, Notice.objects.count()) == ("", 2)


@pytest.mark.parametrize("kind", PLACES)
def test_the_doctor_reads_the_first_page_alone(server: Server, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    page, first, second = PLACES[kind]
    names = tuple(f"t{number}" for number in range(100))
    answers = {**OF_UNITY, first: page(names, "x"), second: 500}
    server.answers = answers
    entry = {"name": "it", "kind": kind, "url": server.url, "location": "/lake/{table}"}
    monkeypatch.setattr(config(), "providers", json.dumps([entry]))
    assert (providers().is_well, providers().found) == (True, "it answers, with 100 tables")
