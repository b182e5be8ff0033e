"""Names hold no control characters, and nothing that somebody sends can begin a line of the logs that poses as ours."""

import re
from collections.abc import MutableMapping
from typing import Any

# C0, DEL and C1, the separators of lines and paragraphs, and marks that turn the direction of writing
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MANY_LINES = ("exception", "stack")
INDENT = "    "


def visible(text: str) -> str:
    r"""The text, with control characters as ``\x0a`` or ``\u2028``."""
    return CONTROLS.sub(_escape, text)


def name_fault(name: str) -> str | None:
    """Why a text is no name, whoever sends it; None where it may be one: a name stands on one line, as it looks."""
    match = CONTROLS.search(name)
    return None if match is None else f"a name may hold no control character, and this one holds {_escape(match)}"


def without_controls(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor of structlog: one event, one line; the lines of a traceback are indented."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = (
                "\n".join(INDENT + visible(line) for line in value.split("\n"))
                if name in MANY_LINES
                else visible(value)
            )
    return event


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
