"""Which datasets and columns a template selects, the tests that it makes, and why it makes none (pure)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from assay.catalog.profile import (
    COLUMN,
    CategoryName,
    ColumnSelector,
    DatasetProfile,
    Selector,
    TemplateProfile,
    filled,
)
from execution_engine.engines.columns.column_types import with_fields
from execution_engine.metrics.definition import column_kind
from execution_engine.metrics.expressions import path_of
from test_generator.definition import Definition

# Which datasets, and which of their columns, a template is applied to (pure).


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


# The tests that templates make of one dataset, and the reasons where one makes none (pure).

LONGEST_NAME = 300  # characters of a test's name
FaultOf = Callable[[str], str | None]  # why an assertion cannot be a test of the dataset; None where it can


@dataclass(frozen=True, kw_only=True)
class MadeTest:
    """A test that a template makes. Its name is its identity within the dataset."""

    template: str
    name: str
    category: CategoryName
    definition: Definition
    scope: Literal["partition", "table"]
    datacenter: str  # where it runs


@dataclass(frozen=True, kw_only=True)
class Lack:
    """A template that selects a dataset and makes less of it than it should: why, and of how many tests."""

    template: str
    category: CategoryName
    reason: str
    tests: int = 1


@dataclass(frozen=True, kw_only=True)
class Making:
    """All that templates lead to on one dataset."""

    tests: tuple[MadeTest, ...] = ()
    lacks: tuple[Lack, ...] = ()


def making(templates: Iterable[TemplateProfile], dataset: DatasetProfile, fault_of: FaultOf) -> Making:
    """The tests of every template that selects the dataset; an assertion that does not fit it becomes a lack."""
    tests: dict[str, MadeTest] = {}
    lacks: list[Lack] = []
    for template in templates:
        if not selects(template.selector, name=dataset.full_name, tier=dataset.tier, tags=dataset.tags):
            continue
        if why := _obstacle(template, dataset):
            lacks.append(Lack(template=template.name, category=template.category, reason=why))
            continue
        for test in _tests(template, dataset):
            if test.name in tests:
                why = f"the template {tests[test.name].template!r} makes a test {test.name!r} already: rename one"
            elif len(test.name) > LONGEST_NAME:
                why = f"the name {test.name[:60]!r}… is longer than {LONGEST_NAME} characters: shorten the template's"
            else:
                why = fault_of(test.definition.assertion)
            if why is None:
                tests[test.name] = test
            else:
                lacks.append(Lack(template=template.name, category=template.category, reason=why))
    return Making(tests=tuple(tests.values()), lacks=tuple(lacks))


def by_template(lacks: Iterable[Lack]) -> tuple[Lack, ...]:
    """One lack for each template: the first reason, and how many tests more are not made."""
    found: dict[str, Lack] = {}
    counts: dict[str, int] = {}
    for lack in lacks:
        found.setdefault(lack.template, lack)
        counts[lack.template] = counts.get(lack.template, 0) + lack.tests
    return tuple(
        Lack(template=name, category=lack.category, reason=_with_more(lack.reason, counts[name]), tests=counts[name])
        for name, lack in found.items()
    )


def assertions_of(template: TemplateProfile, column: str) -> tuple[str, ...]:
    """The texts that its assertion comes to with one column: with its own parameters, and with each override."""
    values = ({}, *template.overrides.values())
    texts = (filled(template.assertion, {**template.parameters, **own, COLUMN: column}) for own in values)
    return tuple(dict.fromkeys(texts))


def _with_more(reason: str, tests: int) -> str:
    more = f" (and {tests - 1} more)" if tests > 1 else ""
    return f"{reason[: 500 - len(more)]}{more}"


def _obstacle(template: TemplateProfile, dataset: DatasetProfile) -> str | None:
    if template.selector.columns is not None and not dataset.columns:
        return "its metadata names no columns, of which the template could select some: declare them"
    if template.schedule == "partition" and dataset.partition is None:
        return "it has no partitions: leave schedule out, or write 'weekly' or a cron line"
    return None


def _tests(template: TemplateProfile, dataset: DatasetProfile) -> Iterator[MadeTest]:
    values = {**template.parameters, **_overrides(template, dataset)}
    schedule = template.schedule or ("partition" if dataset.partition else "weekly")
    selector = template.selector.columns
    for column in (None,) if selector is None else selected_columns(selector, dataset):
        yield MadeTest(
            template=template.name,
            name=template.name if column is None else f"{template.name}: {column}",
            category=template.category,
            definition=Definition.by(
                dataset.targets,
                assertion=filled(template.assertion, {**values, COLUMN: column or ""}),
                schedule=schedule,
                severity=template.severity,
                sustain=template.sustain,
                catch_up=template.catch_up,
            ),
            scope="partition" if dataset.partition and schedule != "weekly" else "table",
            datacenter=dataset.replicas[0].datacenter,
        )


def _overrides(template: TemplateProfile, dataset: DatasetProfile) -> Mapping[str, str]:
    wanted = dataset.full_name.casefold()
    return next((values for name, values in template.overrides.items() if name.casefold() == wanted), {})


# From the tests of a dataset to those that templates make of it (pure).


@dataclass(frozen=True, kw_only=True)
class StandingTest:
    """A test of the dataset as it stands; ``made`` is what it would be if a template made it as it is."""

    id: int
    made: MadeTest  # its template is empty where none makes it
    is_standard: bool = False
    source: str = ""  # where it is written; empty: by page or API
    is_retired: bool = False
    is_leaving: bool = False  # gone from its source, or no longer made

    @property
    def is_free(self) -> bool:
        """Whether its name may be taken over, with its results."""
        return not self.is_standard and (self.is_retired or self.is_leaving or bool(self.made.template))


@dataclass(frozen=True, kw_only=True)
class MadeChange:
    """A test that stands, and what it should be."""

    standing: StandingTest
    made: MadeTest


@dataclass(frozen=True, kw_only=True)
class MadeChanges:
    """What to do; ``take`` also has tests that were retired or leaving, which live again."""

    make: tuple[MadeTest, ...] = ()
    take: tuple[MadeChange, ...] = ()
    leave: tuple[StandingTest, ...] = ()  # no longer made: their grace begins
    lacks: tuple[Lack, ...] = ()


def made_changes(standing: Sequence[StandingTest], making: Making) -> MadeChanges:
    """What turns the tests there are into those that are made; a test that people wrote is never touched."""
    known = {each.made.name.casefold(): each for each in standing} | {each.made.name: each for each in standing}
    make: list[MadeTest] = []
    take: list[MadeChange] = []
    lacks = list(making.lacks)
    kept: set[int] = set()
    for test in making.tests:
        row = known.get(test.name) or known.get(test.name.casefold())
        if row is None:
            make.append(test)
        elif why := _clash(row, test):
            lacks.append(Lack(template=test.template, category=test.category, reason=why))
        else:
            kept.add(row.id)
            if row.is_retired or row.is_leaving or row.made != test:
                take.append(MadeChange(standing=row, made=test))
    over = (each for each in standing if each.made.template and each.id not in kept)
    leave = tuple(each for each in over if not (each.is_retired or each.is_leaving))
    return MadeChanges(make=tuple(make), take=tuple(take), leave=leave, lacks=tuple(lacks))


def _clash(row: StandingTest, test: MadeTest) -> str | None:
    """Why a test that stands keeps its name; None where the template may take it."""
    if row.is_standard:
        return f"{test.name!r} is the name of a standard test: give the template another name"
    if not row.is_free:
        where = f"in the source {row.source!r}" if row.source else "by page or API"
        return f"a test {test.name!r} was written {where}: give the template another name, or retire that test first"
    if row.made.category != test.category:  # its standings and incidents are of the old one
        return f"a test {test.name!r} was of the category {row.made.category}: give the template another name"
    return None
