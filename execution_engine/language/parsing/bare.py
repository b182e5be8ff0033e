"""What a reader is told who wrote a name by itself, such as a column, where only the call of a metric stands."""

import re
from difflib import get_close_matches

from execution_engine.language.tree import Function, HistoryFunction
from execution_engine.metrics.columns import PLAIN, named
from execution_engine.metrics.registry import SIGNATURES

MAX_NAME = 128  # characters of a name, with the fields of structs, for which a mending is written out
MAX_SHOWN = 60  # of a longer one
_CALLED = (*SIGNATURES, *HistoryFunction, *Function)
_NAME = r"(?:[a-z_][a-z0-9_]{0,127}|`(?:[^`]|``)+`)"
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*", re.IGNORECASE)
_VALUE = r"(?:'[^'\"\\]{0,60}'|-?\d{1,20}(?:\.\d{1,20})?)"
_OF_ROWS = re.compile(
    rf"""\s*((?:<=|>=|==|!=|<>|<|>|=)\s*{_VALUE}(?!\s*[-+*/%.])|is\s+(?:not\s+)?null\b|(?:not\s+)?like\s+'[^'"\\]{{0,60}}'
    |(?:not\s+)?between\s+{_VALUE}\s+and\s+{_VALUE}|(?:not\s+)?in\s*\(\s*{_VALUE}(?:\s*,\s*{_VALUE}){{0,2}}\s*\))(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_AS_A_COLUMN = re.compile(r"\s*([-+*/%<>=!),.]|(is|in|like|between)\b|$)", re.IGNORECASE)
_NEXT = re.compile(r"\s*(?!(?:is|in|like|rlike|not|between|and|or|by)\b)([a-z_]\w{0,127})\s*(\(?)", re.IGNORECASE)
_NUMBERLESS = ("nan", "true", "false", "inf", "infinity")
_JOINING = ("and", "or", "between", "by")


def end_of_name(text: str, start: int) -> int:
    """Where the name that begins at ``start`` ends, with the fields of structs; ``start`` where none begins."""
    found = _PATH.match(text, start)
    return found.end() if found else start


def mending_of_bare(name: str, after: str) -> str:
    """How to mend ``name``, which stands in a text before ``after``, and is not called."""
    known = name.lower()
    follows = _NEXT.match(after)
    if known == "null":
        return f"there is no literal {name}: coalesce(…, 0) replaces a NULL"
    if known in _NUMBERLESS:
        return f"there is no literal {name}: compare with a number, such as completeness(email) = 1"
    if known in ("select", "with", "case"):
        return """SQL stands in quotes, in query("select count(*) from …") > 0 or compliance("…") = 1"""
    if known in _JOINING and (follows or not _AS_A_COLUMN.match(after)):
        return f"something is missing before {name!r}"
    if follows and follows[2]:
        return f"leave {name} out: an assertion begins with what it compares, such as {follows[1]}(…) > 0"
    if len(name) > MAX_NAME:
        return f"{name[:MAX_SHOWN]}… stands by itself: a column goes into a metric, completeness(…) = 1"
    return f"{name} stands by itself: {'; '.join(_mendings(name, after, follows[1] if follows else None))}"


def _mendings(name: str, after: str, follows: str | None) -> list[str]:
    """As a metric, where it is one or is like one; as a column, where it may be one."""
    known = name.lower()
    signature = SIGNATURES.get(known)
    if signature is not None and not (signature.min_columns or signature.arguments):
        return [f"call the metric with parentheses, {name}()"]
    as_column = _of_a_column(name, after)
    if known in _CALLED:
        kind = "function" if signature is None else "metric"
        return [f"call the {kind} with parentheses, {name}({follows or '…'})", *([] if follows else [as_column])]
    if follows:
        return [f"a name of several words stands between backticks in a metric, completeness(`{name} {follows}`) = 1"]
    near = get_close_matches(known, _CALLED, n=1, cutoff=0.8)
    return [*(f"did you mean {like}(…)?" for like in near), as_column]


def _of_a_column(name: str, after: str) -> str:
    from execution_engine.guard import in_sql  # with it sqlglot, for what is mended alone

    column = name if PLAIN.fullmatch(name) else named(name)
    found = _OF_ROWS.match(after)
    condition = f'compliance("{in_sql(column)} {found[1] if found else "is not null"}") = 1'
    return f"a column goes into a metric, completeness({column}) = 1, or a condition on rows, {condition}"
