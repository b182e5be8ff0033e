"""How each operation gets into the OpenAPI document: its words from docstrings, its problems and needs from our rules.

The first line of a method's docstring is the summary, the rest the description, or else that of its class.
"""

from collections.abc import Callable, Iterator
from inspect import getdoc
from typing import Any, TypeVar

from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from assay.access import Action, Role, scopes_for, who_may
from web.access.tokens import PARAMETER
from web.access.who import need_of

from .problems import KINDS, MEDIA_TYPE

T = TypeVar("T")
ALWAYS = (400, 401, 403, 429, 500)


class Problem(serializers.Serializer[Any]):
    """What is wrong, as RFC 9457 has it, with the place and how to mend it."""

    type = serializers.CharField(help_text="a reference that leads to the explanation of this kind of problem")
    title = serializers.CharField(help_text="the kind in words")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="what is wrong this time")
    instance = serializers.CharField(help_text="the address, with the id of the request as its fragment")
    where = serializers.CharField(allow_blank=True, help_text="the parameter or field that is wrong, or the address")
    mend = serializers.CharField(help_text="how to mend it")
    error = serializers.CharField(help_text="the same as detail, for older programs")


class Described(AutoSchema):
    """One operation of the document."""

    def get_summary(self) -> str | None:
        return _plain(self._doc().partition("\n")[0]).rstrip(".") or None

    def get_description(self) -> str:  # type: ignore[override]
        """The rest of it, or the docstring of its class, and who may."""
        text = self._doc().partition("\n")[2].strip() or getdoc(type(self.view)) or ""
        need, needs = need_of(self.view, self.method), ""
        if need is not None and need is not Action.LEAVE:
            scopes, roles = " or ".join(f"`{scope}`" for scope in scopes_for(need)), who_may(need)
            token = f"A token needs the scope {scopes}." if scopes else "It takes name and password, or a session."
            needs = f"{token} Who may: {'every role' if roles == ', '.join(Role) else roles}."
        return "\n\n".join(filter(None, (_plain(text), needs)))

    def get_override_parameters(self) -> list[Any]:
        """The filters of a list of rows."""
        query = getattr(self.view, "query", None)
        return [query] if query and getattr(self.view, "action", "") == "list" else []

    def _doc(self) -> str:
        name = getattr(self.view, "action", self.method.lower())
        method = getattr(self.view, name, None)
        if text := getdoc(method) if method else None:
            return text
        singular, several = getattr(self.view, "nouns", ("", ""))
        filters = " that match the filters" if getattr(self.view, "query", None) else ""
        return {"list": f"List the {several}{filters}.", "retrieve": f"Show one {singular}."}.get(name, "")

    def _get_serializer_field_meta(self, field: Any, direction: Any) -> dict[str, Any]:
        """What is said of a field; a default that may not be sent is no default of the document."""
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]
        if meta.get("default") == "" and not getattr(field, "allow_blank", False):
            del meta["default"]
        if isinstance(field, serializers.JSONField):
            meta.pop("nullable", None)  # any JSON may be null already: as one of two it would be both
        return meta

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        """The answers, and the problems that this operation may have."""
        answers: dict[str, Any] = super()._get_response_bodies(direction)
        fine = {code: answer for code, answer in answers.items() if not code.startswith("4")}
        problems = {*ALWAYS, *(int(code) for code in answers if code.startswith("4"))}
        problems |= {404} if "{" in self.path else set()
        problems |= {409} if self.method != "GET" else set()
        problems |= {413, 415} if self.method in ("POST", "PUT", "PATCH") else set()
        return fine | {str(status): self._problem(status) for status in sorted(problems)}

    def _problem(self, status: int) -> dict[str, str]:
        """The reference to the answer that all operations have for this status."""
        kind = KINDS[status]
        shape = self.resolve_serializer(Problem, "response").ref
        content = {MEDIA_TYPE: {"schema": shape}}
        name = "".join(word.capitalize() for word in kind.slug.split("-"))
        answer = ResolvedComponent(  # type: ignore[no-untyped-call]
            name=name,
            type=ResolvedComponent.RESPONSE,
            schema={"description": f"{kind.title}.", "content": content},
            object=name,
        )
        self.registry.register_on_missing(answer)
        reference: dict[str, str] = answer.ref
        return reference


def with_example(example: dict[str, Any]) -> Callable[[type[T]], type[T]]:
    """Give a body an example in the document, where types alone do not show what one writes."""
    annotate: Callable[[type[T]], type[T]] = extend_schema_serializer(
        examples=[OpenApiExample("An example", value=example)]
    )
    return annotate


def _plain(text: str) -> str:
    """Markdown, of what docstrings have in reStructuredText."""
    return text.replace("``", "`")


HOW = (
    "A token is got with name and password, and without another token: by `POST /api/v1/auth/login` one of ten hours "
    "that may do all that its user may, by `POST /api/v1/tokens` one with a name, a life and a few scopes."
)


class TokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]
    """The token, under knox's own scheme."""

    target_class = "web.access.tokens.TokenAuthentication"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        scheme: dict[str, str] = super().get_security_definition(auto_schema)  # type: ignore[no-untyped-call]
        return scheme | {"description": f"`Authorization: Token …`. {HOW}"}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The key of a token in an address."""

    target_class = "web.access.tokens.KeyInAddress"
    name = "addressKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        text = "The `address_key` of a token, where no header can be sent; it ends with the token."
        return {"type": "apiKey", "in": "query", "name": PARAMETER, "description": text}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The bearer token, as OpenLineage's clients send it."""

    target_class = "web.access.tokens.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": f"The same tokens under another word. {HOW}"}


METHODS = ("post", "put", "patch", "delete")
PREFIX = "#/components/schemas/"


def only_known_names(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """The schema, with every object that is a request's body closed."""
    components = result.get("components", {}).get("schemas", {})
    # the components that are bodies
    operations = [path[method] for path in result.get("paths", {}).values() for method in METHODS if method in path]
    open_ones = {name for operation in operations for name in _references(operation.get("requestBody", {}))}
    while open_ones:
        component = components.get(open_ones.pop(), {})
        if "properties" in component and "additionalProperties" not in component:
            component["additionalProperties"] = False
            open_ones |= set(_references(component))
    return result


def _references(part: Any) -> Iterator[str]:
    """The components that a part of the schema names, in it or in what it holds."""
    if isinstance(part, dict):
        if str(part.get("$ref", "")).startswith(PREFIX):
            yield part["$ref"].removeprefix(PREFIX)
        for inside in part.values():
            yield from _references(inside)
    elif isinstance(part, list):
        for inside in part:
            yield from _references(inside)
