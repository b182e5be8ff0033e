"""The tests that templates make of one dataset, and the reasons where one makes none (pure)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from assay.catalog.placeholders import COLUMN, filled
from assay.catalog.profile import CategoryName, DatasetProfile, TemplateProfile
from test_generator.definition import Definition

from .selection import selected_columns, selects

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
