"""``pattern_match(column, 'regex')``: of the values that are there, those in which the pattern is found.

A name of a common pattern serves in place of a regular expression. The expressions are Spark's (Java's).
"""

from collections.abc import Mapping

from .expressions import Expressions
from .shares import share_of_rows
from .signature import ArgumentType, ColumnKind, Signature
from .spec import MetricSpec

MAX_CHARACTERS = 200

_WHOLE: Mapping[str, str] = {
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "url": r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/\S*)?",
    "uuid": r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    "ipv4": r"((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])",
    "date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "integer": r"[+-]?[0-9]+",
    "decimal": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)",
    "credit_card": r"[0-9]{4}([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}",
    "social_security_number": r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}",
    "phone": r"\+?[0-9(][0-9 ()-]{5,18}[0-9]",
}
_END = r"(?![\s\S])"  # $ would let a line break follow
NAMED: Mapping[str, str] = {name: f"^{whole}{_END}" for name, whole in _WHOLE.items()}


def pattern_of(spec: MetricSpec) -> str:
    """The regular expression, also of a pattern given by its name."""
    said = str(spec.arguments[0])
    return NAMED.get(said, said)


def _problem(spec: MetricSpec) -> str | None:
    pattern = pattern_of(spec)
    if "\0" in pattern or len(pattern) > MAX_CHARACTERS:
        return f"a pattern has at most {MAX_CHARACTERS} characters and no NUL, not {len(pattern)}; match a part of it"
    return None


def _match(spec: MetricSpec, write: Expressions) -> str:
    return f"{write.column(spec.columns[0])} rlike {write.text(pattern_of(spec))}"


PATTERN_MATCH = share_of_rows(
    Signature(
        name="pattern_match",
        min_columns=1,
        max_columns=1,
        column_kind=ColumnKind.TEXT,
        arguments=(ArgumentType.TEXT,),
    ),
    among=lambda spec, write: f"{write.column(spec.columns[0])} is not null",
    met=_match,
    formula="|{d ∈ D : the pattern is found in d(column)}| / |{d ∈ D : d(column) ≠ null}|",
    source="Deequ's PatternMatch, over the values that are there; java.util.regex",
    problem=_problem,
    portable=False,
)
