"""Every address and method that the URL configuration knows."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("get", "post", "put", "patch", "delete")


def endpoints() -> list[tuple[str, str]]:
    """Methods and routes; a page tells nobody its methods, which is ``*``."""
    found = _patterns(get_resolver().url_patterns, "")
    return [(method, route) for route, pattern in found for method in _methods(pattern)]


def _patterns(found: Any, before: str) -> Iterator[tuple[str, URLPattern]]:
    for each in found:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _patterns(each.url_patterns, route)
        else:
            yield route.replace("^", "").replace("$", ""), each


def _methods(pattern: URLPattern) -> list[str]:
    view: Any = pattern.callback
    if actions := getattr(view, "actions", None):  # of a set of views, which adds HEAD once it was asked for anything
        return [method.upper() for method in METHODS if method in actions]
    shown = getattr(view, "cls", None)  # of a view of the API
    return [method.upper() for method in METHODS if hasattr(shown, method)] or ["*"]
