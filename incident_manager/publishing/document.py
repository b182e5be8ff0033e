"""What a pointer says: a JSON document that names the audited files, the verdict, and its own checksum (pure)."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

FORMAT = "assay-publication/1"
CHECKSUM = "sha256"

Document = Mapping[str, Any]


class UnableToReadDocument(ValueError):
    """A text that is no whole document of ours."""


def sealed(told: Mapping[str, Any]) -> Document:
    """The document with its format and checksum."""
    document = {"format": FORMAT, **told}
    return {**document, CHECKSUM: checksum(document)}


def checksum(document: Document) -> str:
    """SHA-256, in hexadecimal, of all but the checksum: JSON with sorted keys, no spaces, in ASCII."""
    rest = {name: value for name, value in document.items() if name != CHECKSUM}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def written(document: Document) -> str:
    """The document as text."""
    return json.dumps(document, indent=2) + "\n"


def read_document(text: str) -> Document:
    """The document of a text; raises UnableToReadDocument where it is no document, or not whole."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UnableToReadDocument(f"it is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise UnableToReadDocument(f"it is no document of the format {FORMAT}")
    if found.get(CHECKSUM) != checksum(found):
        raise UnableToReadDocument("its checksum is not that of what it says")
    return found
