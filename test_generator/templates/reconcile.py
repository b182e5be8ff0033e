"""Bring the tests that templates make of a dataset to what the templates and its metadata say now."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from assay.catalog.profile import CategoryName, TemplateProfile
from assay.catalog.selectors import profile_of
from assay.models import Dataset, DataTest, Origin
from test_generator.data_tests.services import UnableToWrite, catalogued, checked_tree, create, revise, start
from test_generator.definition import Definition
from test_generator.models import RuleTemplate

from .changes import MadeChange, MadeChanges, StandingTest, made_changes
from .made import Lack, MadeTest, Making, by_template, making
from .told import template_of


def changes_of(dataset: Dataset) -> MadeChanges:
    """What turns the dataset's tests into those that the templates make of it, and what they lack."""
    templates = RuleTemplate.objects.order_by("name")
    rows = DataTest.objects.filter(dataset=dataset, revision__isnull=False).select_related("revision")
    made = _made(dataset, [template_of(row) for row in templates]) if templates else Making()
    return made_changes([_standing(row) for row in rows], made)


def reconcile_templates(dataset: Dataset, now: datetime) -> tuple[Lack, ...]:
    """Make, revise, revive, and note as gone the tests of templates; what could not be made, by template."""
    changes = changes_of(dataset)
    sources = dict(RuleTemplate.objects.values_list("name", "source"))
    for test in changes.make:
        row = create(
            dataset,
            test.definition,
            name=test.name,
            category=test.category,
            origin=Origin.USER,
            scope=test.scope,
            datacenter=test.datacenter,
            spoils="",
            author=sources[test.template],
            now=now,
        )
        DataTest.objects.filter(pk=row.pk).update(template=test.template, source=sources[test.template])
    ids = [change.standing.id for change in changes.take]
    rows = DataTest.objects.select_related("dataset", "revision").in_bulk(ids)
    for change in changes.take:
        _take(rows[change.standing.id], change, sources[change.made.template], now)
    DataTest.objects.filter(pk__in=[each.id for each in changes.leave]).update(missing_since=now)
    return by_template(changes.lacks)


def _take(row: DataTest, change: MadeChange, source: str, now: datetime) -> None:
    made = change.made
    row.template, row.source, row.scope, row.datacenter = made.template, source, made.scope, made.datacenter
    row.retired_at = row.missing_since = None
    row.save(update_fields=["template", "source", "scope", "datacenter", "retired_at", "missing_since"])
    revise(row, made.definition, author=source, now=now)
    if row.next_due_at is None:  # it was retired, and comes back with the definition that it had
        start(row, now=now)


def _made(dataset: Dataset, templates: Sequence[TemplateProfile]) -> Making:
    if dataset.missing_since or dataset.business_metric is not None:  # templates are of tables
        return Making()
    own = profile_of(dataset)

    def fault_of(assertion: str) -> str | None:
        try:
            checked_tree(own, assertion, catalogued)
        except UnableToWrite as error:
            first, *_ = str(error).splitlines()
            return first.removeprefix("Cannot accept the assertion: ")
        return None

    return making(templates, own, fault_of)


def _standing(row: DataTest) -> StandingTest:
    revision = row.revision
    assert revision is not None
    return StandingTest(
        id=row.pk,
        made=MadeTest(
            template=row.template,
            name=row.name,
            category=cast(CategoryName, row.category),
            definition=Definition.of(revision).as_written,
            scope=row.scope,  # type: ignore[arg-type]
            datacenter=row.datacenter,
        ),
        is_standard=row.origin == Origin.GENERATED,
        source=row.source,
        is_retired=row.retired_at is not None,
        is_leaving=row.missing_since is not None,
    )
