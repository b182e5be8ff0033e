"""The documents of a source: JSON of files and of addresses, read whole or not at all."""

import json
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any, ParamSpec
from urllib.parse import urlencode

from assay.catalog.tellings import SourceTelling, UnableToReadSource
from assay.edge.destination import UnableToCall, rules_for
from assay.edge.outbound import ask

from .entries import ALL

SECONDS = 60.0  # for one answer
MOST_SECONDS = 600.0  # for all pages of an address
MOST_BYTES = 256 * 1024 * 1024  # of one document
HTTP = ("http://", "https://")
Documents = ParamSpec("Documents")


def read_document(place: str, headers: Mapping[str, str] | None = None, *, is_optional: bool = False) -> Any:
    """The JSON that a file or an address holds; raises UnableToReadSource. None where an optional one is not there.

    Nor is one there that an address gives to others alone (403).
    """
    body = _answer(place, headers or {}, is_optional) if place.startswith(HTTP) else _content(place)
    if body is None:
        if is_optional:
            return None
        raise UnableToReadSource(f"there is no {place}: correct the entry, or let its source write it")
    return parse(body, place)


def read_pages(
    url: str,
    headers: Mapping[str, str],
    parameters: Mapping[str, str],
    *,
    items: str,
    cursor: str,
    next_page: Callable[[Mapping[str, Any]], object],
    bare: Collection[str] | None = None,
    most: int = ALL,
) -> list[Mapping[str, Any]]:
    """The ``items`` of all pages of an address, which takes the ``cursor`` that ``next_page`` finds in the page before.

    It ends with the page that has ``most`` of them. A page that has none but ``bare`` keys may leave out its items.
    Raises UnableToReadSource, also where one page leads to another again, or to others for too long.
    """
    read: list[Mapping[str, Any]] = []
    marks: set[str] = set()
    following: object = ""
    end = monotonic() + MOST_SECONDS
    while True:
        own = {**parameters, cursor: str(following)} if following else dict(parameters)
        place = f"{url}{'&' if '?' in url else '?'}{urlencode(own)}" if own else url
        page = mapping(read_document(place, headers), f"the answer of {url}")
        is_bare = bare is not None and set(page) <= set(bare)
        listed = mappings(page.get(items, [] if is_bare else None), f"{items} of {url}")
        read += listed
        following = next_page(page)
        if not following or len(read) >= most:
            return read
        own_marks = {f"cursor {following}", *(f"item {item}" for item in listed[:1])}
        if own_marks & marks:
            raise UnableToReadSource(f"{url} gives the same page again: see what it says there")
        if monotonic() > end:
            raise UnableToReadSource(f"{url} gives pages for more than {MOST_SECONDS:g} s: see what it says there")
        marks |= own_marks


def documented(parse: Callable[Documents, SourceTelling]) -> Callable[Documents, SourceTelling]:
    """A parser that raises UnableToReadSource wherever a document has another shape than it knows."""

    @wraps(parse)
    def read(*documents: Documents.args, **named: Documents.kwargs) -> SourceTelling:
        try:
            return parse(*documents, **named)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UnableToReadSource(
                f"its answer has another shape than is documented ({type(error).__name__}: {error!s:.200}): see that "
                "its source answers in full"
            ) from error

    return read


def parse(body: bytes, place: str) -> Any:
    """The content of a JSON document; raises UnableToReadSource."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise UnableToReadSource(
            f"{place} is no whole JSON document ({len(body)} bytes): let its source write it again"
        ) from None


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """The value itself, where it is an object of JSON; raises UnableToReadSource."""
    if not isinstance(value, Mapping):
        raise UnableToReadSource(f"{what} is {_kind(value)}, not an object: see that its source answers in full")
    return value


def mappings(value: object, what: str) -> list[Mapping[str, Any]]:
    """The value itself, where it is a list of objects; raises UnableToReadSource."""
    if not isinstance(value, list):
        raise UnableToReadSource(f"{what} is {_kind(value)}, not a list: see that its source answers in full")
    return [mapping(item, f"{what}[{index}]") for index, item in enumerate(value)]


def text_at(item: Mapping[str, Any], key: str, what: str) -> str:
    """A text that must be there; raises UnableToReadSource."""
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise UnableToReadSource(f"{what} has no {key}: see that its source answers in full")
    return value


def _kind(value: object) -> str:
    return "missing" if value is None else type(value).__name__


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnableToReadSource(f"{path} cannot be read ({error.strerror}): let this user read it") from None


def _answer(url: str, headers: Mapping[str, str], is_optional: bool) -> bytes | None:
    rules = rules_for(url, permits_private=True)  # only the operator names addresses here
    try:
        answer = ask("GET", url, rules=rules, headers=headers, seconds=SECONDS, most=MOST_BYTES)
    except UnableToCall as error:
        raise UnableToReadSource(
            f"{url} does not answer ({error}): see that it runs and is reached from here"
        ) from None
    if answer.status == 404 or (is_optional and answer.status == 403):
        return None
    if answer.status != 200:
        hint = "correct its token" if answer.status in (401, 403) else "see what it says there"
        raise UnableToReadSource(f"{url} answers {answer.status}: {hint}")
    return answer.body
