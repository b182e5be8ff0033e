"""Metrics of what texts look like: patterns, those that go by a name among them, and types."""

from collections.abc import Mapping
from typing import Any

from execution_engine.metrics.definition import (
    ArgumentType,
    ColumnKind,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic

from .shares import count_of, share_of_rows

# Patterns that go by a name: what a whole text may be, and what may stand anywhere inside of one.
#
# The expressions are Java's, in what they share with Python's. ``CHECKED`` count only what passes Luhn's check too.

# Of a host: letters and signs of any script, digits, - and _; no other ASCII, so that no address swallows its brackets.
_SIGN = r"[^\s!-,./:-@\[-\^`{-~]"
_HOST = rf"(?:{_SIGN}+(?:\.{_SIGN}+)*|\[[0-9A-Fa-f:.]+\])"
_WEB = rf"://(?:[^\s/?#@]+@)?{_HOST}(?::[0-9]{{1,5}})?(?:[/?#]\S*)?"
_LABEL = r"[^\s!-,./:-@\[-`{-~]"
# Each part has a length, so that no text takes longer than its own length to search.
_ATOM = r"[^\s\"(),.:;<>@\[\\\]]"
_MAIL = (
    rf"(?<!{_ATOM}){_ATOM}{{1,64}}(?:\.{_ATOM}{{1,64}}){{0,9}}"
    rf"@(?:{_LABEL}{{1,63}}\.){{1,9}}(?![0-9]+(?!{_LABEL})){_LABEL}{{2,63}}"
)

# Each issuer's first digits and length, in the groups that are printed: 4-4-4-4, 4-6-5 and 4-6-4, by one separator.
_CARD = (
    r"(?:4[0-9]{12}"  # Visa of 13 digits, of 16 or 19
    r"|4[0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)"  # Mastercard
    r"([ -]?)[0-9]{4}\2[0-9]{4}\2[0-9]{4}"
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2}|62[0-9]{2}|352[89]|35[3-8][0-9])"  # Discover, UnionPay, JCB: 16 to 19 digits
    r"([ -]?)[0-9]{4}\3[0-9]{4}\3[0-9]{4}(?:\3[0-9]{1,3})?"
    r"|3[47][0-9]{2}([ -]?)[0-9]{6}\4[0-9]{5}"  # American Express
    r"|(?:30[0-5][0-9]|3095|3[689][0-9]{2})([ -]?)[0-9]{6}\5[0-9]{4})"  # Diners Club
)
_SSN = r"(?!219-?09-?9999|078-?05-?1120)(?!000|666|9)[0-9]{3}([ -]?)(?!00)[0-9]{2}\1(?!0000)[0-9]{4}"
_END = r"(?![\s\S])"  # $ would let a line break follow
_WHOLE: Mapping[str, str] = {
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "url": rf"(?i:https?){_WEB}",
    "uuid": r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    "ipv4": r"((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])",
    "date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "integer": r"[+-]?[0-9]+",
    "decimal": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)",
    "credit_card": _CARD,
    "social_security_number": r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}",
    "phone": r"\+?[0-9(][0-9 ()-]{5,18}[0-9]",
}
_INSIDE: Mapping[str, str] = {
    "contains_email": _MAIL,
    "contains_url": rf"(?<![A-Za-z0-9])(?i:https?|ftp){_WEB}",
    # not within longer numbers or behind a decimal point
    "contains_credit_card_number": rf"(?<![0-9])(?<![0-9][.]){_CARD}(?![0-9])(?![.][0-9])",
    "contains_social_security_number": rf"(?<![0-9])(?<![0-9][.-]){_SSN}(?![0-9])(?![.-][0-9])",
}
NAMED: Mapping[str, str] = {name: f"^{whole}{_END}" for name, whole in _WHOLE.items()} | dict(_INSIDE)
CHECKED = ("credit_card", "contains_credit_card_number")


# ``pattern_match(column, 'regex')``: of the values that are there, those in which the pattern is found.
#
# A name of a common pattern serves in place of a regular expression. The expressions are Spark's (Java's).

MAX_CHARACTERS = 200


def pattern_of(spec: MetricSpec) -> str:
    """The regular expression, also of a pattern given by its name."""
    pattern = str(spec.arguments[0])
    return NAMED.get(pattern, pattern)


