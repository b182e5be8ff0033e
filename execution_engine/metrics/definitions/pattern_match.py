"""``pattern_match(column, 'regex')``: of the values that are there, those in which the pattern is found.

A name of a common pattern serves in place of a regular expression. The expressions are Spark's (Java's).
"""

from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.signature import ArgumentType, ColumnKind, Signature
from execution_engine.metrics.spec import MetricSpec

from .patterns import CHECKED, NAMED
from .shares import share_of_rows

MAX_CHARACTERS = 200


def pattern_of(spec: MetricSpec) -> str:
    """The regular expression, also of a pattern given by its name."""
    said = str(spec.arguments[0])
    return NAMED.get(said, said)


def _problem(spec: MetricSpec) -> str | None:
    pattern = str(spec.arguments[0])
    if "\0" in pattern or len(pattern) > MAX_CHARACTERS:
        return f"a pattern has at most {MAX_CHARACTERS} characters and no NUL, not {len(pattern)}; match a part of it"
    return None


def _match(spec: MetricSpec, write: Expressions) -> str:
    column, pattern = write.column(spec.columns[0]), write.text(pattern_of(spec))
    found = f"{column} rlike {pattern}"
    if spec.arguments[0] not in CHECKED:
        return found
    return f"{found} and exists(regexp_extract_all({column}, {pattern}, 0), number -> {_passes_luhn('number')})"


def _passes_luhn(number: str) -> str:
    """From the right, each second digit is doubled; the digits of all add up to whole tens (ISO/IEC 7812)."""
    digits = f"regexp_replace({number}, '[ -]', '')"
    digit = f"substr({digits}, -place, 1)"
    added = f"case when place % 2 = 1 then {digit} else substr('0246813579', cast({digit} as int) + 1, 1) end"
    places = f"sequence(1, length({digits}))"
    return f"aggregate({places}, 0, (total, place) -> total + cast({added} as int)) % 10 = 0"


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
    meaning="the share of values in which the pattern is found",
    dimension=Dimension.VALIDITY,
    problem=_problem,
    plain_sql=False,
)
