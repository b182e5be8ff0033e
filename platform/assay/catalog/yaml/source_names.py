"""Which source a file or a folder is: the name that it tells, or else its own."""

from pathlib import Path

from assay.catalog.profile import CatalogProfile
from assay.catalog.services import UnableToApply
from assay.database.name_keys import name_keys
from assay.models import Dataset, Source

from .provider import source_fault


def claim_source(path: Path, profile: CatalogProfile, *, told: str, option: str, allow_removal: bool) -> Source:
    """The source that ``path`` is read as, by the name that it tells or that was asked for; raises UnableToApply.

    A name that nobody gave is that of the file or folder, and only the first of that name may have it. A name that
    was given may move, as when each check-out has a folder of its own, but not to a catalog of other datasets.
    """
    if told and option and told != option:
        raise UnableToApply(f"{path} says `source: {told}`, and --source says {option}: keep one of the two")
    place, name = path.resolve(), told or option or default_name(path)
    if fault := source_fault(name):
        raise UnableToApply(f"{path}: the name of its source: {fault}; write `source: NAME` in it, or give --source")
    source, _ = Source.objects.get_or_create(name=name)
    if source.place and source.place != str(place):
        if not (told or option):
            raise UnableToApply(
                f"the source {source} is another file: write `source: NAME` in {path}, or give --source NAME; "
                f"--source {name} if it is the same one that was moved"
            )
        if not allow_removal and _replaces_all(name, profile):
            raise UnableToApply(
                f"the source {source} tells of other datasets, and {path} of none of them: take another name for it, "
                "or say --allow-removal if it replaces them all"
            )
    if source.place != str(place):
        source.place = str(place)
        source.save(update_fields=["place"])
    return source


def default_name(path: Path) -> str:
    """The name of a source that nobody named: that of the folder, or of the file without its suffix."""
    place = path.resolve()
    return place.name if place.is_dir() else place.stem


def _replaces_all(name: str, profile: CatalogProfile) -> bool:
    """Whether the source has datasets, and none of them is told."""
    known = Dataset.objects.filter(source=name, missing_since__isnull=True)
    told = name_keys([dataset.full_name for dataset in (*profile.datasets, *profile.business_metrics)])
    return known.exists() and not known.filter(name_key__in=told).exists()
