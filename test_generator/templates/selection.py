"""Which datasets, and which of their columns, a template is applied to (pure)."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from assay.catalog.profile import ColumnSelector, DatasetProfile, Selector
from execution_engine.engines.columns.nested import with_fields
from execution_engine.metrics.columns import path_of
from execution_engine.metrics.signature import column_kind


def selects(selector: Selector, *, name: str, tier: int, tags: Iterable[str]) -> bool:
    """Whether a dataset fits every key of the selector; the case of names does not matter."""
    return (
        (not selector.tiers or tier in selector.tiers)
        and (not selector.tags or not set(tags).isdisjoint(selector.tags))
        and (not selector.names or _fits(name, selector.names))
        and not _fits(name, selector.excluded)
    )


def selected_columns(selector: ColumnSelector, dataset: DatasetProfile) -> tuple[str, ...]:
    """The selected columns as assertions write them, the fields of structs among them, in the order of the dataset."""
    declared = with_fields({column.name: column.type.strip() for column in dataset.columns})
    return tuple(
        column
        for column, type_ in declared.items()
        if (not selector.names or _fits(".".join(path_of(column)), selector.names))
        and (not selector.kinds or column_kind(type_) in selector.kinds)
    )


def in_words(selector: Selector) -> str:
    """The selector as people say it: ``tier 0 or 1, tagged finance, columns named *_id``."""
    columns = selector.columns
    parts = (
        f"tier {_or(selector.tiers)}" if selector.tiers else "",
        f"tagged {_or(selector.tags)}" if selector.tags else "",
        f"named {_or(selector.names)}" if selector.names else "",
    )
    where = ", ".join(filter(None, parts)) or "every dataset"
    but = f", except {_or(selector.excluded)}" if selector.excluded else ""
    return f"{where}{but}{f'; {_columns(columns)}' if columns else ''}"


def _columns(selector: ColumnSelector) -> str:
    kinds = f"{_or(selector.kinds)} columns" if selector.kinds else "columns"
    return f"{kinds} named {_or(selector.names)}" if selector.names else f"all {kinds}"


def _or(values: Iterable[object]) -> str:
    *before, last = map(str, values)
    return f"{', '.join(before)} or {last}" if before else last


def _fits(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name.casefold(), glob.casefold()) for glob in globs)
