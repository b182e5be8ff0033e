"""A catalog in files: read with every mistake told at once, those of its assertions too, and written whole or not."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from django.db import transaction

from assay.catalog.placeholders import COLUMN, placeholders
from assay.catalog.profile import CatalogProfile, DatasetProfile
from assay.catalog.services import Applied
from assay.catalog.yaml.provider import CatalogReading, UnableToReadCatalog, read
from assay.catalog.yaml.source_names import claim_source, default_name
from assay.catalog.yaml.yaml_text import YamlProblem
from assay.models import Dataset, Source
from execution_engine.language.parsing.parse import UnableToParse, parse
from execution_engine.planning.schedules import UnableToSchedule, check_line
from test_generator.business_metrics.definition import UnableToDefine, completed
from test_generator.data_tests.services import UnableToWrite, checked_tree
from test_generator.templates.told import fault_of

from .services import profiles_in, refused_folders, sync


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
    folders = (_problem(place, whose, reason) for whose, reason, place in refused_folders(reading.catalog))
    problems = [*reading.problems, *folders, *_assertion_problems(reading.catalog)]
    if problems:
        raise UnableToReadCatalog(problems)
    return reading


def _elsewhere(source: str) -> Mapping[str, bool]:
    """The datasets of other sources, by name in lower case, and whether they are partitioned."""
    others = Dataset.objects.filter(missing_since__isnull=True).exclude(source=source)
    return {name.lower(): bool(column) for name, column in others.values_list("full_name", "partition_column")}


def _assertion_problems(catalog: CatalogProfile) -> Iterator[tuple[Path, YamlProblem]]:
    """What is wrong with templates, and with the tests of datasets that are right in themselves, or another source's.

    Whether a template fits the datasets that it selects is seen there: one that it does not fit gets a gap.
    """
    named = profiles_in(catalog)
    metrics = {}
    for metric in catalog.business_metrics:
        try:
            metrics[metric.full_name.lower()] = completed(metric, named)
        except UnableToDefine as error:
            if all(map(named, _named_by(metric))):  # a name that is unknown is told already
                yield _problem(metric.place, f"business metric {metric.full_name!r}", str(error))

    def profile_named(name: str) -> DatasetProfile | None:
        return metrics.get(name.lower()) or named(name)

    for test in catalog.custom:
        home = profile_named(test.dataset)
        try:
            if home is None:  # told as a mistake of the dataset; what the text lacks by itself is told all the same
                parse(test.assertion)
                continue
            check_line(test.schedule)
            checked_tree(home, test.assertion, profile_named)
        except (UnableToSchedule, UnableToWrite, UnableToParse) as error:
            yield _problem(test.place, f"{test.dataset}, test {test.name!r}", str(error))
    for template in catalog.templates:
        is_known = {COLUMN, *template.parameters}.issuperset(placeholders(template.assertion))
        if is_known and (why := fault_of(template)):  # what stands between braces and is unknown, is told already
            yield _problem(template.place, f"template {template.name!r}", why)


def _named_by(metric: DatasetProfile) -> tuple[str, ...]:
    definition = metric.business_metric
    assert definition is not None
    return (*definition.sources, *(each.dataset for each in definition.served))


def _problem(place: str, whose: str, sentence: str) -> tuple[Path, YamlProblem]:
    file, _, line = place.rpartition(":")
    return Path(file), YamlProblem(line=int(line), path=whose, sentence=sentence)
