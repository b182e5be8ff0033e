"""Deploys of code that writes data: each is kept once, and touches one dataset, those of a pattern, or an owner's."""

from datetime import datetime
from fnmatch import fnmatchcase

from django.db.models import Q

from assay.models import Dataset, Deploy

MOST_LISTED = 500  # deploys of a range


def record_deploy(
    *, dataset: Dataset | None, pattern: str, owner: str, version: str, url: str, at: datetime, author: str
) -> tuple[Deploy, int]:
    """The deploy, and how many datasets it touches; what CI sends twice is one row."""
    key = {"dataset": dataset, "pattern": pattern, "owner": owner, "version": version, "at": at}
    row = Deploy.objects.filter(**key).order_by("pk").first() or Deploy.objects.create(**key, url=url, author=author)
    datasets = Dataset.objects.filter(missing_since__isnull=True)
    if owner:
        return row, datasets.filter(Q(owner=owner) | Q(team=owner)).count()
    names = datasets.values_list("full_name", flat=True) if pattern else ()
    return row, 1 if dataset else sum(_fits(name, pattern) for name in names)


def deploys_of(dataset: Dataset, start: datetime, end: datetime) -> list[Deploy]:
    """Those that touch the dataset in the range, the newest first; in two statements."""
    rows = Deploy.objects.filter(at__range=(start, end))
    patterns = rows.exclude(pattern="").order_by().values_list("pattern", flat=True).distinct()
    fitting = [pattern for pattern in patterns if _fits(dataset.full_name, pattern)]
    names = {name for name in (dataset.owner, dataset.team) if name}
    touching = Q(dataset=dataset) | Q(owner__in=names) | Q(pattern__in=fitting)
    return list(rows.filter(touching).order_by("-at", "-pk")[:MOST_LISTED])


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name.casefold(), pattern.casefold())
