"""Regular expressions and LIKE as RE2 writes them: those of which Java's and RE2's meanings are surely the same."""

import re

from .nodes import UnableToTell

_BREAKS = r"\n\r\x{85}\x{2028}\x{2029}"  # what Java's dot leaves out, and may stand behind its $
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\x0B\f\r"}
_LITERAL = frozenset(r"\.[]{}()*+?^$|/-_@:,;'\"#%&=<>!~ ")
_ENDS = (r"\A", r"\z")  # of the text, whatever stands there
_COUNT = re.compile(r"\{(\d{1,3})(,(\d{1,3})?)?\}")


def re2_of(pattern: str) -> tuple[str, bool]:
    """The pattern for RE2, and whether it looks for the text's end; UnableToTell where it may mean another thing.

    Both find the same texts: of alternatives Java takes the first and RE2 too, and where a match begins or ends is not
    asked. Groups count for nothing, so look-around, backreferences, flags, word borders and possessive quantifiers,
    which alone would tell them apart, are not in the subset; nor are classes within classes.
    """
    written, at, ends = ["(?s)"], 0, False
    while at < len(pattern):
        sign = pattern[at]
        if pattern[at : at + 2] in _ENDS:
            text, at = pattern[at : at + 2], at + 2
        elif sign == "\\":
            text, at = _escaped(pattern, at + 1, in_class=False)
        elif sign == "[":
            text, at = _class(pattern, at + 1)
        elif sign == ".":
            text, at = f"[^{_BREAKS}]", at + 1
        elif sign == "$":
            text, at, ends = r"\z", at + 1, True
        elif sign == "^":
            text, at = r"\A", at + 1
        elif sign == "(":
            text, at = _group(pattern, at)
        elif sign == "{":
            text, at = _counted(pattern, at)
        elif sign in "*+?":
            text, at = _repeated(pattern, at)
        else:
            text, at = (sign if sign in ")|" else _literal(sign)), at + 1
        written.append(text)
    return "".join(written), ends


def re2_of_like(pattern: str) -> str:
    r"""A LIKE pattern, of which the whole text must be, for RE2: % is any text, _ one code point, \ escapes these."""
    written, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
            if at == len(pattern) or pattern[at] not in "%_\\":
                raise UnableToTell("a pattern of LIKE ends with, or escapes, what it must not")
            written.append(_literal(pattern[at]))
        else:
            written.append({"%": ".*", "_": "."}.get(sign) or _literal(sign))
        at += 1
    return rf"(?s)\A{''.join(written)}\z"


def _literal(sign: str) -> str:
    if sign in "]}":
        raise UnableToTell(f"a {sign} alone in a pattern is Spark's to read")
    if sign.isalnum() and sign.isascii():
        return sign
    return rf"\x{{{ord(sign):x}}}"


def _escaped(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    if at == len(pattern):
        raise UnableToTell("a pattern ends with an escape")
    sign = pattern[at]
    if sign in _CLASSES:
        return (_CLASSES[sign] if in_class else f"[{_CLASSES[sign]}]"), at + 1
    if sign.lower() in _CLASSES and not in_class:
        return f"[^{_CLASSES[sign.lower()]}]", at + 1
    if sign in "tnrf":
        return f"\\{sign}", at + 1
    if sign in _LITERAL:
        return rf"\x{{{ord(sign):x}}}", at + 1
    raise UnableToTell(f"\\{sign} in a pattern is Spark's to read")


def _class(pattern: str, at: int) -> tuple[str, int]:
    """One class of signs and ranges, from behind its bracket."""
    written = ["["]
    if pattern[at : at + 1] == "^":
        written.append("^")
        at += 1
    first = at
    while at == first or pattern[at : at + 1] != "]":
        text, sign, at = _member(pattern, at, may_be_hyphen=at == first or pattern[at + 1 : at + 2] == "]")
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] != "]":
            above, last, at = _member(pattern, at + 1, may_be_hyphen=False)
            if not sign or not last or sign > last:
                raise UnableToTell("such a range of signs is Spark's to read")
            text = f"{text}-{above}"
        written.append(text)
    return "".join([*written, "]"]), at + 1


def _member(pattern: str, at: int, *, may_be_hyphen: bool) -> tuple[str, str, int]:
    """One sign of a class as RE2 writes it, the sign itself (empty: a class of its own), and where the next begins."""
    sign = pattern[at : at + 1]
    if sign in ("", "[", "]", "&", "^") or (sign == "-" and not may_be_hyphen):
        raise UnableToTell("such a class of signs is Spark's to read")
    if sign != "\\":
        return rf"\x{{{ord(sign):x}}}", sign, at + 1
    text, after = _escaped(pattern, at + 1, in_class=True)
    escaped = pattern[at + 1]
    return text, escaped if escaped in _LITERAL else "", after


def _group(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at + 1 : at + 2] != "?":
        return "(?:", at + 1
    if pattern[at + 1 : at + 3] == "?:":
        return "(?:", at + 3
    raise UnableToTell("look-around, flags and names of groups are Spark's to read")


def _counted(pattern: str, at: int) -> tuple[str, int]:
    found = _COUNT.match(pattern, at)
    if found is None or int(found[1]) > int(found[3] or found[1]):
        raise UnableToTell("such a count in a pattern is Spark's to read")
    return _not_possessive(pattern, found.end(), found[0])


def _repeated(pattern: str, at: int) -> tuple[str, int]:
    return _not_possessive(pattern, at + 1, pattern[at])


def _not_possessive(pattern: str, at: int, text: str) -> tuple[str, int]:
    """A reluctant one finds the same texts, so that its ? is left out."""
    if pattern[at : at + 1] == "?":
        at += 1
    if pattern[at : at + 1] in ("+", "*", "?", "{"):
        raise UnableToTell("a quantifier of a quantifier is Spark's to read")
    return text, at
