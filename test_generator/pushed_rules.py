"""Templates and bindings by page and API: read from a body, shown before they are written, written and taken away.

They are of the source ``push``, and so apart from those of catalog files, which no request changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from django.db import transaction
from pydantic import BaseModel, ValidationError

from assay.catalog.locations import PUSHED
from assay.catalog.profile import BindingProfile, TemplateProfile
from assay.catalog.selectors import by_name, by_names, surroundings
from assay.catalog.services import UnableToShare
from assay.catalog.yaml.parts import BindingPart, TemplatePart
from assay.catalog.yaml.profiles import YamlParts, cross_check, to_profile
from assay.catalog.yaml.provider import load
from assay.models import Binding, Dataset, DataTest
from assay.time.durations import format_duration
from test_generator.generation.generate import stored_tests
from test_generator.templates.services import changes_of, fault_of, selected_by, take_away, tell_templates, template_of

from .data_tests import UnableToWrite
from .definition import DataTestSpec
from .models import RuleTemplate
from .sync import tell_bindings

LIBRARY = Path(__file__).parent / "templates" / "library.yaml"
MOST_SHOWN = 100  # datasets whose tests a preview names

# Read a template from what is written of it, and write it back.

Part = TypeVar("Part", bound=BaseModel)


class UnableToReadTemplate(ValueError):
    """A body that is no template, or no binding; ``problems`` are the places in it with what is wrong there."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{place}: {message}" if place else message for place, message in problems))


def read_template(body: Mapping[str, Any]) -> TemplateProfile:
    """The template that a body says as a catalog file does; raises UnableToReadTemplate with all mistakes."""
    part = _read_part(TemplatePart, body)
    known = {name.lower(): bool(row.partition_column) for name, row in by_names(set(part.overrides)).items()}
    parts = YamlParts(datasets={}, lineage={}, tests={}, names=(), templates={0: part}, elsewhere=known)
    if findings := [(".".join(map(str, path[2:])), sentence) for path, sentence in cross_check(parts)]:
        raise UnableToReadTemplate(findings)
    (template,) = to_profile(parts, lambda _: Path()).templates
    if fault := fault_of(template):
        raise UnableToReadTemplate([("assertion", fault)])
    return template


def _read_part(part: type[Part], body: Mapping[str, Any]) -> Part:
    try:
        return part.model_validate(dict(body))
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise UnableToReadTemplate([(".".join(map(str, row["loc"])), row["msg"]) for row in details]) from None


def as_written(template: TemplateProfile) -> dict[str, Any]:
    """The template as a catalog file says it, without what it leaves out."""
    selector, columns = template.selector, template.selector.columns
    lists = {"tiers": selector.tiers, "tags": selector.tags, "names": selector.names}
    lists |= {"except": selector.excluded, "owners": selector.owners}
    selected: dict[str, Any] = {name: list(values) for name, values in lists.items() if values}
    if columns is not None:
        parts = {"names": columns.names, "kinds": columns.kinds}
        selected["columns"] = {name: list(values) for name, values in parts.items() if values}
    fields = {
        "parameters": dict(template.parameters),
        "overrides": {name: dict(values) for name, values in template.overrides.items()},
        "severity": template.severity,
        "schedule": template.schedule,
        "sustain": None if template.sustain is None else format_duration(template.sustain),
        "catch_up": template.catch_up,
        "category": None if template.category == "custom" else template.category,
        "keep_rows": template.keep_rows and asdict(template.keep_rows),
        "needs": template.needs,
        "example": template.example,
    }
    written = {"name": template.name, "assertion": template.assertion, "selector": selected}
    return written | {name: value for name, value in fields.items() if value}


# Templates to begin with.


@cache
def library() -> Mapping[str, TemplateProfile]:
    """The ready templates by name, in their order; each says what it needs, and what it finds."""
    return {template.name: replace(template, place="") for template in load(LIBRARY).templates}


# What a template would come to, dataset by dataset.

Sign = Literal["+", "~", "-"]


@dataclass(frozen=True, kw_only=True)
class PreviewedTest:
    """A test that would come, change or go, as ``assay plan`` signs it; ``column`` is empty for one of a dataset."""

    sign: Sign
    test: DataTestSpec

    @property
    def column(self) -> str:
        """The column that it is made of."""
        return self.test.name.removeprefix(self.test.template).removeprefix(": ")


