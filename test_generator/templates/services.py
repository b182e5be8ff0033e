"""Templates in the database: written from sources, listed, and reconciled with the tests that they make."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from django.db.models import Count
from pydantic import TypeAdapter

from assay.catalog.profile import CategoryName, Selector, TemplateProfile
from assay.catalog.selectors import Surroundings
from assay.catalog.services import mark_changed
from assay.models import Dataset, DataTest, Origin
from execution_engine.language.checking import nearest
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.tree import metric_of, operands
from execution_engine.metrics.registry import SIGNATURES
from execution_engine.planning.schedules import UnableToSchedule, check_line
from test_generator.data_tests import UnableToWrite, checked_tree
from test_generator.definition import DataTestSpec, Definition, Generation
from test_generator.models import Gap, RuleTemplate

from .rules import (
    MadeChanges,
    StandingTest,
    assertions_of,
    in_words,
    made_changes,
    making,
    selects,
)

# The templates that sources tell: written and taken away, with the datasets whose tests follow from that.

_PROFILE = TypeAdapter(TemplateProfile)
ANY_COLUMN = "a_column"


def template_of(row: RuleTemplate) -> TemplateProfile:
    """The template as its source told it."""
    return _PROFILE.validate_python(row.said)


def fault_of(template: TemplateProfile) -> str | None:
    """What is wrong with a template whatever dataset it is applied to; None where it may fit some."""
    try:
        check_line(template.schedule or "weekly")
        trees = [parse(text) for text in assertions_of(template, ANY_COLUMN)]
    except (UnableToSchedule, UnableToParse) as error:
        return str(error)
    metrics = [metric_of(node) for tree in trees for node in operands(tree)]
    unknown = [metric.spec.name for metric in metrics if metric.spec.name not in SIGNATURES]
    return f"there is no metric {unknown[0]}{nearest(unknown[0], SIGNATURES)}" if unknown else None


def tell_templates(
    templates: Sequence[TemplateProfile], *, source: str, full: bool, now: datetime, author: str = ""
) -> tuple[tuple[str, ...], list[str]]:
    """Write what a source tells; the names of what changed, and a sentence for each template that cannot be written.

    The datasets of every template that changed are left to be reconciled, which makes, revises and ends its tests.
    """
    rows_by_name = {row.name.casefold(): row for row in RuleTemplate.objects.all()}
    faults: list[str] = []
    changed: list[tuple[str, Selector | None]] = []  # names, and whom the new text selects
    for template in templates:
        why = None
        if row := rows_by_name.get(template.name.casefold()):
            template = replace(template, name=row.name)  # the spelling that came first stays, as a dataset's does
            live = DataTest.objects.filter(template=row.name, retired_at__isnull=True)
            others = live.exclude(category=template.category).values_list("category", flat=True)
            if row.source != source:
                why = f"the source {row.source!r} has a template of that name: give it another name"
            elif (category := others.first()) is not None:
                why = f"the category of its tests is {category} and stays so: give it another name"
        if why := why or fault_of(template):
            place = f"{template.place}: " if template.place else ""
            faults.append(f"{place}template {template.name!r}: {why}")
        elif row is None or template_of(row) != template:
            changed.append((template.name, template.selector))
            values = {
                "source": source,
                "author": author,
                "said": _PROFILE.dump_python(template, mode="json"),
                "changed_at": now,
            }
            RuleTemplate.objects.update_or_create(name=template.name, defaults=values)
        else:  # its place may have moved
            RuleTemplate.objects.filter(pk=row.pk).update(said=_PROFILE.dump_python(template, mode="json"))
    names = {template.name.casefold() for template in templates}
    gone = [row for key, row in rows_by_name.items() if full and row.source == source and key not in names]
    RuleTemplate.objects.filter(pk__in=[row.pk for row in gone]).delete()
    changed += [(row.name, None) for row in gone]
    mark_changed(_datasets_of(changed), now)
    return tuple(name for name, _ in changed), faults


def take_away(row: RuleTemplate, now: datetime) -> None:
    """Delete a template; its tests end with the grace that what has left a source has."""
    mark_changed(_datasets_of([(row.name, None)]), now)
    row.delete()


def _datasets_of(changed: Sequence[tuple[str, Selector | None]]) -> set[str]:
    """Those with tests or gaps of the templates, and those that they select now."""
    names = [name for name, _ in changed]
    if not names:
        return set()
    tests = DataTest.objects.filter(template__in=names, retired_at__isnull=True)
    gaps = Gap.objects.filter(template__in=names, closed_at__isnull=True)
    return {
        *tests.values_list("dataset__full_name", flat=True),
        *gaps.values_list("dataset__full_name", flat=True),
        *selected_by([selector for _, selector in changed if selector]),
    }


def selected_by(selectors: Sequence[Selector]) -> list[str]:
    """The full names of the datasets that one of these selects, in their order."""
    tables = Dataset.objects.filter(missing_since__isnull=True, business_metric__isnull=True).order_by("full_name")
    return [
        name
        for name, tier, tags, owner, team in tables.values_list("full_name", "tier", "tags", "owner", "team")
        if any(
            selects(selector, name=name, tier=tier, tags=tags.splitlines(), owner=owner, team=team)
            for selector in selectors
        )
    ]


# Bring the tests that templates make of a dataset to what the templates and its metadata say now.


def changes_of(
    dataset: Dataset, tests: Iterable[DataTest], templates: Sequence[TemplateProfile], around: Surroundings
) -> MadeChanges:
    """What turns the dataset's ``tests`` into those that the templates make of it, and what they lack."""
    made = Generation()
    if templates and not dataset.missing_since and dataset.business_metric is None:  # templates are of tables
        own = around.profile_of(dataset)

        def fault_of(assertion: str) -> str | None:
            try:
                checked_tree(own, assertion, around.profile_named, around.upstream_keys)
            except UnableToWrite as error:
                first, *_ = str(error).splitlines()
                return first.removeprefix("Cannot accept the assertion: ")
            return None

        made = making(templates, own, fault_of)
    standing = [
        StandingTest(
            id=row.pk,
            made=DataTestSpec(
                template=row.template,
                name=row.name,
                category=cast(CategoryName, row.category),
                definition=Definition.of(row.revision).as_written,
                scope=row.scope,  # type: ignore[arg-type]
                datacenter=row.datacenter,
            ),
            is_standard=row.origin == Origin.GENERATED,
            source=row.source,
            is_retired=row.retired_at is not None,
            is_leaving=row.missing_since is not None,
        )
        for row in tests
        if row.revision is not None
    ]
    return made_changes(standing, made, dataset.full_name)


