"""The OpenAPI document is valid, says something of every operation, and says what the API really answers."""

import json
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from rest_framework.test import APIClient

from assay import clock
from assay.models import Member
from tests.crawler.pages import read_page
from tests.factories import NOW
from tests.integration.web.estate import Estate, body, build
from tests.integration.web.matrix import API, Line, lines
from web.api.problems import KINDS

METHODS = ("get", "post", "put", "patch", "delete")
ROOT = "urn:assay"


@cache
def document() -> dict[str, Any]:
    """The document, with every object that lists its members closed: an answer has no others."""
    made: dict[str, Any] = json.loads(
        json.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
    )
    return made


@cache
def closed() -> Registry[Any]:
    whole = json.loads(json.dumps(document()))
    for part in whole["components"]["schemas"].values():
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    resource: Resource[Any] = DRAFT202012.create_resource(whole)
    registry: Registry[Any] = Registry().with_resource(ROOT, resource)
    return registry


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document()["paths"].items():
        yield from ((method, path, item[method]) for method in METHODS if method in item)


def wrong_with(value: Any, *place: str) -> list[str]:
    """How a value differs from the schema at a place of the document."""
    pointer = "/".join(part.replace("~", "~0").replace("/", "~1").replace("{", "%7B") for part in place)
    validator = Draft202012Validator(
        {"$ref": f"{ROOT}#/{pointer.replace('}', '%7D')}"}, registry=closed(), format_checker=FormatChecker()
    )
    return [f"{'/'.join(map(str, each.path))}: {each.message[:300]}" for each in validator.iter_errors(value)]


def path_of(line: Line, address: str) -> str:
    route = str(resolve(urlsplit(address).path).route)
    found = [path for path in document()["paths"] if fits(path, address) and path.count("/") >= route.count("/") - 1]
    literal = [path for path in found if path == address]
    (path,) = literal or found
    return str(path)


def fits(path: str, address: str) -> bool:
    wanted, given = path.split("/"), address.split("/")
    return len(wanted) == len(given) and all(
        part == word or part.startswith("{") for part, word in zip(wanted, given, strict=True)
    )


@pytest.fixture(autouse=True)
def _models(db: None) -> None:
    """Making the document may ask for rows."""


def test_the_document_is_valid_openapi() -> None:
    assert [str(error) for error in OpenAPIV31SpecValidator(document()).iter_errors()] == []


def test_the_document_is_made_without_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    assert "arning" not in capsys.readouterr().err


def test_every_operation_has_words_a_tag_and_typed_answers() -> None:
    for method, path, operation in operations():
        told = f"{method.upper()} {path}"
        assert operation.get("summary", ""), told
        assert len(operation.get("description", "")) > len("."), told
        assert operation["summary"] != operation["description"], told
        assert operation.get("tags"), told
        assert "operationId" in operation, told
        fine = {code: answer for code, answer in operation["responses"].items() if code.startswith("2")}
        assert fine, told
        for code, answer in fine.items():
            if code == "204":
                continue
            for kind, content in answer["content"].items():
                assert is_typed(content["schema"]), (told, code, kind)


def is_typed(schema: dict[str, Any]) -> bool:
    """Whether a schema says more than that it is some object."""
    return "$ref" in schema or schema.get("type") == "string" or is_typed(schema.get("items", {}) or {"type": "string"})


def test_every_operation_names_the_problems_it_may_have() -> None:
    for method, path, operation in operations():
        assert {"400", "401", "403", "429", "500"} <= set(operation["responses"]), (method, path)
        for code, answer in operation["responses"].items():
            if not code.startswith("2"):
                shown = answer["$ref"].removeprefix("#/components/responses/")
                assert set(document()["components"]["responses"][shown]["content"]) == {"application/problem+json"}


def test_examples_of_bodies_fit() -> None:
    seen = set()
    for method, path, operation in operations():
        place = ("requestBody", "content", "application/json")
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in content.get("examples", {}).values():
            assert wrong_with(example["value"], "paths", path, method, *place, "schema") == [], (method, path)
            seen.add(path.removeprefix("/api/v1/"))
    assert {"gate", "reports", "runs/bulk", "pipelines/{name}/completed"} <= seen


def test_a_token_is_described_as_it_is_got() -> None:
    assert document()["paths"]["/api/v1/auth/login"]["post"]["security"] == [{"basicAuth": []}]
    schemes = document()["components"]["securitySchemes"]
    for name in ("bearer", "knoxApiToken"):
        assert "without another token" in schemes[name]["description"]


@pytest.fixture
def estate() -> Estate:
    clock.simulate(NOW)
    for name in ("grace", "third"):
        Member.objects.create(user=User.objects.create_user(name), role="admin" if name == "grace" else "viewer")
    return build("grace", "third")


def test_every_answer_is_as_the_document_says(estate: Estate) -> None:
    client = APIClient()
    client.force_login(User.objects.get(username="grace"))
    wrong, asked = [], 0
    for line in lines(API):
        address = estate.address(line.address)
        given = body(line.method, line.address, estate)
        with transaction.atomic():
            as_json = {} if line.method == "GET" else {"format": "json"}
            answer = getattr(client, line.method.lower())(address, given, **as_json)
            transaction.set_rollback(True)
        place = ("paths", path_of(line, address), line.method.lower(), "responses", str(answer.status_code))
        assert answer.status_code < 300, (line, answer.content)
        known = document()["paths"][place[1]][place[2]]["responses"]
        assert place[4] in known, (line, place[4], list(known))
        if answer.status_code == 204:
            continue
        asked += 1
        if (kind := answer.headers["Content-Type"].partition(";")[0]) != "application/json":
            assert kind in known[place[4]]["content"], (line, kind)
            continue
        found = wrong_with(answer.json(), *place, "content", "application/json", "schema")
        wrong += [f"{line.method} {address}: {each}" for each in found]
    assert wrong == [], "\n".join(wrong)
    assert asked > 50


def test_a_problem_is_as_the_document_says(client: Client) -> None:
    answer = client.get("/api/v1/gate")
    place = ("components", "responses", "NotSignedIn", "content", "application/problem+json", "schema")
    assert wrong_with(answer.json(), *place) == []
    assert wrong_with({**answer.json(), "status": "401"}, *place) != []


def test_an_answer_with_a_member_that_the_document_lacks_is_noticed() -> None:
    place = ("components", "schemas", "GateVerdict")
    assert wrong_with({"decision": "allow", "status": "good", "reasons": []}, *place) == []
    assert wrong_with({"decision": "allow", "status": "good", "reasons": [], "more": 1}, *place) != []
    assert wrong_with({"decision": "maybe", "reasons": []}, *place) != []
    assert wrong_with({"decision": "allow"}, *place) != []


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
