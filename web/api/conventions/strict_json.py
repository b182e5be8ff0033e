"""JSON as bodies may be: of bounded size and depth, in UTF-8, with no name twice and nothing that is no JSON."""

import json
from collections import Counter
from collections.abc import Mapping
from math import isinf
from typing import IO, Any, Never

from django.conf import settings
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import JSONParser

from .problems import TooLarge

DEEPEST = 64


class StrictJSONParser(JSONParser):
    """Reads a JSON body, or raises what is answered with 4xx."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The value."""
        encoding = str((parser_context or {}).get("encoding", "utf-8")).lower()
        if encoding not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(f"application/json; charset={encoding[:40]}")
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        text = stream.read(most + 1)
        if len(text) > most:
            raise TooLarge
        return read(text)


def read(text: bytes) -> Any:
    """The value of a JSON text; raises ParseError."""
    try:
        value = json.loads(text.decode(), parse_constant=_no_json, object_pairs_hook=_object)
    except RecursionError:
        raise ParseError(f"JSON nested more than {DEEPEST} deep.") from None
    except ValueError as error:  # UnicodeDecodeError and too many digits are such too
        raise ParseError(f"JSON parse error - {error}") from None
    _demand_sound(value)
    return value


def _no_json(name: str) -> Never:
    raise ValueError(f"{name} is no JSON value")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; of a name that is there twice, readers differ about which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the name {twice[:80]!r} is there twice")
    return found


def _demand_sound(value: Any) -> None:
    """Nothing where the value is of bounded depth, its texts are texts and its numbers are finite."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ParseError(f"JSON nested more than {DEEPEST} deep.")
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.keys()
                inner += each.values()
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, str) and not _is_text(each):
                raise ParseError("a text holds a NUL or half of a character pair")
            elif isinstance(each, float) and isinf(each):
                raise ParseError("a number is beyond what a double holds")
        level = inner


def _is_text(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
