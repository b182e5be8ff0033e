"""What a reader who wrote something else is told: what was expected at the place, in words, and how to mend it."""

import re
from collections.abc import Iterable

MAX_NAME = 128  # characters of a name that a message repeats

_OPERAND = frozenset({"NAME", "ABS", "CHOICE", "NUMBER", "LENGTH", "STRING", "LPAR", "MINUS", "_NOT"})
_UNSAID = frozenset({"PERCENT", "_NOT", "_BY"})

# The first groups win: each says the terminals that are all expected, and takes them from what is left to say.
_PHRASES = (
    (_OPERAND - {"_NOT"}, "a metric such as row_count(), a number, a duration or '('"),
    (frozenset({"COMPARATOR", "_BETWEEN"}), "a comparison (< <= > >= = != between)"),
    (
        frozenset({"NAME", "QUOTED", "NUMBER", "STRING", "LENGTH", "MINUS"}),
        "a column, a number, a text in quotes or name=value",
    ),
    (frozenset({"NUMBER", "STRING", "LENGTH", "MINUS"}), "a number, a text in quotes or a step such as 7d"),
    (frozenset({"PLUS", "MINUS", "STAR", "SLASH"}), "an operator (+ - * /)"),
    (frozenset({"PLUS", "MINUS"}), "an operator (+ - * /)"),
    (frozenset({"_AND", "_OR"}), "'and' or 'or'"),
    (frozenset({"_AND"}), "'and'"),
    (frozenset({"_OR"}), "'or'"),
    (frozenset({"_BETWEEN"}), "'between'"),
    (frozenset({"NUMBER"}), "a number"),
    (frozenset({"COMMA"}), "','"),
    (frozenset({"_FOR"}), "'for 95 % of groups'"),
    (frozenset({"_OF"}), "'of groups'"),
    (frozenset({"_GROUPS"}), "'groups'"),
    (frozenset({"PERCENT"}), "'%'"),
    (frozenset({"NAME", "QUOTED"}), "a column"),
    (frozenset({"EQUAL"}), "'='"),
    (frozenset({"LPAR"}), "'('"),
    (frozenset({"RPAR"}), "')'"),
    (frozenset({"$END"}), "the end of the assertion"),
)

# What people write instead, as it is found at the place (the last character before it stands first), and the mending.
_MENDINGS = (
    (r"\(\*", "rows are counted by row_count()"),
    (r"=>", "write >= for at least"),
    (r"=<", "write <= for at most"),
    (r"\d[,_]\d", "write a number without signs between its digits, such as 1000"),
    (r".;", "an assertion ends without a semicolon: leave it out"),
    (r".where\b", """a condition on rows goes into the metric: completeness(email, where="country = 'US'")"""),
    (r".(group|partition)\b", "groups are named by 'by', after the whole assertion: row_count() > 0 by city"),
    (r".(if|when)\b", """what holds of some rows is said by satisfies_if("country = 'US'", "zip is not null") = 1"""),
    (r".for\b", "'for' follows 'by': row_count() > 0 by city for 95 % of groups"),
    (r".(sec|min|hr|hour|day|week|month|year)\w*", "write a duration as a number and s, m, h, d or w, such as 4h"),
    (r".%", "'%' stands behind a number only: there is no remainder"),
    (r".by\b", "'by' comes once, after the whole assertion: row_count() > 0 by city"),
    (r"\*\*", "there is no power operator: multiply"),
    (r"<>", "write != for unequal"),
    (r".&", "write 'and'"),
    (r".\|", "write 'or'"),
    (r".!", "write 'not', or != for unequal"),
    (r".(in|is|like|rlike)\b", """write a condition on rows as compliance("status in ('a', 'b')") >= 0.99"""),
    (r".(null|nan|true|false)\b", "there is no such literal: coalesce(…, 0) replaces a NULL"),
    (r".[smhdwy]o?\b", "write a duration without a space, such as 4h"),
    (r".`[^`]", "a column's name ends with the backtick it began with; a backtick inside is doubled"),
    (r".``", "a column has a name: write it between the backticks"),
    (r".['\"]", "a text ends with the quote it began with; a quote inside is doubled"),
    (r".\[", "there is no index"),
    (r".\.", "there are no attributes: a dataset's full name goes in quotes, dataset='raw.trips'"),
)

_NAME_IN_PIECES = re.compile(r"[(,]\s*([A-Za-z_]\w*)\s*$")
_OPTIONS = ("where", "dataset", "datacenter", "ago", "last", "every", "min")


def describe(expected: Iterable[str]) -> str:
    """The expected terminals of the grammar in words, such as ``',' or ')'``."""
    left = set(expected)
    said: list[str] = []
    for terminals, phrase in _PHRASES:
        if terminals <= left:
            left -= terminals | _UNSAID
            said.append(phrase)
    return " or ".join([", ".join(said[:-1]), said[-1]] if said[1:] else said) or "something else"


def mending(source: str, position: int, expected: Iterable[str]) -> str | None:
    """How to mend the text at ``position``, where it is a mistake people are known to make."""
    terminals = set(expected)
    if terminals == {"NAME", "QUOTED"}:
        return "name columns without quotes, such as by city, `order id`"
    if "_FOR" in terminals:
        return "'by city' stands at the end, after every condition"
    if position >= len(source.rstrip()):
        return "an assertion compares, such as row_count() > 0" if "COMPARATOR" in terminals else None
    if terminals == {"NUMBER", "STRING", "LENGTH", "MINUS"} and re.match(r"[a-z_`]", source[position:], re.IGNORECASE):
        return """a text stands in quotes, such as where="country = 'US'\""""
    if {"COMMA", "RPAR"} <= terminals and (pieces := _NAME_IN_PIECES.search(source[:position][-MAX_NAME:])):
        return _mending_in_pieces(pieces[1].lower(), source[position:])
    found = f"{source[position - 1] if position else ' '}{source[position:]}"
    return next((mend for pattern, mend in _MENDINGS if re.match(pattern, found, re.IGNORECASE | re.DOTALL)), None)


def _mending_in_pieces(name: str, after: str) -> str:
    if name == "distinct":
        return "distinct values are counted by count_distinct(city)"
    if name in _OPTIONS or any(re.match(rf"{option}\b", after, re.IGNORECASE) for option in _OPTIONS):
        return """an option stands behind a comma as name=value, such as where="country = 'US'" or last=7"""
    return "a column of another name than letters, digits and _ stands between backticks, such as `order id`"
