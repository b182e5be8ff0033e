"""Bring a dataset's generated tests to what its metadata and lineage lead to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from assay.catalog.dataset_rows import tell_again
from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import Surroundings, profile_of, surroundings
from assay.database.statements import insert_rows
from assay.models import Dataset, DataTest, Origin
from assay.queue.claims import finish_all
from execution_engine.services import obsolete_ids, watch_commits
from test_generator.business_metrics import UnableToDefine, completed
from test_generator.data_tests import (
    UnableToWrite,
    catalogued,
    checked_tree,
    differs,
    held_to_declared,
    retire,
    revise,
    rewrite,
    start,
    unwritten,
    write_revisions,
)
from test_generator.definition import DataTestSpec, Definition, GapSpec, Generation
from test_generator.models import Gap, RuleTemplate
from test_generator.offers import forget_sensitive
from test_generator.templates.rules import by_template
from test_generator.templates.services import changes_of, template_of

from .standard import Changes, ExistingTest, Upstream, business_metric_tests, reconcile, standard_tests

RETIRE_GRACE = timedelta(days=1)
REPORT_EVERY = timedelta(days=7)
AUTHOR = "assay"


def reconcile_datasets(datasets: Sequence[Dataset], now: datetime) -> None:
    """Bring generated tests, and those of templates, to what is wanted, and note the gaps; ends ``reconcile``."""
    for dataset in datasets:
        if dataset.business_metric is not None and not dataset.missing_since:
            with suppress(UnableToDefine):  # it becomes a gap
                # it takes the home and the partitions that its sources have now
                tell_again(dataset, completed(profile_of(dataset), catalogued), now=now)
    around, tests_by_id = surroundings(datasets), stored_tests(datasets)
    templates, obsolete = list(RuleTemplate.objects.order_by("name")), obsolete_ids(datasets)
    definitions, gaps = Definitions(list), dict[int, list[GapSpec]]()
    for dataset in datasets:
        tests = tests_by_id[dataset.pk]
        gaps[dataset.pk] = _apply_templates(dataset, tests, templates, definitions, around, now)
        generation = generate(dataset, around, is_obsolete=dataset.pk in obsolete)
        apply(dataset, tests, changes(dataset, tests, generation, now), definitions, now)
        gaps[dataset.pk] += generation.gaps
    for author, of_author in definitions.items():
        write_revisions(of_author, around=around, author=author, now=now)
    for row in (row for tests in tests_by_id.values() for row in tests):
        # the columns of a user's test may be declared otherwise by now
        if row.origin == Origin.USER and row.retired_at is None and row.revision and row.revision.declared:
            with suppress(UnableToWrite):  # it does not fit the dataset any longer: its runs say so
                revise(row, Definition.of(row.revision), author=AUTHOR, now=now)
    _write_gaps(gaps, now)
    watch_commits(datasets, now)
    for dataset in datasets:
        forget_sensitive(dataset)
        dataset.reconcile_at = _again_at(dataset, tests_by_id[dataset.pk], now)
    finish_all(datasets, "reconcile_at")


Definitions = defaultdict[str, list[tuple[DataTest, Definition]]]  # to write, by their author


def stored_tests(datasets: Sequence[Dataset]) -> dict[int, list[DataTest]]:
    """All tests of each dataset, by its id, with their revisions."""
    by_id = {dataset.pk: dataset for dataset in datasets}
    tests: dict[int, list[DataTest]] = {id_: [] for id_ in by_id}
    for row in DataTest.objects.filter(dataset__in=by_id).select_related("revision").order_by("pk"):
        row.dataset = by_id[row.dataset_id]
        tests[row.dataset_id].append(row)
    return tests


def generate(dataset: Dataset, around: Surroundings, *, is_obsolete: bool) -> Generation:
    """What the metadata and lineage of the dataset lead to; nothing, once it is gone from its source, or obsolete."""
    if dataset.missing_since or is_obsolete:
        return Generation()
    own = around.profile_of(dataset)
    if own.business_metric is not None:
        return _of_business_metric(own)
    upstreams = [
        Upstream(
            dataset=around.profile_of(edge.upstream), one_to_one=edge.one_to_one, sampled=edge.sampled, keys=edge.keys
        )
        for edge in around.edges[dataset.name_key]
    ]
    generation = standard_tests(own, upstreams, is_fed=bool(around.upstreams[dataset.name_key]))
    return replace(generation, tests=tuple(_held_to_declared(test, dataset) for test in generation.tests))


def _held_to_declared(test: DataTestSpec, dataset: Dataset) -> DataTestSpec:
    definition = held_to_declared(test.definition, dataset)
    return test if definition is test.definition else replace(test, definition=definition)


def _of_business_metric(metric: DatasetProfile) -> Generation:
    """Its tests where its sources still allow them, as their columns, partitions and readers may have changed."""

    def gap(fault: Exception) -> GapSpec:
        first, *_ = str(fault).splitlines()
        return GapSpec(dataset=metric.full_name, category="metric", reason=first[:500])

    try:
        generation = business_metric_tests(completed(metric, catalogued))
    except UnableToDefine as fault:
        return Generation(gaps=(gap(fault),))
    tests, gaps = [], list(generation.gaps)
    for test in generation.tests:
        try:
            checked_tree(metric, test.definition.assertion, catalogued)
            tests.append(test)
        except UnableToWrite as fault:
            gaps.append(gap(fault))
    return Generation(tests=tuple(tests), gaps=tuple(gaps))


def changes(dataset: Dataset, tests: Iterable[DataTest], generation: Generation, now: datetime) -> Changes:
    """What turns the dataset's ``tests`` into those that were generated."""
    existing = [
        ExistingTest(
            id=row.pk,
            name=row.name,
            definition=DataTestSpec(
                name=row.name,
                category=row.category,  # type: ignore[arg-type]
                definition=Definition.of(row.revision),
                datacenter=row.datacenter,
                spoils=row.spoils,
                scope=row.scope,  # type: ignore[arg-type]
            )
            if row.origin == Origin.GENERATED
            else None,
            retired_at=row.retired_at,
            missing_since=row.missing_since if row.origin == Origin.USER else dataset.missing_since,
        )
        for row in tests
    ]
    return reconcile(existing, generation.tests, now=now, retire_grace=RETIRE_GRACE)


