"""Bring a dataset's generated tests to what its metadata and lineage lead to."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import profile_of, upstream_edges
from assay.catalog.services import tell_again
from assay.models import Dataset, DataTest, Origin
from assay.queue.claims import finish
from test_generator.business_metrics import UnableToDefine, completed
from test_generator.data_tests.services import (
    UnableToWrite,
    catalogued,
    checked_tree,
    create,
    held_to_declared,
    retire,
    revise,
    start,
)
from test_generator.definition import Definition
from test_generator.models import Gap
from test_generator.offers import forget_sensitive
from test_generator.templates.rules import Lack
from test_generator.templates.services import reconcile_templates

from .reconcile import Changes, ExistingTest, WantedChange, reconcile
from .standard import Generation, Upstream, WantedGap, WantedTest, business_metric_tests, standard_tests

RETIRE_GRACE = timedelta(days=1)
REPORT_EVERY = timedelta(days=7)
AUTHOR = "assay"


def reconcile_dataset(dataset: Dataset, now: datetime) -> None:
    """Bring generated tests, and those of templates, to what is wanted, and note the gaps; ends ``reconcile``."""
    _follow_sources(dataset, now)
    generation = generate(dataset)
    lacks = reconcile_templates(dataset, now)
    apply(dataset, changes(dataset, generation, now), now)
    _hold_users_tests_to_what_is_declared(dataset, now)
    _note_gaps(dataset, (*generation.gaps, *(gap_of(dataset, lack) for lack in lacks)), now)
    forget_sensitive(dataset)
    left = dataset.data_tests.filter(missing_since__isnull=False, retired_at__isnull=True)
    begun = [dataset.missing_since, *left.values_list("missing_since", flat=True)]
    # again though nothing changes: when a grace ends, of the dataset or of a user's test
    ends = (since + RETIRE_GRACE for since in begun if since and since + RETIRE_GRACE > now)
    finish(dataset, reconcile_at=min(ends, default=None))


def _follow_sources(dataset: Dataset, now: datetime) -> None:
    """A business metric takes the home and the partitions that its sources have now."""
    if dataset.business_metric is None or dataset.missing_since:
        return
    with suppress(UnableToDefine):  # it becomes a gap
        tell_again(dataset, completed(profile_of(dataset), catalogued), now=now)


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
    return replace(
        generation,
        wanted=tuple(
            replace(test, definition=held_to_declared(test.definition, dataset)) for test in generation.wanted
        ),
    )


def _of_business_metric(told: DatasetProfile) -> Generation:
    """Its tests where its sources still allow them, as their columns, partitions and readers may have changed."""
    try:
        generation = business_metric_tests(completed(told, catalogued))
    except UnableToDefine as fault:
        return Generation(gaps=(_gap_of_fault(told, fault),))
    wanted, gaps = [], list(generation.gaps)
    for test in generation.wanted:
        try:
            checked_tree(told, test.definition.assertion, catalogued)
            wanted.append(test)
        except UnableToWrite as fault:
            gaps.append(_gap_of_fault(told, fault))
    return Generation(wanted=tuple(wanted), gaps=tuple(gaps))


def _gap_of_fault(told: DatasetProfile, fault: Exception) -> WantedGap:
    first, *_ = str(fault).splitlines()
    return WantedGap(dataset=told.full_name, category="metric", reason=first[:500])


def gap_of(dataset: Dataset, lack: Lack) -> WantedGap:
    """What a template lacks on a dataset; it counts against no coverage, which is that of standard tests."""
    return WantedGap(
        dataset=dataset.full_name,
        category=lack.category,
        reason=lack.reason,
        mendable=False,
        template=lack.template,
    )


def changes(dataset: Dataset, generation: Generation, now: datetime) -> Changes:
    """What turns the dataset's tests into those that were generated."""
    rows = DataTest.objects.filter(dataset=dataset).select_related("revision")
    existing = [
        ExistingTest(
            id=row.pk,
            name=row.name,
            origin="user" if row.origin == Origin.USER else "generated",
            definition=_as_wanted(row) if row.origin == Origin.GENERATED else None,
            retired_at=row.retired_at,
            missing_since=row.missing_since if row.origin == Origin.USER else dataset.missing_since,
        )
        for row in rows
    ]
    return reconcile(existing, generation.wanted, now=now, retire_grace=RETIRE_GRACE)


def _as_wanted(row: DataTest) -> WantedTest:
    return WantedTest(
        name=row.name,
        category=row.category,  # type: ignore[arg-type]
        definition=Definition.of(row.revision),
        datacenter=row.datacenter,
        spoils=row.spoils or None,
        scope=row.scope,  # type: ignore[arg-type]
    )


def apply(dataset: Dataset, wanted: Changes, now: datetime) -> None:
    """Carry the changes out."""
    for each in wanted.create:
        create(
            dataset,
            each.definition,
            name=each.name,
            category=each.category,
            origin=Origin.GENERATED,
            scope=each.scope,
            datacenter=each.datacenter,
            spoils=each.spoils or "",
            author=AUTHOR,
            now=now,
        )
    rows = DataTest.objects.select_related("dataset", "revision").in_bulk(
        [change.existing.id for change in (*wanted.revise, *wanted.revive)] + [gone.id for gone in wanted.retire]
    )
    for change in wanted.revive:
        DataTest.objects.filter(pk=change.existing.id).update(retired_at=None)
        rows[change.existing.id].retired_at = None
    for change in (*wanted.revise, *wanted.revive):
        _revise(rows[change.existing.id], change, now)
    for gone in wanted.retire:
        retire(rows[gone.id], now=now)


def _revise(row: DataTest, change: WantedChange, now: datetime) -> None:
    wanted = change.wanted
    row.category, row.scope = wanted.category, wanted.scope
    row.datacenter, row.spoils = wanted.datacenter, wanted.spoils or ""
    row.save(update_fields=["category", "scope", "datacenter", "spoils"])
    revise(row, wanted.definition, author=AUTHOR, now=now)
    if row.next_due_at is None:  # revived with the definition it had
        start(row, now=now)


def _hold_users_tests_to_what_is_declared(dataset: Dataset, now: datetime) -> None:
    """A new revision of each users' test whose columns are declared otherwise than when it was written."""
    rows = dataset.data_tests.filter(origin=Origin.USER, retired_at__isnull=True).exclude(revision__declared="")
    for row in rows.select_related("dataset", "revision"):
        with suppress(UnableToWrite):  # it does not fit the dataset any longer: its runs say so
            revise(row, Definition.of(row.revision), author=AUTHOR, now=now)


def _note_gaps(dataset: Dataset, gaps: tuple[WantedGap, ...], now: datetime) -> None:
    """Open a row for each new gap, and close the rows of gaps that are gone."""
    open_gaps = Gap.objects.filter(dataset=dataset, closed_at__isnull=True)
    known = {(gap.category, gap.template, gap.reason): gap for gap in open_gaps}
    wanted = {(gap.category, gap.template, gap.reason): gap for gap in gaps}
    closed = [row.pk for key, row in known.items() if key not in wanted]
    Gap.objects.filter(pk__in=closed).update(closed_at=now, next_report_at=None)
    for key, gap in wanted.items():
        if key not in known:
            Gap.objects.create(
                dataset=dataset,
                category=gap.category,
                template=gap.template,
                reason=gap.reason,
                mendable=gap.mendable,
                since=now,
                next_report_at=now + REPORT_EVERY if gap.mendable else None,
            )
