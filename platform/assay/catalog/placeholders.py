"""What stands between braces in the assertion of a template: a column, and parameters.

All other braces are of the language (``{window.start:date}``) or of a pattern (``[0-9]{3}``, ``\\p{Lu}``), and stay.
"""

import re
from collections.abc import Mapping

COLUMN = "column"
NAME = r"[a-z][a-z0-9_]{0,39}"
_PLACEHOLDER = re.compile(rf"(?<!\\[pP])\{{({NAME})\}}", re.ASCII)


def placeholders(assertion: str) -> tuple[str, ...]:
    """The names that stand between braces alone, each once, in their order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(assertion)))


def filled(assertion: str, values: Mapping[str, str]) -> str:
    """The assertion with a value in place of each name that has one."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), assertion)