def _apply_templates(
    dataset: Dataset,
    tests: list[DataTest],
    templates: Sequence[RuleTemplate],
    definitions: Definitions,
    around: Surroundings,
    now: datetime,
) -> list[GapSpec]:
    """Make, revise, revive, and note as gone the tests of templates; what could not be made, by template."""
    changes = changes_of(dataset, tests, [template_of(row) for row in templates], around)
    origins = {row.name: (row.source, row.author or row.source) for row in templates}
    rows = {row.pk: row for row in tests}
    for made in changes.make:
        source, author = origins[made.template]
        tests.append(unwritten(dataset, made, origin=Origin.USER, source=source, now=now))
        definitions[author].append((tests[-1], made.definition))
    for standing, made in changes.take:
        source, author = origins[made.template]
        _take(rows[standing.id], made, definitions[author], source=source, now=now)
    for standing in changes.leave:
        rows[standing.id].missing_since = now
        rows[standing.id].save(update_fields=["missing_since"])
    return list(by_template(changes.gaps))


def apply(dataset: Dataset, tests: list[DataTest], changes: Changes, definitions: Definitions, now: datetime) -> None:
    """Carry the changes out, but for definitions, which are to be written."""
    rows = {row.pk: row for row in tests}
    for spec in changes.create:
        tests.append(unwritten(dataset, spec, origin=Origin.GENERATED, now=now))
        definitions[AUTHOR].append((tests[-1], spec.definition))
    for existing, spec in (*changes.revise, *changes.revive):
        _take(rows[existing.id], spec, definitions[AUTHOR], now=now)
    for existing in changes.retire:
        retire(rows[existing.id], now=now)


def _take(
    data_test: DataTest,
    spec: DataTestSpec,
    of_author: list[tuple[DataTest, Definition]],
    *,
    source: str = "",
    now: datetime,
) -> None:
    """Let a test that stands be this one; its definition is still to be written if it is another."""
    rewrite(data_test, spec, source=source)
    if differs(data_test, spec.definition):
        of_author.append((data_test, spec.definition))
    elif data_test.next_due_at is None:  # it was retired, and comes back with the definition that it had
        start(data_test, now=now)


def _write_gaps(gaps: Mapping[int, Sequence[GapSpec]], now: datetime) -> None:
    """Close the gaps of these datasets, by id, that are no more, and open those that are new."""
    rows = {
        (gap.dataset_id, gap.category, gap.template, gap.reason): gap
        for gap in Gap.objects.filter(dataset__in=gaps, closed_at__isnull=True)
    }
    by_key = {(id_, gap.category, gap.template, gap.reason): gap for id_, specs in gaps.items() for gap in specs}
    closed = [row.pk for key, row in rows.items() if key not in by_key]
    Gap.objects.filter(pk__in=closed).update(closed_at=now, next_report_at=None)
    new = [
        Gap(
            dataset_id=id_,
            category=gap.category,
            template=gap.template,
            reason=gap.reason,
            mendable=gap.mendable,
            since=now,
            next_report_at=now + REPORT_EVERY if gap.mendable else None,
        )
        for (id_, *_), gap in by_key.items()
        if (id_, gap.category, gap.template, gap.reason) not in rows
    ]
    insert_rows(new)


def _again_at(dataset: Dataset, tests: Iterable[DataTest], now: datetime) -> datetime | None:
    """When to reconcile again though nothing changes: as a grace ends, of the dataset or of a user's test."""
    left = (row.missing_since for row in tests if row.retired_at is None)
    ends = (since + RETIRE_GRACE for since in (dataset.missing_since, *left) if since and since + RETIRE_GRACE > now)
    return min(ends, default=None)
