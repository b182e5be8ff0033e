"""The texts of the standard assertions, in the assertion language."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from assay.time.durations import format_duration
from execution_engine.language.parsing.parse import has_hidden
from execution_engine.metrics.columns import written

_LONGEST_KEY = 1500  # bytes: it stands in one assertion twice
_DECIMALS = 15  # no share is known better, and the language reads numbers of at most 40 characters
_COMPLETE_AT_MOST = 0.999  # a dataset that promises all of its rows is there, for its consumers, a little sooner


def key_problem(primary_key: Sequence[str]) -> str | None:
    """Why no assertion can name this key, if none can."""
    hidden = [column for column in primary_key if has_hidden(column)]
    if hidden:
        return f"has a hidden character in {', '.join(map(repr, hidden))}: rename the column."
    size = len(columns(primary_key).encode())
    return f"takes {size} bytes to name, and an assertion has room for {_LONGEST_KEY}." if size > _LONGEST_KEY else None


def freshness(sla: timedelta, completeness: float) -> str:
    """A partition is complete no later than ``sla`` after its end."""
    return f"freshness(complete={number(min(_COMPLETE_AT_MOST, completeness))}) < {format_duration(sla)}"


def completeness(upstream: str, sla: float) -> str:
    """As many rows as the upstream has: too few are lost, too many were loaded twice."""
    ratio = f"row_count() / row_count(dataset={text(upstream)})"
    return f"{ratio} between {number(sla)} and {format(2 - _decimal(sla), 'f')}"


def sampled_completeness(upstream: str, sla: float) -> str:
    """Of a sample of the upstream's keys, enough are found here."""
    return f"sample_found({text(upstream)}) / sample_size({text(upstream)}) >= {number(sla)}"


def duplicates(primary_key: Sequence[str], sla: float) -> str:
    """The share of rows whose primary key is another row's too, or is null in a part: such a row has no key."""
    return f"1 - count_distinct({columns(primary_key)}) / row_count() <= {number(sla)}"


def unpartitioned(sla: float | None) -> str:
    """No row, or at most a share of all, lies in no partition."""
    return "unpartitioned_rows() = 0" if not sla else f"unpartitioned_rows() / row_count() <= {number(sla)}"


def consistent_count(other: str, sla: float) -> str:
    """The other datacenter has as many rows, or more."""
    return f"least(row_count(), row_count(datacenter={text(other)})) / row_count() >= {number(sla)}"


def consistent_keys(primary_key: Sequence[str], other: str, sla: float) -> str:
    """The other datacenter has the same keys, by a Bloom filter of them."""
    keys = columns(primary_key)
    return f"keys_found({keys}, datacenter={text(other)}) / distinct_count({keys}) >= {number(sla)}"


def columns(names: Sequence[str]) -> str:
    """Columns as an assertion names them, those of other names than letters, digits and _ in backticks."""
    return ", ".join(map(written, names))


def schema(of: str) -> str:
    """The declared columns of the keys, or the others, are there with room for what was declared."""
    return f"schema_drift(of={text(of)}) = 0"


def novelty() -> str:
    """The rows are like those of the partitions before."""
    return "novelty() <= 1"


def inferred_schema() -> str:
    """The rows keep to the schema that the partitions before have in common."""
    return "novelty(method='schema') <= 1"


def number(value: float) -> str:
    """A number without exponent or float noise: 0.999, 1, 0.00001."""
    return format(_decimal(value), "f")


def text(value: str) -> str:
    """A string of the language: quotes inside are doubled."""
    return "'" + value.replace("'", "''") + "'"


def _decimal(value: float) -> Decimal:
    decimal = Decimal(repr(round(float(value), _DECIMALS)))
    return decimal.to_integral_value() if decimal == decimal.to_integral_value() else decimal
