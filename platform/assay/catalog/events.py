"""Apply what an OpenLineage event tells: edges, columns, owners, drops and completions of datasets that are known."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from assay.database.name_keys import name_key, name_keys
from assay.models import Dataset, Telling, WriteMode

from .dataset_rows import stored_tellings, write_datasets, write_tellings
from .edge_rows import SEEN_EVERY, hear_edges
from .openlineage import LineageEvent, with_columns_of_sql
from .selectors import by_names, home
from .services import mark_changed, record_completion
from .tellings import OPENLINEAGE, TableTelling, fields_from_json

LONGEST_NAME = 120  # characters of a namespace, and of a name in it
LONGEST_JOB = 200  # characters that a completion keeps of its job's name
LONGEST_RUN = 100  # and of its run's id


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What an event led to; ``unknown`` are datasets that the catalog lacks, of which an event alone cannot tell."""

    edges: int
    completions: int
    unknown: tuple[str, ...]


@transaction.atomic
def apply_event(event: LineageEvent, *, now: datetime) -> Heard:
    """Write what the event tells of known datasets. An edge that is known keeps its flags."""
    datasets = by_names(_names(event))
    columns = {name: [column["name"] for column in row.columns] for name, row in datasets.items()}
    event = with_columns_of_sql(event, columns)
    edges = [edge for edge in event.lineage if is_short(edge.upstream) and is_short(edge.downstream)]
    written = {part.dataset for part in event.completed}
    touched = hear_edges(edges, written=written, without_columns=event.without_columns, now=now)
    touched |= _write_tellings(event, now)
    dropped = Dataset.objects.filter(name_key__in=name_keys(event.dropped), missing_since__isnull=True)
    # a job ends no limits: only the catalog file that gives a dataset readers or marks may leave it out
    dropped.filter(readers="", is_limited=False).update(missing_since=now)
    mark_changed(touched | {name for name in event.dropped if name in datasets}, now)
    completions = 0
    for part in event.completed:
        completed, window = datasets.get(part.dataset), part.window
        if completed and window is None and completed.partitioning:  # the partition that was last to end
            window = completed.partitioning.previous(completed.partitioning.at(event.at))[0]
        if completed and window and completed.business_metric is None:  # a metric follows its sources
            record_completion(
                dataset=completed,
                datacenter=home(completed).datacenter,
                window=window,
                pipeline=event.job[:LONGEST_JOB],
                run=event.run[:LONGEST_RUN],
                rows=part.rows,
                mode=WriteMode.OVERWRITE if part.overwrites else "",
                now=now,
            )
            completions += 1
    return Heard(
        edges=len(touched),
        completions=completions,
        unknown=tuple(sorted(_names(event) - datasets.keys())),
    )


def _names(event: LineageEvent) -> set[str]:
    ends = {name for edge in event.lineage for name in (edge.upstream, edge.downstream)}
    return ends | {part.dataset for part in event.completed} | {*event.columns, *event.owners, *event.dropped}


def _write_tellings(event: LineageEvent, now: datetime) -> set[str]:
    """Write what the event tells of tables, whether they are datasets or not; the datasets that change.

    What it does not say stays as an earlier event has it. That an event names a table is noted once a day.
    """
    Telling.objects.filter(source=OPENLINEAGE, name_key__in=name_keys(event.dropped)).delete()
    names = {name_key(name): name for name in _names(event).difference(event.dropped) if is_short(name)}
    rows = stored_tellings(OPENLINEAGE, names)
    tables = []
    for key, name in names.items():
        namespace, _, short = name.rpartition(".")
        stored = fields_from_json(namespace, short, rows[key].fields) if key in rows else None
        before = stored or TableTelling(namespace=namespace, name=short)
        columns, owner = event.columns.get(name) or before.columns, event.owners.get(name) or before.owner
        tables.append(replace(before, columns=columns, owner=owner))
    written = write_tellings(tables, source=OPENLINEAGE, full=False, now=now)
    old = [row.pk for row in rows.values() if row.seen_at <= now - SEEN_EVERY]
    Telling.objects.filter(pk__in=old).update(seen_at=now)
    return {*write_datasets(written.changed, now=now).changed}


def is_short(name: str) -> bool:
    """Whether a row can hold both parts of the name."""
    return all(len(part) <= LONGEST_NAME for part in name.rpartition("."))
