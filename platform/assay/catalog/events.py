"""Apply what an OpenLineage event tells: edges, columns, owners, drops and completions of datasets that are known."""

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction

from assay.database.name_keys import name_key, name_keys
from assay.models import Dataset, LineageEdge, Telling, WriteMode

from .dataset_rows import stored_tellings, write_datasets, write_tellings
from .openlineage import LineageEvent
from .selectors import by_names, home
from .services import mark_changed, record_completion
from .tellings import OPENLINEAGE, TableTelling, fields_from_json

SEEN_EVERY = timedelta(days=1)
LONGEST_NAME = 120  # characters of a namespace, and of a name in it
AGED_AFTER = timedelta(days=14)
MOST_SHARE_AGED = 0.1  # of all edges of events, at once; one always may go
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
    touched = _apply_edges(event, datasets) | _write_tellings(event, now)
    ended = _end_aged_edges(event, datasets, now)
    dropped = Dataset.objects.filter(name_key__in=name_keys(event.dropped), missing_since__isnull=True)
    # a job ends no limits: only the catalog file that gives a dataset readers or marks may leave it out
    dropped.filter(readers="", is_limited=False).update(missing_since=now)
    mark_changed(touched | ended | {name for name in event.dropped if name in datasets}, now)
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


def _apply_edges(event: LineageEvent, datasets: dict[str, Dataset]) -> set[str]:
    """Write the edges that are new, and key columns that are renamed on the way where the edge had none yet.

    Gives the names of their downstreams.
    """
    names: dict[tuple[int, int], str] = {}
    keys: dict[tuple[int, int], dict[str, str]] = {}
    for edge in event.lineage:
        upstream, downstream = datasets.get(edge.upstream), datasets.get(edge.downstream)
        if upstream and downstream and upstream != downstream:
            pair = upstream.pk, downstream.pk
            names[pair] = edge.downstream
            keys[pair] = {own: name for own, name in edge.keys.items() if own in downstream.primary_key}
    if not names:
        return set()
    ends = {"upstream__in": {upstream for upstream, _ in names}, "downstream__in": {down for _, down in names}}
    rows = {(row.upstream_id, row.downstream_id): row for row in LineageEdge.objects.filter(**ends)}
    LineageEdge.objects.bulk_create(
        (
            LineageEdge(upstream_id=pair[0], downstream_id=pair[1], source=OPENLINEAGE, keys=keys[pair])
            for pair in names
            if pair not in rows
        ),
        ignore_conflicts=True,
    )
    renamed = {pair for pair in names if keys[pair] and pair in rows and not rows[pair].keys}
    for pair in renamed:
        LineageEdge.objects.filter(pk=rows[pair].pk).update(keys=keys[pair])
    return {names[pair] for pair in (names.keys() - rows.keys()) | renamed}


def _end_aged_edges(event: LineageEvent, datasets: dict[str, Dataset], now: datetime) -> set[str]:
    """Delete edges of events that none has said for two weeks in which their downstream was written; its names.

    An event without inputs does not say from what it has written.
    """
    upstreams: dict[str, set[str]] = defaultdict(set)
    for edge in event.lineage:
        upstreams[edge.downstream].add(edge.upstream)
    written = {part.dataset for part in event.completed} & upstreams.keys() & datasets.keys()
    names = {datasets[name].pk: name for name in written}
    ids = {datasets[name].pk: {datasets[up].pk for up in upstreams[name] & datasets.keys()} for name in written}
    rows = list(LineageEdge.objects.filter(downstream__in=names, source=OPENLINEAGE))
    missed = [row for row in rows if row.upstream_id not in ids[row.downstream_id]]
    back = [row.pk for row in rows if row.upstream_id in ids[row.downstream_id] and row.missed_since is not None]
    LineageEdge.objects.filter(pk__in=back).update(missed_since=None)
    LineageEdge.objects.filter(pk__in=[row.pk for row in missed], missed_since__isnull=True).update(missed_since=now)
    dated = sorted((row.missed_since, row.pk, row.downstream_id) for row in missed if row.missed_since is not None)
    aged = [(pk, names[downstream]) for since, pk, downstream in dated if since <= now - AGED_AFTER]
    if not aged:
        return set()
    most = max(1, int(MOST_SHARE_AGED * LineageEdge.objects.filter(source=OPENLINEAGE).count()))
    LineageEdge.objects.filter(pk__in=[pk for pk, _ in aged[:most]]).delete()
    return {name for _, name in aged[:most]}
