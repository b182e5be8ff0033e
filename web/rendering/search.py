"""What a text finds: datasets, open incidents, columns, owners and teams, and tests that people wrote.

One selector answers the box of each page, the page of results and the API.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Min, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from assay.database.name_keys import name_key
from assay.models import ColumnName, Dataset, DataTest, Origin
from incident_manager.models import Incident

from .status import plain

LONGEST = 200  # letters of a text
MOST_RANKED = 200  # names of one kind that are ranked; of more matches, those that begin a part come first
SEPARATORS = (".", "_", "-")


class HitKind(StrEnum):
    """What a hit is, in the order in which kinds are listed."""

    DATASET = "dataset"
    INCIDENT = "incident"
    COLUMN = "column"
    OWNER = "owner"
    TEAM = "team"
    TEST = "test"


KIND_WORDS = {
    HitKind.DATASET: _("Datasets"),
    HitKind.INCIDENT: _("Incidents"),
    HitKind.COLUMN: _("Columns"),
    HitKind.OWNER: _("Owners"),
    HitKind.TEAM: _("Teams"),
    HitKind.TEST: _("Tests"),
}


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One hit; ``address`` is the page that shows it, ``dataset`` that of an incident or a test."""

    kind: HitKind
    name: str
    address: str
    dataset: str = ""
    datasets: int = 0  # of a column, an owner or a team: how many the reader may see
    open_incidents: int = 0  # of a dataset


def search(text: str, *, hidden: Collection[int], most: int) -> list[Hit]:
    """At most ``most`` hits of each kind, by kind; ``hidden`` are the datasets that the reader may not see.

    Names that are the text come first, then those of which a part begins with it, then those that hold it; of
    datasets alike in this, those with open incidents. In at most seventeen statements.
    """
    text = text.strip()[:LONGEST]
    if not text or "\0" in text:
        return []
    kinds = (_datasets, _incidents, _columns, _owners, _teams, _tests)
    return [hit for find in kinds for hit in find(text, hidden, most)]


def rank(name: str, text: str) -> int:
    """0 where the text is the name or its last part, 1 where a part begins with it, 2 where it lies elsewhere."""
    name, text = name.lower(), text.lower()
    if name == text or name.endswith(f".{text}"):
        return 0
    return 1 if re.search(rf"(?<![^\W_]){re.escape(text)}", name) else 2


def _matching(rows: QuerySet[Any], field: str, text: str) -> dict[int, str]:
    """The names that hold the text, by id; of very many, those that rank best and some of the others.

    A statement reads an index of names in order and ends early where many match.
    """
    pairs = rows.order_by(field).values_list("pk", field)
    names = dict(pairs.filter(**{f"{field}__icontains": text})[:MOST_RANKED])
    if len(names) == MOST_RANKED:
        same = Q(**{f"{field}__iexact": text}) | Q(**{f"{field}__iendswith": f".{text}"})
        begins = Q(**{f"{field}__istartswith": text})
        for separator in SEPARATORS:
            begins |= Q(**{f"{field}__icontains": separator + text})
        names |= dict(pairs.filter(begins)[:MOST_RANKED]) | dict(pairs.filter(same)[:MOST_RANKED])
    return names


def _best(names: Mapping[int, str], text: str, most: int, first: Collection[int] = ()) -> list[int]:
    return sorted(names, key=lambda pk: (rank(names[pk], text), pk not in first, names[pk].lower(), pk))[:most]


def _datasets(text: str, hidden: Collection[int], most: int) -> Iterable[Hit]:
    names = _matching(Dataset.objects.exclude(pk__in=hidden), "full_name", text)
    still_open = Incident.objects.filter(resolved_at__isnull=True, dataset__in=list(names)).order_by()
    counts = dict(still_open.values_list("dataset").annotate(Count("pk")))
    for pk in _best(names, text, most, first=counts):
        address = reverse("dataset", args=[names[pk]])
        yield Hit(kind=HitKind.DATASET, name=names[pk], address=address, open_incidents=counts.get(pk, 0))


