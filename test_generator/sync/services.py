"""A full sync with a provider: its catalog, and the tests and templates that its users wrote beside it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from assay.catalog.profile import CatalogProfile, CustomProfile
from assay.catalog.selectors import by_names, slas
from assay.catalog.services import Applied, apply_catalog, mark_changed
from assay.catalog.storages import FILES
from assay.database.name_keys import name_key
from assay.models import Dataset, DataTest, Origin, Source
from execution_engine.engines.files.listing import refusal_of
from test_generator.business_metrics.definition import with_business_metrics
from test_generator.data_tests.services import UnableToWrite, catalogued, revise, start, write_data_test
from test_generator.data_tests.upstream_operands import ProfileNamed
from test_generator.definition import Definition
from test_generator.models import RuleTemplate
from test_generator.templates.told import tell_templates

from .bindings import tell_bindings


@transaction.atomic
def sync(
    profile: CatalogProfile, *, source: str, full: bool = True, allow_removal: bool = False, now: datetime
) -> Applied:
    """Write all that ``profile`` tells: datasets, lineage, users' tests, templates and bindings; or, if wrong, nothing.

    The tests that templates make follow when their datasets are reconciled.
    """
    if refused := [f"{whose}: {reason}" for whose, reason, _ in refused_folders(profile)]:
        raise UnableToWrite("\n".join(refused))
    profile, of_metrics = with_business_metrics(profile, profiles_in(profile))
    if of_metrics:
        raise UnableToWrite("\n".join(of_metrics))
    applied = apply_catalog(profile, source=source, full=full, allow_removal=allow_removal, now=now)
    templates, of_templates = tell_templates(profile.templates, source=source, full=full, now=now)
    written, of_tests = _write_all(profile.custom, source=source, now=now)
    bindings, of_bindings = tell_bindings(profile.bindings, source=source, full=full)
    if faults := [*of_tests, *of_templates, *of_bindings]:
        raise UnableToWrite("\n".join(faults))
    if full:
        _note_gone(written, source=source, now=now)
    return replace(applied, templates=templates, bindings=bindings)


def refused_folders(profile: CatalogProfile) -> Iterator[tuple[str, str, str]]:
    """Folders on this machine whose files alone are no table: whose, why, and where that is told.

    What cannot be seen from here may be right.
    """
    for dataset in profile.datasets:
        for replica in dataset.replicas:
            if replica.storage in FILES and (reason := refusal_of(replica.location)):
                yield f"{dataset.full_name} in {replica.datacenter}", reason, dataset.place


def profiles_in(profile: CatalogProfile) -> ProfileNamed:
    """What is known of a dataset by its name: what the profile tells, or else what is in the catalog."""
    told = {name_key(dataset.full_name): dataset for dataset in profile.datasets}
    return lambda name: told.get(name_key(name)) or catalogued(name)


def remove_source(name: str, *, now: datetime) -> Applied:
    """Take a source away: what it told is retired after the grace, or sooner becomes another source's."""
    applied = sync(CatalogProfile(), source=name, allow_removal=True, now=now)
    Source.objects.filter(name=name).delete()
    return applied


def _write_all(told: tuple[CustomProfile, ...], *, source: str, now: datetime) -> tuple[set[int], list[str]]:
    """The ids of the tests that were written, and a sentence for each that could not be."""
    written, faults = set(), []
    datasets = by_names({custom.dataset for custom in told})
    for custom in told:
        try:
            written.add(_write(custom, datasets.get(custom.dataset), source=source, now=now).pk)
        except UnableToWrite as fault:
            place = f"{custom.place}: " if custom.place else ""
            faults.append(f"{place}{custom.dataset}, test {custom.name!r}: {fault}")
    return written, faults


def _note_gone(written: set[int], *, source: str, now: datetime) -> None:
    """Mark the tests that were written in the source and are gone from it: their grace begins."""
    known = DataTest.objects.filter(source=source, template="", missing_since__isnull=True, retired_at__isnull=True)
    gone = dict(known.exclude(pk__in=written).values_list("pk", "dataset__full_name"))
    DataTest.objects.filter(pk__in=gone).update(missing_since=now)
    mark_changed(set(gone.values()), now)


def _write(custom: CustomProfile, dataset: Dataset | None, *, source: str, now: datetime) -> DataTest:
    """The test as the source tells it; one that was retired lives again."""
    if dataset is None:
        raise UnableToWrite(f"the catalog has no dataset {custom.dataset!r}; tell of it first")
    row = DataTest.objects.filter(dataset=dataset, name=custom.name).select_related("dataset", "revision").first()
    said: dict[str, Any] = {
        name: getattr(custom, name) for name in ("assertion", "schedule", "severity", "sustain", "catch_up")
    }
    if row is None:
        row = write_data_test(
            dataset=dataset, name=custom.name, category=custom.category, author=source, now=now, **said
        )
    else:
        _refuse_others(row, source)
        if row.category != custom.category:  # its standings and incidents are of the old one
            raise UnableToWrite(f"its category is {row.category} and stays so: give it another name")
        DataTest.objects.filter(pk=row.pk).update(retired_at=None, template="")
        row.retired_at = None
        definition = Definition.by(slas(dataset), **said)  # what its source stopped saying is its dataset's again
        revise(row, definition, author=source, now=now)
        if row.next_due_at is None:  # it was retired, and comes back with the definition that it had
            start(row, now=now)
    DataTest.objects.filter(pk=row.pk).update(source=source, missing_since=None)
    return row


def _refuse_others(row: DataTest, source: str) -> None:
    """Raise UnableToWrite for a name that is a standard test's, or that of a live test which was written elsewhere."""
    if row.origin == Origin.GENERATED:
        raise UnableToWrite("that is the name of a standard test: give it another name")
    is_free = row.retired_at is not None or row.missing_since is not None
    if row.template and not is_free and RuleTemplate.objects.filter(name=row.template).exists():
        raise UnableToWrite(f"the template {row.template!r} makes a test of that name: give it another name")
    if row.source != source and not is_free:
        where = f"in the source {row.source!r}" if row.source else "by page or API"
        raise UnableToWrite(f"a test of that name was written {where}: give it another name, or retire that one first")
