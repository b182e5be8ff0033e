"""The templates there are, each with how many datasets, tests and gaps it has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from assay.catalog.profile import TemplateProfile
from assay.models import DataTest
from test_generator.models import Gap, RuleTemplate

from .selection import in_words
from .told import template_of


@dataclass(frozen=True, kw_only=True)
class ShownTemplate:
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


def shown_templates(rows: Iterable[RuleTemplate]) -> list[ShownTemplate]:
    """The templates in their order, counted in two statements."""
    templates = list(rows)
    names = [row.name for row in templates]
    live = DataTest.objects.filter(template__in=names, retired_at__isnull=True, missing_since__isnull=True)
    counted: Any = live.values("template").annotate(tests=Count("pk"), datasets=Count("dataset", distinct=True))
    counts = {each["template"]: each for each in counted}
    lacking: Any = Gap.objects.filter(template__in=names, closed_at__isnull=True).values("template")
    gaps = {each["template"]: each["gaps"] for each in lacking.annotate(gaps=Count("pk"))}
    return [
        ShownTemplate(
            row=row,
            profile=template_of(row),
            datasets=counts.get(row.name, {}).get("datasets", 0),
            tests=counts.get(row.name, {}).get("tests", 0),
            gaps=gaps.get(row.name, 0),
        )
        for row in templates
    ]


def as_json(template: ShownTemplate) -> dict[str, Any]:
    """The template for programs."""
    profile = template.profile
    return {
        "name": profile.name,
        "assertion": profile.assertion,
        "selector": template.selector,
        "parameters": dict(profile.parameters),
        "severity": profile.severity,
        "category": profile.category,
        "source": template.row.source,
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
