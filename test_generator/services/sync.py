"""A full sync with a provider: its catalog and the tests that its users wrote beside it."""

from datetime import datetime

from django.db import transaction

from assay.catalog.profile import CatalogProfile, CustomProfile
from assay.catalog.selectors import by_name
from assay.catalog.services import Applied, apply_catalog
from assay.models import DataTest
from test_generator.services.data_tests import UnableToWrite, revise, write_data_test


@transaction.atomic
def sync(profile: CatalogProfile, *, source: str, full: bool = True, now: datetime) -> Applied:
    """Write the catalog and the users' tests of ``profile``; all of it or, when a test is wrong, none."""
    applied = apply_catalog(profile, source=source, full=full, now=now)
    for custom in profile.custom:
        _write(custom, source=source, now=now)
    return applied


def _write(custom: CustomProfile, *, source: str, now: datetime) -> None:
    dataset = by_name(custom.dataset)
    if dataset is None:
        raise UnableToWrite(f"test {custom.name!r}: the catalog has no dataset {custom.dataset!r}; tell of it first")
    existing = DataTest.objects.filter(dataset=dataset, name=custom.name).select_related("dataset", "revision").first()
    if existing:
        revise(
            existing,
            assertion=custom.assertion,
            severity=custom.severity,
            schedule=custom.schedule,
            sustain=custom.sustain,
            catch_up=custom.catch_up,
            author=source,
            now=now,
        )
        return
    write_data_test(
        dataset=dataset,
        name=custom.name,
        assertion=custom.assertion,
        category=custom.category,
        severity=custom.severity,
        schedule=custom.schedule,
        sustain=custom.sustain,
        catch_up=custom.catch_up,
        author=source,
        now=now,
    )