def _match(spec: MetricSpec, write: Expressions) -> str:
    column, pattern = write.column(spec.columns[0]), write.text(pattern_of(spec))
    matches = f"{column} rlike {pattern}"
    if spec.arguments[0] not in CHECKED:
        return matches
    # from the right, each second digit is doubled; the digits of all add up to whole tens (ISO/IEC 7812)
    digits = "regexp_replace(number, '[ -]', '')"
    digit = f"substr({digits}, -place, 1)"
    added = f"case when place % 2 = 1 then {digit} else substr('0246813579', cast({digit} as int) + 1, 1) end"
    places = f"sequence(1, length({digits}))"
    luhn_check = f"aggregate({places}, 0, (total, place) -> total + cast({added} as int)) % 10 = 0"
    return f"{matches} and exists(regexp_extract_all({column}, {pattern}, 0), number -> {luhn_check})"


PATTERN_MATCH = share_of_rows(
    Signature(
        name="pattern_match", min_columns=1, max_columns=1, column_kind=ColumnKind.TEXT, arguments=(ArgumentType.TEXT,)
    ),
    among=lambda spec, write: f"{write.column(spec.columns[0])} is not null",
    met=_match,
    formula="|{d ∈ D : the pattern is found in d(column)}| / |{d ∈ D : d(column) ≠ null}|",
    source="Deequ's PatternMatch, over the values that are there; java.util.regex",
    meaning="the share of values in which the pattern is found",
    phrase=MetricPhrase(
        noun=text_noop("the share of %(columns)s in the form of %(test)s"),
        fault=(
            text_noop("%(share)s of %(columns)s were not in the form of %(test)s"),
            text_noop("%(share)s of %(columns)s are not in the form of %(test)s"),
        ),
    ),
    dimension=Dimension.VALIDITY,
    problem=lambda spec: (
        f"a pattern has at most {MAX_CHARACTERS} characters and no NUL, not {len(pattern)}; match a part of it"
        if "\0" in (pattern := str(spec.arguments[0])) or len(pattern) > MAX_CHARACTERS
        else None
    ),
    plain_sql=False,
)


# ``consistent_type(column)``: the largest share of the values that have the same type. Deequ: DataType.
#
# The types are those that a text can be read as: ``integral fractional boolean text``; the measurement's detail counts
# each, and names the narrowest that holds them all.

INTEGRAL = r"^[+-]?[0-9]+\z"  # $ would let a line break follow
FRACTIONAL = r"^[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+)\z"
BOOLEAN = r"^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\z"
TYPES = {"integral": INTEGRAL, "fractional": FRACTIONAL, "boolean": BOOLEAN}  # others are text


def _counts(values: Mapping[str, Any]) -> dict[str, int]:
    counts = {name: values[name] for name in TYPES}
    return counts | {"text": values["values"] - sum(counts.values())}


def _type_detail(spec: MetricSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    counts = _counts(values)
    present = {name for name, count in counts.items() if count}
    if present == {"integral", "fractional"}:
        inferred = "fractional"
    else:
        inferred = present.pop() if len(present) == 1 else "text" if present else "unknown"
    return {"inferred": inferred, "types": counts}


CONSISTENT_TYPE = MetricDefinition(
    signature=Signature(name="consistent_type", min_columns=1, max_columns=1),
    kind=MetricKind.AGGREGATE,
    formula="max over types t of |{d ∈ D : d(column) reads as t}| / |{d ∈ D : d(column) ≠ null}|",
    source="Schelter et al. 2018, Table 1: hasConsistentType; Table 2: DataType",
    meaning="the share of values that read as the most frequent type",
    phrase=MetricPhrase(
        noun=text_noop("the share of %(columns)s of one type"),
        fault=(
            text_noop("%(share)s of %(columns)s were of another type than the others"),
            text_noop("%(share)s of %(columns)s are of another type than the others"),
        ),
    ),
    dimension=Dimension.VALIDITY,
    statistics=lambda spec, write: (
        {
            name: count_of(write, f"cast({write.column(spec.columns[0])} as string) rlike {write.text(type_)}")
            for name, type_ in TYPES.items()
        }
        | {"values": Statistic(gather=Gather.COUNT, of=(write.column(spec.columns[0]),))}
    ),
    value=lambda spec, values: max(_counts(values).values()) / values["values"] if values["values"] else None,
    detail=_type_detail,
    plain_sql=False,
)
