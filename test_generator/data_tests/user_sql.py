"""Whether the SQL in an assertion is such as the guard allows, asked before it is saved."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from assay.catalog.profile import DatasetProfile
from assay.time.windows import Granularity, Partitioning
from execution_engine.disclosure.rules import full_name_of
from execution_engine.engines.columns.nested import with_fields
from execution_engine.language.operands import operands
from execution_engine.language.templates import UnableToRender, render
from execution_engine.language.tree import Assertion, History
from execution_engine.metrics.columns import path_of
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.signature import ArgumentType
from execution_engine.metrics.spec import MetricSpec

from .upstream_operands import ProfileNamed

_DAILY = Partitioning(granularity=Granularity.DAY, time_zone="UTC", key_format="")
_DAY = _DAILY.at(datetime(2026, 3, 9, tzinfo=UTC))  # any: what stands in templates makes no SQL harmful
_QUOTED = re.compile("`([^`]+)`")


def not_allowed(tree: Assertion, home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says why the guard refuses a condition or a query of the assertion, if it does."""
    for operand in operands(tree):
        metric = operand.metric if isinstance(operand, History) else operand
        measured = metric.dataset or home.full_name
        if fault := _fault(metric.spec, measured, profile_named):
            return f"{metric.text:.200}: {fault}"
    return None


def _fault(spec: MetricSpec, measured: str, profile_named: ProfileNamed) -> str | None:
    signature = METRICS[spec.name].signature
    conditions = [*signature.texts(ArgumentType.SQL, spec.arguments), *([spec.where] if spec.where else [])]
    queries = signature.texts(ArgumentType.QUERY, spec.arguments)
    if not conditions and not queries:
        return None
    from execution_engine.disclosure.queries import tables_of  # with it sqlglot, which is large
    from execution_engine.guard import UnableToAllow, read_condition, read_query

    try:
        for text in conditions:
            read_condition(render(text, _DAY, _DAILY))
        for text in queries:
            query = render(text, _DAY, _DAILY)
            tables = {name: profile_named(full_name_of(name, measured)) for name in tables_of(query)}
            known = {name: profile for name, profile in tables.items() if profile is not None}
            read_query(query, known, _columns(query, known.values()))
    except UnableToRender:
        return None  # said of the assertion itself
    except UnableToAllow as error:
        return str(error)
    return None


def _columns(query: str, tables: Iterable[DatasetProfile]) -> set[str]:
    """The names that may stand in backticks: those of the tables, or any where one of them declares no columns."""
    names: set[str] = set()
    for table in tables:
        if not table.columns:
            return set(_QUOTED.findall(query))
        names |= {
            part for column in with_fields({each.name: each.type for each in table.columns}) for part in path_of(column)
        }
        names |= {table.partition.column} if table.partition else set()
    return names
