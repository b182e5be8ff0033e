"""The templates that sources tell: written and taken away, with the datasets whose tests follow from that."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from assay.catalog.profile import Selector, TemplateProfile
from assay.catalog.services import mark_changed
from assay.models import Dataset, DataTest
from execution_engine.language.checking.check_call import nearest
from execution_engine.language.operands import operands
from execution_engine.language.parsing.parse import UnableToParse, parse
from execution_engine.language.tree import History
from execution_engine.metrics.registry import SIGNATURES
from execution_engine.planning.schedules import UnableToSchedule, check_line
from test_generator.models import Gap, RuleTemplate

from .made import assertions_of
from .selection import selects

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
    metrics = [each.metric if isinstance(each, History) else each for tree in trees for each in operands(tree)]
    unknown = [metric.spec.name for metric in metrics if metric.spec.name not in SIGNATURES]
    return f"there is no metric {unknown[0]}{nearest(unknown[0], SIGNATURES)}" if unknown else None


def tell_templates(
    told: Sequence[TemplateProfile], *, source: str, full: bool, now: datetime
) -> tuple[tuple[str, ...], list[str]]:
    """Write what a source tells; the names of what changed, and a sentence for each template that cannot be written.

    The datasets of every template that changed are left to be reconciled, which makes, revises and ends its tests.
    """
    known = {row.name.casefold(): row for row in RuleTemplate.objects.all()}
    faults: list[str] = []
    changed: list[tuple[str, Selector | None]] = []  # names, and whom the new text selects
    for template in told:
        if row := known.get(template.name.casefold()):
            template = replace(template, name=row.name)  # the spelling that came first stays, as a dataset's does
        if why := _refusal(template, row, source) or fault_of(template):
            place = f"{template.place}: " if template.place else ""
            faults.append(f"{place}template {template.name!r}: {why}")
        elif row is None or template_of(row) != template:
            changed.append((template.name, template.selector))
            told_now = {"source": source, "said": _said(template), "changed_at": now}
            RuleTemplate.objects.update_or_create(name=template.name, defaults=told_now)
        else:
            RuleTemplate.objects.filter(pk=row.pk).update(said=_said(template))  # its place may have moved
    names = {template.name.casefold() for template in told}
    gone = [row for key, row in known.items() if full and row.source == source and key not in names]
    RuleTemplate.objects.filter(pk__in=[row.pk for row in gone]).delete()
    changed += [(row.name, None) for row in gone]
    mark_changed(_datasets_of(changed), now)
    return tuple(name for name, _ in changed), faults


def _refusal(template: TemplateProfile, row: RuleTemplate | None, source: str) -> str | None:
    """Why a source may not tell it so, beside the template that there is."""
    if row is None:
        return None
    if row.source != source:
        return f"the source {row.source!r} has a template of that name: give it another name"
    live = DataTest.objects.filter(template=row.name, retired_at__isnull=True).exclude(category=template.category)
    if (category := live.values_list("category", flat=True).first()) is not None:
        return f"the category of its tests is {category} and stays so: give it another name"
    return None


def _said(template: TemplateProfile) -> Any:
    return _PROFILE.dump_python(template, mode="json")


def _datasets_of(changed: Sequence[tuple[str, Selector | None]]) -> set[str]:
    """Those with tests or gaps of the templates, and those that they select now."""
    names = [name for name, _ in changed]
    if not names:
        return set()
    tests = DataTest.objects.filter(template__in=names, retired_at__isnull=True)
    gaps = Gap.objects.filter(template__in=names, closed_at__isnull=True)
    datasets = Dataset.objects.filter(missing_since__isnull=True).values_list("full_name", "tier", "tags")
    return {
        *tests.values_list("dataset__full_name", flat=True),
        *gaps.values_list("dataset__full_name", flat=True),
        *(
            name
            for name, tier, tags in datasets
            if any(
                selector and selects(selector, name=name, tier=tier, tags=tags.splitlines()) for _, selector in changed
            )
        ),
    }
