"""A catalog in files: read with every mistake told at once, those of its assertions too, and written whole or not."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from django.db import transaction

from assay.catalog.profile import CatalogProfile, DatasetProfile
from assay.catalog.services import Applied
from assay.catalog.yaml.provider import CatalogReading, UnableToReadCatalog, read
from assay.catalog.yaml.source_names import claim_source, default_name
from assay.catalog.yaml.yaml_text import YamlProblem
from assay.models import Dataset, Source
from execution_engine.planning.schedules import UnableToSchedule, check_line
from test_generator.data_tests.services import UnableToWrite, catalogued, checked_tree

from .services import sync


@transaction.atomic
def sync_files(path: Path, *, name: str = "", allow_removal: bool = False, now: datetime) -> tuple[Source, Applied]:
    """Write what a file or folder tells; raises UnableToReadCatalog, UnableToApply or UnableToWrite, and keeps none."""
    reading = _read(path, name)
    catalog = reading.catalog
    source = claim_source(path, catalog, told=reading.source, option=name, allow_removal=allow_removal)
    return source, sync(catalog, source=source.name, allow_removal=allow_removal, now=now)


def _read(path: Path, name: str) -> CatalogReading:
    """What a file or folder tells; raises UnableToReadCatalog with all mistakes, by file and line."""
    reading = read(path, lambda told: _elsewhere(told or name or default_name(path)))
    problems = [*reading.problems, *_assertion_problems(reading.catalog)]
    if problems:
        raise UnableToReadCatalog(problems)
    return reading


def _elsewhere(source: str) -> Mapping[str, bool]:
    """The datasets of other sources, by name in lower case, and whether they are partitioned."""
    others = Dataset.objects.filter(missing_since__isnull=True).exclude(source=source)
    return {name.lower(): bool(column) for name, column in others.values_list("full_name", "partition_column")}


def _assertion_problems(catalog: CatalogProfile) -> Iterator[tuple[Path, YamlProblem]]:
    """What is wrong with the tests of datasets that are right in themselves, or another source's."""
    told = {dataset.full_name.lower(): dataset for dataset in catalog.datasets}

    def profile_named(name: str) -> DatasetProfile | None:
        return told.get(name.lower()) or catalogued(name)

    for test in catalog.custom:
        if (home := profile_named(test.dataset)) is None:
            continue  # told as a mistake of the dataset
        try:
            check_line(test.schedule)
            checked_tree(home, test.assertion, profile_named)
        except (UnableToSchedule, UnableToWrite) as error:
            file, _, line = test.place.rpartition(":")
            yield (
                Path(file),
                YamlProblem(line=int(line), path=f"{test.dataset}, test {test.name!r}", sentence=str(error)),
            )
