"""Which datasets and columns a template selects, the tests that it makes, and why it makes none (pure)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from assay.catalog.profile import (
    COLUMN,
    ColumnSelector,
    DatasetProfile,
    Selector,
    TemplateProfile,
    filled,
)
from execution_engine.engines.column_types import with_fields
from execution_engine.metrics.definition import column_kind
from execution_engine.metrics.expressions import path_of
from test_generator.definition import DataTestSpec, Definition, GapSpec, Generation


def selects(selector: Selector, *, name: str, tier: int, tags: Iterable[str], owner: str = "", team: str = "") -> bool:
    """Whether a dataset fits every key of the selector; the case of names does not matter."""
    return (
        (not selector.tiers or tier in selector.tiers)
        and (not selector.tags or not set(tags).isdisjoint(selector.tags))
        and (not selector.names or _fits(name, selector.names))
        and (not selector.owners or owner in selector.owners or team in selector.owners)
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
    parts = (("tier", selector.tiers), ("tagged", selector.tags), ("named", selector.names), ("of", selector.owners))
    where = ", ".join(f"{key} {_or(values)}" for key, values in parts if values) or "every dataset"
    where += f", except {_or(selector.excluded)}" if selector.excluded else ""
    if (columns := selector.columns) is None:
        return where
    kinds = f"{_or(columns.kinds)} columns" if columns.kinds else "columns"
    return f"{where}; {f'{kinds} named {_or(columns.names)}' if columns.names else f'all {kinds}'}"


def _or(values: Iterable[object]) -> str:
    *before, last = map(str, values)
    return f"{', '.join(before)} or {last}" if before else last


def _fits(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name.casefold(), glob.casefold()) for glob in globs)


# The tests that templates make of one dataset, and the reasons where one makes none (pure).

LONGEST_NAME = 300  # characters of a test's name
FaultOf = Callable[[str], str | None]  # why an assertion cannot be a test of the dataset; None where it can


def making(templates: Iterable[TemplateProfile], dataset: DatasetProfile, fault_of: FaultOf) -> Generation:
    """The tests of every template that selects the dataset; an assertion that does not fit it becomes a gap."""
    tests: dict[str, DataTestSpec] = {}
    gaps: list[GapSpec] = []
    for template in templates:
        whose = {"owner": dataset.owner, "team": dataset.team}
        if not selects(template.selector, name=dataset.full_name, tier=dataset.tier, tags=dataset.tags, **whose):
            continue
        reasons: list[str] = []
        if template.selector.columns is not None and not dataset.columns:
            reasons.append("its metadata names no columns, of which the template could select some: declare them")
        elif template.schedule == "partition" and dataset.partition is None:
            reasons.append("it has no partitions: leave schedule out, or write 'weekly' or a cron line")
        for test in () if reasons else _tests(template, dataset):
            if test.name in tests:
                why = f"the template {tests[test.name].template!r} makes a test {test.name!r} already: rename one"
            elif len(test.name) > LONGEST_NAME:
                why = f"the name {test.name[:60]!r}… is longer than {LONGEST_NAME} characters: shorten the template's"
            else:
                why = fault_of(test.definition.assertion) or ""
            if why:
                reasons.append(why)
            else:
                tests[test.name] = test
        # such a gap counts against no coverage, which is that of standard tests
        gap = GapSpec(
            dataset=dataset.full_name, category=template.category, reason="", mendable=False, template=template.name
        )
        gaps += [replace(gap, reason=reason) for reason in reasons]
    return Generation(tests=tuple(tests.values()), gaps=tuple(gaps))


def by_template(gaps: Iterable[GapSpec]) -> tuple[GapSpec, ...]:
    """One gap for each template: the first reason, and how many tests more are not made."""
    groups: dict[str, list[GapSpec]] = {}
    for gap in gaps:
        groups.setdefault(gap.template, []).append(gap)
    summaries = []
    for first, *others in groups.values():
        more = f" (and {len(others)} more)" if others else ""
        summaries.append(replace(first, reason=f"{first.reason[: 500 - len(more)]}{more}"))
    return tuple(summaries)


def assertions_of(template: TemplateProfile, column: str) -> tuple[str, ...]:
    """The texts that its assertion comes to with one column: with its own parameters, and with each override."""
    values = ({}, *template.overrides.values())
    texts = (filled(template.assertion, {**template.parameters, **own, COLUMN: column}) for own in values)
    return tuple(dict.fromkeys(texts))


def _tests(template: TemplateProfile, dataset: DatasetProfile) -> Iterator[DataTestSpec]:
    name = dataset.full_name.casefold()
    overrides = next((values for of, values in template.overrides.items() if of.casefold() == name), {})
    values = {**template.parameters, **overrides}
    schedule = template.schedule or ("partition" if dataset.partition else "weekly")
    selector = template.selector.columns
    for column in (None,) if selector is None else selected_columns(selector, dataset):
        yield DataTestSpec(
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
                keep_rows=template.keep_rows,
            ),
            scope="partition" if dataset.partition and schedule != "weekly" else "table",
            datacenter=dataset.replicas[0].datacenter,
        )


@dataclass(frozen=True, kw_only=True)
class StandingTest:
    """A test of the dataset as it stands; ``made`` is what it would be if a template made it as it is."""

    id: int
    made: DataTestSpec  # its template is empty where none makes it
    is_standard: bool = False
    source: str = ""  # where it is written; empty: by page or API
    is_retired: bool = False
    is_leaving: bool = False  # gone from its source, or no longer made


@dataclass(frozen=True, kw_only=True)
class MadeChanges:
    """What to do; ``take`` also has tests that were retired or leaving, which live again."""

    make: tuple[DataTestSpec, ...] = ()
    take: tuple[tuple[StandingTest, DataTestSpec], ...] = ()  # a test that stands, and what it should be
    leave: tuple[StandingTest, ...] = ()  # no longer made: their grace begins
    gaps: tuple[GapSpec, ...] = ()


def made_changes(standing: Sequence[StandingTest], making: Generation, dataset: str) -> MadeChanges:
    """What turns the tests there are into those that are made; a test that people wrote is never touched."""
    by_name = {row.made.name.casefold(): row for row in standing} | {row.made.name: row for row in standing}
    make: list[DataTestSpec] = []
    take: list[tuple[StandingTest, DataTestSpec]] = []
    gaps = list(making.gaps)
    made: set[int] = set()
    for test in making.tests:
        row = by_name.get(test.name) or by_name.get(test.name.casefold())
        if row is None:
            make.append(test)
            continue
        why = ""  # a test that stands keeps its name
        if row.is_standard:
            why = f"{test.name!r} is the name of a standard test: give the template another name"
        elif not (row.is_retired or row.is_leaving or row.made.template):
            where = f"in the source {row.source!r}" if row.source else "by page or API"
            mend = "give the template another name, or retire that test first"
            why = f"a test {test.name!r} was written {where}: {mend}"
        elif row.made.category != test.category:  # its standings and incidents are of the old one
            why = f"a test {test.name!r} was of the category {row.made.category}: give the template another name"
        if why:
            gap = GapSpec(dataset=dataset, category=test.category, reason=why, mendable=False, template=test.template)
            gaps.append(gap)
        else:
            made.add(row.id)
            if row.is_retired or row.is_leaving or row.made != test:
                take.append((row, test))
    leave = (row for row in standing if row.made.template and not (row.is_retired or row.is_leaving))
    left = tuple(row for row in leave if row.id not in made)
    return MadeChanges(make=tuple(make), take=tuple(take), leave=left, gaps=tuple(gaps))
