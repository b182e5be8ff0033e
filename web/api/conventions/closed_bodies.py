"""What OpenAPI's schema says of bodies: names that are not listed are refused, as ``Shape`` does."""

from collections.abc import Iterator
from typing import Any

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
