"""Apply what an OpenLineage event tells: edges, columns, owners, drops and completions of datasets that are known."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from assay.catalog.openlineage import LineageEvent
from assay.catalog.selectors import home
from assay.catalog.services import mark_changed, record_completion
from assay.models import Dataset, LineageEdge

LONGEST_JOB = 200  # characters that a completion keeps of its job's name


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What an event led to; ``unknown`` are datasets that the catalog lacks, of which an event alone cannot tell."""

    edges: int
    completions: int
    unknown: tuple[str, ...]


@transaction.atomic
def apply_event(event: LineageEvent, *, now: datetime) -> Heard:
    """Write what the event tells of known datasets. An edge that is known keeps its flags."""
    datasets = (
        Dataset.objects.filter(full_name__in=_names(event)).prefetch_related("replicas").in_bulk(field_name="full_name")
    )
    touched = _apply_edges(event, datasets) | _apply_metadata(event, datasets)
    Dataset.objects.filter(full_name__in=event.dropped, missing_since__isnull=True).update(missing_since=now)
    mark_changed(touched | {name for name in event.dropped if name in datasets}, now)
    return Heard(
        edges=len(touched),
        completions=_complete(event, datasets, now),
        unknown=tuple(sorted(_names(event) - datasets.keys())),
    )


def _names(event: LineageEvent) -> set[str]:
    ends = {name for edge in event.lineage for name in (edge.upstream, edge.downstream)}
    return ends | {each.dataset for each in event.completed} | {*event.columns, *event.owners, *event.dropped}


def _apply_edges(event: LineageEvent, datasets: dict[str, Dataset]) -> set[str]:
    """Write the edges that are new; the names of their downstreams."""
    touched = set()
    for edge in event.lineage:
        if edge.upstream in datasets and edge.downstream in datasets:
            _, is_new = LineageEdge.objects.get_or_create(
                upstream=datasets[edge.upstream],
                downstream=datasets[edge.downstream],
                defaults={"source": "openlineage"},
            )
            touched |= {edge.downstream} if is_new else set()
    return touched


def _apply_metadata(event: LineageEvent, datasets: dict[str, Dataset]) -> set[str]:
    """Write columns where a dataset has none yet, and owners likewise: a catalog provider knows better."""
    touched = set()
    for name, dataset in datasets.items():
        columns = [{"name": column.name, "type": column.type} for column in event.columns.get(name, ())]
        told = {"columns": columns, "owner": event.owners.get(name, "")}
        news = {field: value for field, value in told.items() if value and not getattr(dataset, field)}
        if news:
            Dataset.objects.filter(pk=dataset.pk).update(**news)
            touched.add(name)
    return touched


def _complete(event: LineageEvent, datasets: dict[str, Dataset], now: datetime) -> int:
    """Record the completed windows; without one, the partition that was last to end."""
    count = 0
    for each in event.completed:
        dataset = datasets.get(each.dataset)
        window = each.window
        if dataset and window is None and dataset.partitioning:
            window = dataset.partitioning.previous(dataset.partitioning.at(event.at))[0]
        if dataset and window:
            place = home(dataset).datacenter
            record_completion(
                dataset=dataset, datacenter=place, window=window, pipeline=event.job[:LONGEST_JOB], now=now
            )
            count += 1
    return count