# The templates there are, each with how many datasets, tests and gaps it has.


@dataclass(frozen=True, kw_only=True)
class TemplateSummary:
    """A template and what it comes to now."""

    row: RuleTemplate
    profile: TemplateProfile
    datasets: int  # with live tests of it
    tests: int  # live ones
    gaps: int  # datasets where it makes less than it should

    @property
    def selector(self) -> str:
        """Which datasets and columns it selects, in words."""
        return in_words(self.profile.selector)


def template_summaries(rows: Iterable[RuleTemplate]) -> list[TemplateSummary]:
    """The templates in their order, counted in two statements."""
    templates = list(rows)
    names = [row.name for row in templates]
    live = DataTest.objects.filter(template__in=names, retired_at__isnull=True, missing_since__isnull=True)
    counted: Any = live.values("template").annotate(tests=Count("pk"), datasets=Count("dataset", distinct=True))
    counts = {row["template"]: row for row in counted}
    lacking: Any = Gap.objects.filter(template__in=names, closed_at__isnull=True).values("template")
    gaps = {row["template"]: row["gaps"] for row in lacking.annotate(gaps=Count("pk"))}
    none = {"datasets": 0, "tests": 0}
    return [
        TemplateSummary(
            row=row,
            profile=template_of(row),
            **{name: counts.get(row.name, none)[name] for name in none},
            gaps=gaps.get(row.name, 0),
        )
        for row in templates
    ]


def as_json(template: TemplateSummary) -> dict[str, Any]:
    """The template for programs."""
    profile = template.profile
    return {
        "name": profile.name,
        "assertion": profile.assertion,
        "selector": template.selector,
        "parameters": dict(profile.parameters),
        "severity": profile.severity,
        "category": profile.category,
        "needs": profile.needs,
        "example": profile.example,
        "source": template.row.source,
        "author": template.row.author,
        "place": profile.place,
        "datasets": template.datasets,
        "data_tests": template.tests,
        "gaps": template.gaps,
    }


def counts_of(template: Mapping[str, Any]) -> str:
    """What a template comes to, in words: ``3 tests of 2 datasets, 1 gap``."""
    counts = ((template[key], word) for key, word in (("data_tests", "test"), ("datasets", "dataset"), ("gaps", "gap")))
    tests, datasets, gaps = (f"{count} {word}{'s' * (count != 1)}" for count, word in counts)
    return f"{tests} of {datasets}{f', {gaps}' if template['gaps'] else ''}"
