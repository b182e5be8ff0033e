"""What a test may tell of data: values of sensitive columns never, another dataset only to its own readers (pure)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.access import Owned, may_show
from assay.catalog.profile import DatasetProfile
from assay.database.name_keys import name_key
from execution_engine.metrics.definition import ArgumentType
from execution_engine.metrics.expressions import path_of, written
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What may be told of a dataset; sensitive columns are in lower case, upstreams the keys of their names."""

    owned: Owned
    sensitive: frozenset[str] = frozenset()
    primary_key: tuple[str, ...] = ()
    upstreams: frozenset[str] = frozenset()


def privacy_of(
    profile: DatasetProfile, *, upstreams: frozenset[str] = frozenset(), keys: tuple[str, ...] = ()
) -> Privacy:
    """What may be told of a dataset, from its metadata and the keys of the names of what feeds it.

    ``keys`` are the names that columns of its primary key have upstream.
    """
    return Privacy(
        owned=Owned(name=profile.full_name, owner=profile.owner, team=profile.team, readers=profile.readers),
        sensitive=profile.sensitive_columns,
        primary_key=(*profile.primary_key, *keys),
        upstreams=upstreams,
    )


PrivacyOf = Callable[[str], Privacy | None]


def objection(own: Privacy, spec: MetricSpec, dataset: str | None, privacy_of: PrivacyOf) -> str | None:
    """Why a test of ``own`` may not ask for a metric, of ``dataset`` or its own; None where it may."""
    measured = (privacy_of(dataset) if dataset else None) or own
    base = dataset or own.owned.name
    for name in others_of(spec, dataset, base):
        other = privacy_of(name)
        if other is None or other.owned.name == own.owned.name or may_show(other.owned, own.owned):
            continue
        # what feeds a dataset may be counted by its tests; its values are for its own readers
        is_count = not METRICS[spec.name].tells_values and not spec.by and spec.where is None
        if not is_count or name_key(other.owned.name) not in own.upstreams:
            readers = ", ".join(other.owned.readers)
            return (
                f"{other.owned.name} is shown to its readers only ({readers}), and {own.owned.name} to others too: "
                f"limit the readers of {own.owned.name} likewise, or ask {other.owned.owner}"
            )
    read = [measured, *filter(None, map(privacy_of, _arguments(spec, base)))]
    sensitive = frozenset().union(*(privacy.sensitive for privacy in read))
    if queries := _queries(spec):
        way = next(filter(None, (way_to(sensitive, query) for query in queries)), None) if sensitive else None
        if way is None:
            return None
        return f'a query may not name sensitive columns, nor all columns, of what it reads ({way}): use compliance("…")'
    columns = [*spec.columns, *spec.by]
    if METRICS[spec.name].of_primary_key:
        columns += [written(key) for privacy in read for key in privacy.primary_key]
    hidden = _hidden(columns, sensitive)
    if not hidden or not (METRICS[spec.name].tells_values or _hidden(spec.by, sensitive)):
        return None
    return (
        f"{spec.text:.200} would show values of {', '.join(hidden)}, which is sensitive: ask how many rows meet a "
        'condition, such as compliance("…"), instead'
    )


def others_of(spec: MetricSpec, dataset: str | None, base: str = "") -> tuple[str, ...]:
    """The datasets that a metric reads beside, or in place of, the test's own; ``base`` is the one that it measures."""
    return tuple(dict.fromkeys([*([dataset] if dataset else []), *_arguments(spec, base)]))


def full_name_of(table: str, base: str) -> str:
    """The full name of a table that a query names; one without a namespace is of that of the dataset it measures."""
    namespace = base.rpartition(".")[0]
    return table if "." in table or not namespace else f"{namespace}.{table}"


def redact_detail(spec: MetricSpec, sensitive: frozenset[str], detail: Mapping[str, Any]) -> dict[str, Any]:
    """The detail of a measurement without what may quote a sensitive column: its numbers stay."""
    if not sensitive or not detail or METRICS[spec.name].tells_types:
        return dict(detail)
    columns = (*spec.columns, *spec.by)
    if spec.by and not _hidden(columns, sensitive) and not spec.where:
        return dict(detail)
    if columns and not _hidden(columns, sensitive) and not METRICS[spec.name].of_primary_key:
        return dict(detail)
    return {name: value for name, value in detail.items() if isinstance(value, bool | int | float)}


def _arguments(spec: MetricSpec, base: str) -> list[str]:
    if queries := _queries(spec):
        return [full_name_of(name, base) for query in queries for name in tables_of(query)]
    return METRICS[spec.name].signature.texts(ArgumentType.DATASET, spec.arguments)


def _queries(spec: MetricSpec) -> list[str]:
    return METRICS[spec.name].signature.texts(ArgumentType.QUERY, spec.arguments)


def _hidden(columns: Sequence[str], sensitive: frozenset[str]) -> list[str]:
    """Those that are sensitive, or a field of such a column."""
    hidden: set[str] = set()
    for column in columns:
        path = [name.casefold() for name in path_of(column)]
        if any(".".join(path[:length]) in sensitive for length in range(1, len(path) + 1)):
            hidden.add(column)
    return sorted(hidden)


# What a query reads. sqlglot is imported where it is used: no gate should wait for it.


def tables_of(text: str) -> list[str]:
    """The tables that a text names, once for each place; none of one that cannot be read."""
    from execution_engine.guard.joins import name_of, places_of

    return [name_of(place) for tree in _statements(text) for place in places_of(tree)]


def way_to(sensitive: frozenset[str], text: str) -> str | None:
    """How a query reads, or may read, a column of ``sensitive``; None if it cannot.

    By its name, by a star, or by new names for all columns of a table.
    """
    from sqlglot import exp

    trees = _statements(text)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        return "it cannot be read"
    for node in trees[0].walk():
        match node:
            case exp.Identifier() if node.name.casefold() in sensitive:
                return node.name
            case exp.Star() if not (isinstance(node.parent, exp.Anonymous) and node.parent.name.lower() == "count"):
                return "*"  # ``count(*)`` looks at no column
            case exp.TableAlias() if node.columns and isinstance(node.parent, exp.Table):
                return node.name
    return None


def _statements(text: str) -> "list[exp.Expr]":
    from execution_engine.guard.refusal import UnableToAllow
    from execution_engine.guard.sql_tree import Plain, statements

    try:
        return statements(text, dialect=Plain)
    except UnableToAllow:
        return []  # the guard refuses it, and says why