@dataclass(frozen=True, kw_only=True)
class PreviewedDataset:
    """What a template would do to one dataset, and why it makes less there than it should."""

    dataset: Dataset
    tests: tuple[PreviewedTest, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Preview:
    """How many datasets a template selects, and what it would do to the first of them."""

    selected: int
    shown: tuple[PreviewedDataset, ...]

    @property
    def more(self) -> int:
        """How many datasets are not shown."""
        return self.selected - len(self.shown)

    @property
    def made(self) -> int:
        """How many tests of the datasets that are shown would come or change."""
        return sum(row.sign != "-" for dataset in self.shown for row in dataset.tests)


def preview(template: TemplateProfile, *, hidden: Sequence[int] = ()) -> Preview:
    """What writing the template would do; nothing is written, and no dataset that is ``hidden`` is named."""
    names = selected_by([template.selector])
    if hidden:
        visible = set(Dataset.objects.exclude(pk__in=hidden).values_list("full_name", flat=True))
        names = [name for name in names if name in visible]
    return Preview(selected=len(names), shown=tuple(islice(previewed(template, names), MOST_SHOWN)))


def previewed(template: TemplateProfile, names: Sequence[str]) -> Iterator[PreviewedDataset]:
    """What the template would do to these datasets, one after the other."""
    key = template.name.casefold()
    others = [template_of(row) for row in RuleTemplate.objects.order_by("name") if row.name.casefold() != key]
    templates = sorted([*others, template], key=lambda row: row.name)
    for start in range(0, len(names), MOST_SHOWN):
        rows = list(Dataset.objects.filter(full_name__in=names[start : start + MOST_SHOWN]).order_by("full_name"))
        around, standing = surroundings(rows), stored_tests(rows)
        for dataset in rows:
            changes = changes_of(dataset, standing[dataset.pk], templates, around)
            live = [row.id for row, _ in changes.take if not (row.is_retired or row.is_leaving)]
            tests = [PreviewedTest(sign="+", test=made) for made in changes.make]
            tests += [PreviewedTest(sign="~" if row.id in live else "+", test=made) for row, made in changes.take]
            tests += [PreviewedTest(sign="-", test=row.made) for row in changes.leave]
            yield PreviewedDataset(
                dataset=dataset,
                tests=tuple(row for row in tests if row.test.template == template.name),
                gaps=tuple(gap.reason for gap in changes.gaps if gap.template == template.name),
            )


# Write and take away; what a catalog file says is changed there.


@transaction.atomic
def write_template(template: TemplateProfile, *, author: str, now: datetime) -> RuleTemplate:
    """Write a template of page or API; raises UnableToShare for one of a file, UnableToWrite for one that is wrong."""
    if (row := RuleTemplate.objects.filter(name__iexact=template.name).first()) is not None:
        demand_pushed(row.source, f"The template {row}")
    _, faults = tell_templates([template], source=PUSHED, full=False, now=now, author=author)
    if faults:
        raise UnableToWrite(faults[0])
    return RuleTemplate.objects.get(name__iexact=template.name)


def remove_template(row: RuleTemplate, *, now: datetime) -> None:
    """Take a template of page or API away; its tests are retired after a day. Raises UnableToShare."""
    demand_pushed(row.source, f"The template {row}")
    take_away(row, now)


def write_binding(body: Mapping[str, Any]) -> Binding:
    """Bind a pipeline's gate to a test; a binding that is there gets another ``gate``.

    Raises UnableToReadTemplate, UnableToWrite where there is no such live test, UnableToShare for one of a file.
    """
    binding = BindingProfile(**dict(_read_part(BindingPart, body)))
    dataset = by_name(binding.dataset)
    if dataset is None:
        raise UnableToWrite(f"the catalog has no dataset {binding.dataset!r}")
    if not DataTest.objects.filter(dataset=dataset, name=binding.test, retired_at=None).exists():
        raise UnableToWrite(f"{dataset} has no live test of the name {binding.test!r}")
    key = {"pipeline": binding.pipeline, "dataset": dataset, "test": binding.test}
    if (row := Binding.objects.filter(**key).first()) is not None:
        demand_pushed(row.source, f"The binding {row}")
    tell_bindings([binding], source=PUSHED, full=False)
    return Binding.objects.select_related("dataset").get(**key)


def remove_binding(row: Binding) -> None:
    """Let the severity of the test count again at the pipeline's gate; raises UnableToShare for one of a file."""
    demand_pushed(row.source, f"The binding {row}")
    row.delete()


def demand_pushed(source: str, whose: str) -> None:
    """Nothing for what page or API wrote; else raises UnableToShare."""
    if source != PUSHED:
        raise UnableToShare(f"{whose} is written in the source {source!r}: change it there.")
