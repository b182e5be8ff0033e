"""Providers over HTTP: answers in pages, tokens, and servers that are away, refuse, or answer half."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from assay.catalog.tellings import UnableToReadSource
from execution_engine.providers import KINDS


class Server(ThreadingHTTPServer):
    """Answers by path and query: an object as JSON, a text as it is, a number as a status, or what a function gives."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Any] = {}
        self.tokens: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One request; parameters that no answer names do not count."""

    server: Server

    def do_GET(self) -> None:
        """The answer of the path, the one that names most of the parameters."""
        address = urlsplit(self.path)
        parameters = {f"{name}={value}" for name, value in parse_qsl(address.query)}
        self.server.tokens.add(self.headers.get("Authorization"))
        fitting = [
            (len(wanted), key)
            for key in self.server.answers
            for path, _, query in (key.partition("?"),)
            for wanted in (set(filter(None, query.split("&"))),)
            if path == address.path and wanted <= parameters
        ]
        answer = self.server.answers[max(fitting)[1]] if fitting else 404
        answer = answer() if callable(answer) else answer
        status = answer if isinstance(answer, int) else 200
        body = answer if isinstance(answer, str) else json.dumps(answer)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("CATALOG_TOKEN", "secret")
    with Server() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def names(server: Server, kind: str, **keys: Any) -> set[str]:
    told = KINDS[kind]({"name": "it", "url": server.url, "token": "env:CATALOG_TOKEN", **keys})
    return {table.full_name for table in told.tables}


UNITY = "/api/2.1/unity-catalog"
OF_UNITY: dict[str, Any] = {
    f"{UNITY}/catalogs": {"catalogs": [{"name": "unity"}], "next_page_token": ""},
    f"{UNITY}/schemas?catalog_name=unity": {"schemas": [{"name": "raw"}, {"name": "information_schema"}]},
    f"{UNITY}/tables?schema_name=raw": {
        "tables": [{"name": "trips", "catalog_name": "unity", "schema_name": "raw"}],
        "next_page_token": "next",
    },
    f"{UNITY}/tables?schema_name=raw&page_token=next": {
        "tables": [{"name": "cities", "catalog_name": "unity", "schema_name": "raw"}]
    },
}


def test_unity_is_read_by_catalogs_schemas_and_pages_of_tables(server: Server) -> None:
    server.answers = OF_UNITY
    assert names(server, "unity") == {"raw.trips", "raw.cities"}
    assert server.tokens == {"Bearer secret"}


def test_a_page_that_comes_again_is_refused(server: Server) -> None:
    key = f"{UNITY}/tables?schema_name=raw&page_token=next"
    server.answers = {**OF_UNITY, key: {"tables": [], "next_page_token": "next"}}
    with pytest.raises(UnableToReadSource, match="gives the same page again"):
        names(server, "unity")


def test_openmetadata_is_read_by_pages_and_what_is_missing_of_its_total_is_refused(server: Server) -> None:
    first = {"data": [{"name": "a", "fullyQualifiedName": "s.d.raw.a"}], "paging": {"after": "x", "total": 2}}
    second = {"data": [{"name": "b", "fullyQualifiedName": "s.d.raw.b"}], "paging": {"total": 2}}
    lineage = {
        "entity": {"id": "2", "fullyQualifiedName": "s.d.raw.b"},
        "nodes": [{"id": "1", "fullyQualifiedName": "s.d.raw.a"}],
        "upstreamEdges": [{"fromEntity": "1", "toEntity": "2"}],
    }
    server.answers = {
        "/api/v1/tables": first,
        "/api/v1/tables?after=x": second,
        "/api/v1/lineage/table/name/s.d.raw.b": lineage,
        "/api/v1/lineage/table/name/s.d.raw.a": {**lineage, "nodes": [], "upstreamEdges": []},
    }
    told = KINDS["openmetadata"]({"url": server.url, "lineage": True})
    assert [(edge.upstream, edge.downstream) for edge in told.lineage] == [("raw.a", "raw.b")]
    server.answers["/api/v1/tables?after=x"] = {**second, "data": []}
    with pytest.raises(UnableToReadSource, match="gives 1 of 2 tables"):
        names(server, "openmetadata")


def test_datahub_is_read_by_scrolling(server: Server) -> None:
    def page(name: str, **more: str) -> dict[str, Any]:
        return {"entities": [{"urn": f"urn:li:dataset:(urn:li:dataPlatform:hive,raw.{name},PROD)"}], **more}

    place = "/openapi/v3/entity/dataset"
    server.answers = {
        f"{place}?aspects=ownership": page("trips", scrollId="x"),
        f"{place}?aspects=ownership&scrollId=x": page("cities"),
    }
    assert names(server, "datahub") == {"raw.trips", "raw.cities"}


def read_owners(server: Server, kind: str) -> dict[str, tuple[str | None, object]]:
    """The owner of each table, and where they are told."""
    tables = KINDS[kind]({"url": server.url, "token": "env:CATALOG_TOKEN"}).tables
    return {table.name: (table.owner, table.channels) for table in tables}


def test_openmetadata_is_asked_for_the_mail_of_each_owner_and_of_their_teams(server: Server) -> None:
    ann, rides = {"type": "user", "name": "ann"}, {"type": "team", "name": "rides"}
    owners = {"a": [rides, ann], "b": [rides], "c": [{"type": "user", "name": "gone"}, rides], "d": []}
    tables = [{"name": n, "fullyQualifiedName": f"s.d.raw.{n}", "owners": own} for n, own in owners.items()]
    server.answers = {
        "/api/v1/tables": {"data": tables, "paging": {"total": 4}},
        "/api/v1/users/name/ann": {"name": "ann", "email": "ann@example.org"},
        "/api/v1/teams/name/rides": {"name": "rides", "email": "rides@example.org"},
    }
    of_ann, of_rides = {"email": "ann@example.org"}, {"email": "rides@example.org"}
    assert read_owners(server, "openmetadata") == {
        "a": ("ann", of_ann), "b": ("rides", of_rides), "c": ("gone", of_rides), "d": (None, None),
    }  # fmt: skip
    server.answers["/api/v1/teams/name/rides"] = server.answers["/api/v1/users/name/ann"] = 403
    assert {channels for _, channels in read_owners(server, "openmetadata").values()} == {None}
    server.answers["/api/v1/teams/name/rides"] = 500
    with pytest.raises(UnableToReadSource, match="answers 500"):
        read_owners(server, "openmetadata")


def test_datahub_is_asked_for_the_mail_of_each_owner_and_the_slack_of_groups(server: Server) -> None:
    def table(name: str, owner: str) -> dict[str, Any]:
        owners = {"value": {"owners": [{"owner": owner, "type": "DATAOWNER"}]}}
        return {"urn": f"urn:li:dataset:(urn:li:dataPlatform:hive,raw.{name},PROD)", "ownership": owners}

    ann, rides, place = "urn:li:corpuser:ann", "urn:li:corpGroup:rides", "/openapi/v3/entity"
    edited = {
        "corpUserInfo": {"value": {"email": "old@x.org"}},
        "corpUserEditableInfo": {"value": {"email": "a@x.org"}},
    }
    server.answers = {
        f"{place}/dataset": {"entities": [table("a", ann), table("b", rides), table("c", "urn:li:corpuser:gone")]},
        f"{place}/corpuser/{quote(ann, safe='')}": {"urn": ann, **edited},
        f"{place}/corpgroup/{quote(rides, safe='')}": {
            "urn": rides,
            "corpGroupInfo": {"value": {"email": "rides@x.org", "slack": "rides"}},
        },
    }
    assert read_owners(server, "datahub") == {
        "a": ("ann", {"email": "a@x.org"}),
        "b": ("rides", {"email": "rides@x.org", "slack": "#rides"}),
        "c": ("gone", None),
    }


def test_elasticsearch_is_asked_for_templates_components_and_indices(server: Server) -> None:
    template = {"index_patterns": ["trips-*"], "composed_of": ["days"]}
    server.answers = {
        "/_index_template": {"index_templates": [{"name": "trips", "index_template": template}]},
        "/_component_template": {
            "component_templates": [
                {
                    "name": "days",
                    "component_template": {"template": {"mappings": {"properties": {"at": {"type": "date"}}}}},
                }
            ]
        },
        "/_resolve/index/*": {"indices": [{"name": "trips-2026.01.01"}]},
    }
    (trips,) = KINDS["elasticsearch"]({"url": server.url, "token": "env:CATALOG_TOKEN"}).tables
    assert trips.partition is not None
    assert (trips.full_name, trips.partition.column) == ("elasticsearch.trips", "at")
    assert server.tokens == {"ApiKey secret"}


def test_a_dbt_project_may_lie_behind_an_address(server: Server) -> None:
    version = "https://schemas.getdbt.com/dbt/manifest/v12.json"
    node = {"resource_type": "model", "name": "trips", "schema": "mart"}
    server.answers = {
        "/target/manifest.json": {
            "metadata": {"dbt_schema_version": version},
            "nodes": {"model.trips": node},
            "sources": {},
        }
    }
    (trips,) = KINDS["dbt"]({"target": f"{server.url}/target"}).tables
    assert (trips.full_name, trips.columns) == ("mart.trips", None)


@pytest.mark.parametrize("kind", ["unity", "openmetadata", "datahub", "elasticsearch"])
@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (500, "answers 500"),
        (401, "answers 401: correct its token"),
        (404, "there is no"),
        ('{"entities": [', "is no whole JSON document"),
        ([], "is list, not an object"),
        ({"error": "no"}, "is missing, not a list"),
    ],
)
def test_a_server_that_answers_half_or_not_at_all_is_refused(
    server: Server, kind: str, answer: Any, sentence: str
) -> None:
    paths = (f"{UNITY}/catalogs", "/api/v1/tables", "/openapi/v3/entity/dataset", "/_index_template")
    server.answers = dict.fromkeys(paths, answer)
    with pytest.raises(UnableToReadSource, match=sentence):
        names(server, kind)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"url": "http://127.0.0.1:9"}, "does not answer"),
        ({"token": "secret"}, "token is no reference"),
        ({"token": "env:NO_TOKEN_IS_HERE"}, "which is not set"),
        ({"url": ""}, "has no url"),
    ],
)
def test_an_entry_that_is_wrong_says_what(server: Server, keys: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        names(server, "unity", **keys)
