"""Operations of an OpenAPI document, as a page shows them."""

import shlex
from typing import Any

from web.shown.operations import FieldRow, operations_by_tag

NULL = {"type": "null"}
COLOURS = ("Colour", "Blank")
INSTANT = {"type": "string", "format": "date-time"}
DOCUMENT: dict[str, Any] = {
    "paths": {
        "/api/v1/tables/{id}": {
            "get": {
                "operationId": "tables_get",
                "summary": "One table",
                "description": "All of `it`.\n\nWho may: all.",
                "tags": ["tables"],
                "security": [{"knoxApiToken": []}],
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "from", "in": "query", "required": True, "schema": INSTANT},
                    {"name": "open", "in": "query", "schema": {"type": ["boolean", "null"]}, "description": "or not"},
                ],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Table"}}}},
                    "404": {"$ref": "#/components/responses/NotFound"},
                },
            },
            "post": {
                "operationId": "tables_post",
                "summary": "Write",
                "description": "It",
                "tags": ["tables"],
                "security": [{"basicAuth": []}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Table"}}}},
                "responses": {"204": {"description": "nothing"}},
            },
        }
    },
    "components": {
        "responses": {"NotFound": {"description": "It is not there."}},
        "schemas": {
            "Colour": {"enum": ["red", "green"], "type": "string"},
            "Blank": {"enum": [""]},
            "Column": {
                "properties": {
                    "name": {"type": "string", "description": "its `name`"},
                    "colour": {"oneOf": [*({"$ref": f"#/components/schemas/{name}"} for name in COLOURS), NULL]},
                },
            },
            "Table": {
                "required": ["columns", "it's"],
                "properties": {
                    "columns": {"type": "array", "items": {"$ref": "#/components/schemas/Column"}},
                    "it's": {"type": "string"},
                    "self": {"$ref": "#/components/schemas/Table"},
                },
            },
        },
    },
}  # fmt: skip


def test_fields_of_objects_in_lists_are_rows_of_their_own() -> None:
    get, _ = operations_by_tag(DOCUMENT, "https://assay.example.com")["tables"]
    (answer,) = get.answers
    assert answer.rows[:3] == (
        FieldRow(name="columns", kind="list of any JSON", said="", is_needed=True),
        FieldRow(name="columns[].name", kind="string", said="its `name`", is_needed=False),
        FieldRow(name="columns[].colour", kind="red · green, or null", said="", is_needed=False),
    )


def test_a_shape_that_holds_itself_ends() -> None:
    get, _ = operations_by_tag(DOCUMENT, "")["tables"]
    assert 0 < len(get.answers[0].rows) < 100


def test_parameters_say_their_kind_and_where_they_are() -> None:
    get, _ = operations_by_tag(DOCUMENT, "")["tables"]
    assert [(row.kind, row.is_needed, row.place) for row in get.parameters] == [
        ("string", True, "path"),
        ("instant", True, "query"),
        ("boolean, or null", False, "query"),
    ]
    assert [(problem.status, problem.title) for problem in get.problems] == [(404, "It is not there.")]


def test_a_line_for_curl_gives_what_is_needed_and_is_safe_for_a_shell() -> None:
    get, post = operations_by_tag(DOCUMENT, "https://assay.example.com")["tables"]
    assert shlex.split(get.curl) == [
        "curl",
        "-H",
        "Authorization: Token $ASSAY_TOKEN",
        "https://assay.example.com/api/v1/tables/{id}?from=2026-03-09T00:00:00Z",
    ]
    words = shlex.split(post.curl)
    assert words[:5] == ["curl", "-u", "NAME", "-X", "POST"]
    assert words[words.index("-d") + 1] == '{"columns": [], "it\'s": "…"}'
