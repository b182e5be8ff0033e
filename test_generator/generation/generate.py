"""Bring a dataset's generated tests to what its metadata and lineage lead to."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from assay.catalog.dataset_rows import tell_again
from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import profile_of, upstream_edges
from assay.models import Dataset, DataTest, Origin
from assay.queue.claims import finish
from test_generator.business_metrics import UnableToDefine, completed
from test_generator.data_tests import (
    UnableToWrite,
    catalogued,
    checked_tree,
    create,
    held_to_declared,
    retire,
    revise,
    rewrite,
)
from test_generator.definition import DataTestSpec, Definition, GapSpec, Generation
from test_generator.models import Gap
from test_generator.offers import forget_sensitive
from test_generator.templates.services import reconcile_templates

from .standard import Changes, ExistingTest, Upstream, business_metric_tests, reconcile, standard_tests

RETIRE_GRACE = timedelta(days=1)
REPORT_EVERY = timedelta(days=7)
AUTHOR = "assay"


def reconcile_dataset(dataset: Dataset, now: datetime) -> None:
    """Bring generated tests, and those of templates, to what is wanted, and note the gaps; ends ``reconcile``."""
    if dataset.business_metric is not None and not dataset.missing_since:
        with suppress(UnableToDefine):  # it becomes a gap
            # it takes the home and the partitions that its sources have now
            tell_again(dataset, completed(profile_of(dataset), catalogued), now=now)
    generation = generate(dataset)
    gaps = reconcile_templates(dataset, now)
    apply(dataset, changes(dataset, generation, now), now)
    users = dataset.data_tests.filter(origin=Origin.USER, retired_at__isnull=True).exclude(revision__declared="")
    for row in users.select_related("dataset", "revision"):  # their columns may be declared otherwise by now
        with suppress(UnableToWrite):  # it does not fit the dataset any longer: its runs say so
            revise(row, Definition.of(row.revision), author=AUTHOR, now=now)
    open_gaps = Gap.objects.filter(dataset=dataset, closed_at__isnull=True)
    rows = {(gap.category, gap.template, gap.reason): gap for gap in open_gaps}
    by_key = {(gap.category, gap.template, gap.reason): gap for gap in (*generation.gaps, *gaps)}
    closed = [row.pk for key, row in rows.items() if key not in by_key]
    Gap.objects.filter(pk__in=closed).update(closed_at=now, next_report_at=None)
    for key, gap in by_key.items():
        if key not in rows:
            next_report_at = now + REPORT_EVERY if gap.mendable else None
            Gap.objects.create(**{**vars(gap), "dataset": dataset}, since=now, next_report_at=next_report_at)
    forget_sensitive(dataset)
    left = dataset.data_tests.filter(missing_since__isnull=False, retired_at__isnull=True)
    begun = [dataset.missing_since, *left.values_list("missing_since", flat=True)]
    # again though nothing changes: when a grace ends, of the dataset or of a user's test
    ends = (since + RETIRE_GRACE for since in begun if since and since + RETIRE_GRACE > now)
    finish(dataset, reconcile_at=min(ends, default=None))


def generate(dataset: Dataset) -> Generation:
    """What the metadata and lineage of the dataset lead to; nothing, once it is gone from its source."""
    if dataset.missing_since:
        return Generation()
    if dataset.business_metric is not None:
        return _of_business_metric(profile_of(dataset))
    upstreams = [
        Upstream(dataset=profile_of(edge.upstream), one_to_one=edge.one_to_one, sampled=edge.sampled, keys=edge.keys)
        for edge in upstream_edges(dataset)
    ]
    generation = standard_tests(profile_of(dataset), upstreams)
    tests = (replace(test, definition=held_to_declared(test.definition, dataset)) for test in generation.tests)
    return replace(generation, tests=tuple(tests))


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


def changes(dataset: Dataset, generation: Generation, now: datetime) -> Changes:
    """What turns the dataset's tests into those that were generated."""
    rows = DataTest.objects.filter(dataset=dataset).select_related("revision")
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
        for row in rows
    ]
    return reconcile(existing, generation.tests, now=now, retire_grace=RETIRE_GRACE)


def apply(dataset: Dataset, changes: Changes, now: datetime) -> None:
    """Carry the changes out."""
    for test in changes.create:
        create(dataset, test, origin=Origin.GENERATED, author=AUTHOR, now=now)
    pairs = (*changes.revise, *changes.revive)
    ids = [*(existing.id for existing, _ in pairs), *(existing.id for existing in changes.retire)]
    rows = DataTest.objects.select_related("dataset", "revision").in_bulk(ids)
    for existing, spec in pairs:
        rewrite(rows[existing.id], spec, author=AUTHOR, now=now)
    for existing in changes.retire:
        retire(rows[existing.id], now=now)