def _incidents(text: str, hidden: Collection[int], most: int) -> Iterable[Hit]:
    """The open ones by dataset or category, the newest first; by its number any."""
    rows = Incident.objects.exclude(dataset__in=hidden)
    number = text.removeprefix("#")
    holds_text = Q(dataset__full_name__icontains=text) | Q(category__icontains=text)
    by_number = (
        rows.filter(pk=int(number)) if number.isascii() and number.isdigit() and len(number) < 18 else rows.none()
    )
    by_name = rows.filter(holds_text, resolved_at__isnull=True).order_by("-detected_at", "-pk")
    values = ("pk", "category", "dataset__full_name")
    for pk, category, dataset in [*by_number.values_list(*values), *by_name.values_list(*values)][:most]:
        address = reverse("incident", args=[pk])
        yield Hit(kind=HitKind.INCIDENT, name=f"#{pk} {plain(category)}", address=address, dataset=dataset)


def _columns(text: str, hidden: Collection[int], most: int) -> Iterable[Hit]:
    """Each name once; that of one dataset leads to its columns, that of several to the catalogue."""
    names = _matching(ColumnName.objects.all(), "name", text)
    uses = ColumnName.datasets.through.objects.exclude(dataset__in=hidden).order_by()
    best = _best(names, text, most + MOST_RANKED if hidden else most)
    counted = uses.filter(columnname__in=best).values_list("columnname").annotate(Count("pk"), Min("dataset"))
    counts = {pk: (many, dataset) for pk, many, dataset in counted}
    datasets = Dataset.objects.in_bulk([dataset for many, dataset in counts.values() if many == 1])
    for pk in [pk for pk in best if pk in counts][:most]:
        many, first = counts[pk]
        dataset = datasets[first].full_name if many == 1 else ""
        address = reverse("columns", args=[dataset]) if dataset else reverse("catalogue")
        query = urlencode({"column": names[pk]})
        anchor = "#chosen" if dataset else ""
        hit = {"name": names[pk], "dataset": dataset, "datasets": many}
        yield Hit(kind=HitKind.COLUMN, address=f"{address}?{query}{anchor}", **hit)


def _owners(text: str, hidden: Collection[int], most: int) -> Iterable[Hit]:
    for name, many in _people("owner", text, hidden, most):
        address = f"{reverse('catalogue')}?{urlencode({'owner': name})}"
        yield Hit(kind=HitKind.OWNER, name=name, address=address, datasets=many)


def _teams(text: str, hidden: Collection[int], most: int) -> Iterable[Hit]:
    for name, many in _people("team", text, hidden, most):
        yield Hit(kind=HitKind.TEAM, name=name, address=reverse("team", args=[name]), datasets=many)


def _people(field: str, text: str, hidden: Collection[int], most: int) -> list[tuple[str, int]]:
    rows = Dataset.objects.exclude(pk__in=hidden).filter(**{f"{field}__icontains": text}).order_by(field)
    counted = list(rows.values_list(field).annotate(Count("pk"))[:MOST_RANKED])
    return sorted(counted, key=lambda pair: (rank(pair[0], text), pair[0].lower()))[:most]


def _tests(text: str, hidden: Collection[int], most: int) -> Iterable[Hit]:
    """Those that people wrote; what Assay writes has the same names on every dataset."""
    rows = DataTest.objects.filter(origin=Origin.USER, retired_at__isnull=True).exclude(dataset__in=hidden)
    names = _matching(rows, "name", text)
    best = _best(names, text, most)
    datasets = dict(rows.filter(pk__in=best).values_list("pk", "dataset__full_name"))
    for pk in best:
        address = f"{reverse('dataset', args=[datasets[pk]])}?test={pk}#plot"
        yield Hit(kind=HitKind.TEST, name=names[pk], address=address, dataset=datasets[pk])


def declares_column(name: str) -> Q:
    """Of datasets those that declare a column of this name, in whatever case."""
    return Q(column_names__name_key=name_key(name))


def matching_datasets(text: str) -> QuerySet[Dataset]:
    """The datasets of which each word of a text is in the name, the owner or the team."""
    rows = Dataset.objects.all()
    for word in text.split():
        rows = rows.filter(Q(full_name__icontains=word) | Q(owner__icontains=word) | Q(team__icontains=word))
    return rows
