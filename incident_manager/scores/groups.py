"""What scores are listed by: of which groups each spell is."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import cache

from django.db.models import TextField
from django.db.models.functions import Cast

from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.language.dimension import OF_CATEGORY, dimension_of
from execution_engine.language.serialise import from_json
from incident_manager.models import SpoiltWindow

from .facts import Facts

Names = Sequence[Collection[str]]  # of each spell, the groups that it is of


class Group(StrEnum):
    """What scores are listed by; those of people are columns of incidents."""

    CATEGORY = "category"
    DIMENSION = "dimension"  # of quality
    TIER = "tier"
    TEAM = "team"
    OWNER = "owner"
    PIPELINE = "pipeline"  # that has told in the range of what it had written

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of incidents that facts must be read with."""
        return (self.value,) if self in (Group.TIER, Group.TEAM, Group.OWNER) else ()


def groups_of(group: Group, facts: Facts, asked: Window) -> Names:
    """The groups of each spell; it reads as many statements however many groups there are."""
    match group:
        case Group.CATEGORY:
            return [(category,) for category in facts.categories]
        case Group.DIMENSION:
            return _dimensions(facts)
        case Group.PIPELINE:
            return _pipelines(facts, asked)
        case _:
            return _people(group, facts)


def _dimensions(facts: Facts) -> Names:
    """Of a category with tests of all kinds, those of its tests; of an incident those that found its bad windows."""
    mixed = [name for name in Category.values if name not in OF_CATEGORY]
    spells = list(zip(facts.datasets, facts.categories, facts.incidents, strict=True))
    by_place = defaultdict[tuple[int, str], set[str]](set)
    rows = DataTest.objects.filter(category__in=mixed, revision__isnull=False)
    trees = rows.annotate(tree=Cast("revision__tree", TextField())).values_list("dataset", "category", "tree")
    known = cache(_dimension_of)  # many tests assert the same, each of another dataset
    for dataset, category, tree in trees.distinct():
        by_place[dataset, category].add(known(category, tree))
    unclear = {incident for dataset, category, incident in spells if incident and len(by_place[dataset, category]) > 1}
    by_incident = defaultdict[int, set[str]](set)
    spoilt = SpoiltWindow.objects.filter(incident__in=unclear, data_test__in=rows)
    seen = spoilt.annotate(tree=Cast("data_test__revision__tree", TextField())).order_by()
    for incident, category, tree in seen.values_list("incident", "data_test__category", "tree").distinct():
        by_incident[incident].add(known(category, tree))

    clear = {category: (dimension,) for category, dimension in OF_CATEGORY.items()}
    return [
        clear.get(category) or by_incident.get(incident) or by_place[dataset, category]
        for dataset, category, incident in spells
    ]


def _dimension_of(category: str, tree: str) -> str:
    return dimension_of(category, from_json(json.loads(tree)))


def _pipelines(facts: Facts, asked: Window) -> Names:
    """Those that completed in the range: all datasets that each of them wrote."""
    told = DataChange.objects.filter(kind=ChangeKind.COMPLETED, at__gte=asked.start, at__lt=asked.end)
    wrote: dict[int, set[str]] = defaultdict(set)
    for pipeline, dataset in told.exclude(pipeline="").order_by().values_list("pipeline", "dataset").distinct():
        wrote[dataset].add(pipeline)
    return [wrote.get(dataset, ()) for dataset in facts.datasets]


def _people(group: Group, facts: Facts) -> Names:
    """Of incidents the tier, team or owner at their detection; of tests that of now, and those of their incidents."""
    known = {pk: {str(value)} for pk, value in Dataset.objects.values_list("pk", group.value)}
    spells = list(zip(facts.datasets, map(facts.values.get, facts.incidents), strict=True))  # of a test: None
    for dataset, value in set(spells):
        if value is not None:
            known[dataset].add(value)
    alone = {value: (value,) for value in facts.values.values()}
    return [known[dataset] if value is None else alone[value] for dataset, value in spells]
