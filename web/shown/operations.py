"""The operations of an OpenAPI document as a page shows them: fields in rows, examples, a line for curl (pure)."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
DEEPEST = 4  # levels of fields; what lies deeper is an object
JSON = "application/json"
VALUES = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "string": "…"}


@dataclass(frozen=True, kw_only=True)
class FieldRow:
    """One parameter or field; a field of a field has both names, ``[]`` after that of a list."""

    name: str
    kind: str
    said: str
    is_needed: bool
    place: str = ""  # of a parameter: path or query


@dataclass(frozen=True, kw_only=True)
class ShownAnswer:
    """One answer."""

    status: int
    title: str
    rows: tuple[FieldRow, ...]
    example: str


@dataclass(frozen=True, kw_only=True)
class ShownProblem:
    """A problem that an operation may have."""

    status: int
    title: str


@dataclass(frozen=True, kw_only=True)
class ShownOperation:
    """One operation."""

    anchor: str
    method: str
    path: str
    summary: str
    said: tuple[str, ...]
    parameters: tuple[FieldRow, ...]
    body: tuple[FieldRow, ...]
    body_example: str
    answers: tuple[ShownAnswer, ...]
    problems: tuple[ShownProblem, ...]
    curl: str


def operations_by_tag(document: Mapping[str, Any], url: str) -> dict[str, list[ShownOperation]]:
    """All operations, by tag; ``url`` is where the API is asked, without a path."""
    found: dict[str, list[ShownOperation]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                shown = _operation(document, method, path, item[method], url)
                found.setdefault(item[method]["tags"][0], []).append(shown)
    return dict(sorted(found.items()))


def _operation(
    document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any], url: str
) -> ShownOperation:
    body = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
    answers = {int(code): _resolved(document, answer) for code, answer in operation["responses"].items()}
    parameters = operation.get("parameters", [])
    return ShownOperation(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        said=tuple(part for part in operation["description"].split("\n\n") if part),
        parameters=tuple(_parameter(document, each) for each in parameters),
        body=tuple(_rows(document, body.get("schema", {}))),
        body_example=_example(body),
        answers=tuple(_answer(document, code, answer) for code, answer in answers.items() if code < 300),
        problems=tuple(
            ShownProblem(status=code, title=answer["description"]) for code, answer in answers.items() if code >= 400
        ),
        curl=_curl(document, method, url + path, operation, body),
    )


def _parameter(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> FieldRow:
    schema = parameter["schema"]
    return FieldRow(
        name=parameter["name"],
        kind=_kind(document, schema),
        said="" if "enum" in schema else parameter.get("description", ""),
        is_needed=parameter.get("required", False),
        place=parameter["in"],
    )


def _answer(document: Mapping[str, Any], status: int, answer: Mapping[str, Any]) -> ShownAnswer:
    content = answer.get("content", {})
    chosen: Mapping[str, Any] = content.get(JSON) or next(iter(content.values()), {})
    kinds = "" if JSON in content else ", ".join(content)
    title = HTTPStatus(status).phrase
    return ShownAnswer(
        status=status,
        title=f"{title}: {kinds}" if kinds else title,
        rows=tuple(_rows(document, chosen.get("schema", {}))),
        example=_example(chosen),
    )


def _rows(
    document: Mapping[str, Any], schema: Mapping[str, Any], before: str = "", depth: int = 0
) -> Iterator[FieldRow]:
    """The fields of an object, of each object of a list, and of the objects in them."""
    schema = _plain(document, schema)
    if "items" in schema:
        yield from _rows(document, schema["items"], f"{before}[]." if not before else f"{before[:-1]}[].", depth)
        return
    if depth == DEEPEST:
        return
    for name, inside in schema.get("properties", {}).items():
        plain = _plain(document, inside)
        yield FieldRow(
            name=f"{before}{name}",
            kind=_kind(document, inside),
            said="" if "enum" in plain else inside.get("description", ""),
            is_needed=name in schema.get("required", ()),
        )
        yield from _rows(document, inside, f"{before}{name}.", depth + 1)


def _kind(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What a value is, in words: its type, its choices, and whether it may be null."""
    plain = _plain(document, schema)
    kinds = plain.get("type", "any JSON")
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    can_be_null = "null" in names or any(
        part.get("type") == "null" or None in part.get("enum", [])
        for part in (_resolved(document, each) for each in schema.get("oneOf", ()))
    )
    said = " or ".join(name for name in names if name != "null")
    if "items" in plain:
        said = f"list of {_kind(document, plain['items'])}"
    if plain.get("format") == "date-time":
        said = "instant"
    if choices := [str(each) for each in plain.get("enum", ()) if each not in ("", None)]:
        said = " · ".join(choices)
    return f"{said}, or null" if can_be_null else said


def _plain(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, of a reference or of one that may be null or blank."""
    schema = _resolved(document, schema)
    for part in (*schema.get("oneOf", ()), *schema.get("allOf", ())):
        inside = _resolved(document, part)
        if inside.get("type") != "null" and set(inside.get("enum", ["x"])) - {"", None}:
            return _plain(document, inside)
    return schema


def _resolved(document: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in part:
        found: Any = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


def _example(content: Mapping[str, Any]) -> str:
    values = [each["value"] for each in content.get("examples", {}).values()]
    return json.dumps(values[0], indent=2, ensure_ascii=False) if values else ""


def _curl(
    document: Mapping[str, Any], method: str, url: str, operation: Mapping[str, Any], body: Mapping[str, Any]
) -> str:
    """A line for a shell that has the token in ``ASSAY_TOKEN``."""
    known = {scheme for each in operation.get("security", []) for scheme in each}
    who = '-H "Authorization: Token $ASSAY_TOKEN"' if "knoxApiToken" in known else "-u NAME"
    words = ["curl", who, *(["-X", method.upper()] if method != "get" else [])]
    if body:
        value = json.loads(_example(body)) if body.get("examples") else _made(document, body.get("schema", {}))
        words += ["-H 'Content-Type: application/json'", "-d", shlex.quote(json.dumps(value, ensure_ascii=False))]
    return " ".join([*words, shlex.quote(url + _query(document, operation.get("parameters", [])))])


def _query(document: Mapping[str, Any], parameters: Iterable[Mapping[str, Any]]) -> str:
    """What an address needs."""
    needed = [each for each in parameters if each["in"] == "query" and each.get("required")]
    given = [f"{each['name']}={_value(document, each['name'], each['schema'])}" for each in needed]
    return f"?{'&'.join(given)}" if given else ""


def _made(document: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A body of the fields that are needed."""
    plain = _plain(document, schema)
    needed = plain.get("required", ())
    return {name: _value(document, name, plain["properties"][name]) for name in needed}


def _value(document: Mapping[str, Any], name: str, schema: Mapping[str, Any]) -> Any:
    plain = _plain(document, schema)
    if plain.get("enum"):
        return plain["enum"][0]
    if plain.get("format") == "date-time":
        return "2026-03-10T00:00:00Z" if name == "to" else "2026-03-09T00:00:00Z"
    if name == "dataset":
        return "raw.trips"
    kind = plain.get("type", "string")
    return VALUES[kind if isinstance(kind, str) else kind[0]]
