"""Names with a dot and no backticks: fields of structs or, where no column begins so, columns of the whole name."""

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from execution_engine.guard import UnableToAllow, read_condition
from execution_engine.guard.sql_tree import write
from execution_engine.metrics.columns import path_of, resolved, written
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.signature import ArgumentType
from execution_engine.metrics.spec import Literal, MetricSpec


def settled(spec: MetricSpec, columns: Collection[str]) -> MetricSpec:
    """The metric over a table of these columns, as assertions write them, each name being the column that it means."""
    definition = METRICS.get(spec.name)
    kinds = definition.signature.arguments if definition else ()
    is_sql = [kind is ArgumentType.SQL for kind in kinds] + [False] * len(spec.arguments)

    def argument(value: Literal, sql: bool) -> Literal:
        return _condition(str(value), columns) if sql else value

    return replace(
        spec,
        columns=tuple(resolved(name, columns) for name in spec.columns),
        by=tuple(resolved(name, columns) for name in spec.by),
        arguments=tuple(map(argument, spec.arguments, is_sql)),
        where=None if spec.where is None else _condition(spec.where, columns),
    )


def _condition(text: str, columns: Collection[str]) -> str:
    """The text itself, unless a name in it means another column than it seems to; what cannot be read stays too."""
    if "." not in text:
        return text
    try:
        tree = read_condition(text).tree
    except UnableToAllow:
        return text
    meant = tree.transform(lambda node: _column(node, columns) if isinstance(node, exp.Column) else node)
    return text if meant == tree else write(meant)


def _column(node: exp.Column, columns: Collection[str]) -> exp.Column:
    path = tuple(part.name for part in node.parts)
    found = path_of(resolved(written(*path), columns))
    return node if found == path else exp.column(exp.to_identifier(found[0], quoted=True))
