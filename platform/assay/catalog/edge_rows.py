"""Write the edges of the lineage: what each source tells of them, and the edge that follows, which stages read."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q

from assay.database.name_keys import name_key
from assay.database.statements import in_parts, insert_rows, rows_in, update_each
from assay.models import Dataset, EdgeTelling, LineageEdge, Source

from .dataset_rows import Sources, sources_in_order
from .edges import EdgeFlags, MissedEdge, aged_edges, merge_flags, subject_of
from .locations import PUSHED
from .profile import LineageProfile
from .tellings import OPENLINEAGE

COMPARED = ("one_to_one", "sampled", "keys")  # what standard tests are made of
FLAGS = (*COMPARED, "columns")
SEEN_EVERY = timedelta(days=1)

Pair = tuple[str, str]  # the keys of the names of an upstream and its downstream


class UnableToDraw(Exception):
    """Edges whose ends no source tells of."""


def write_edges(
    edges: Sequence[LineageProfile],
    *,
    source: str,
    full: bool,
    ends: bool = False,
    created: Collection[str] = (),
    now: datetime,
) -> set[str]:
    """Write the edges of a catalog file, a push or a provider; the full names of downstreams whose edges changed.

    What ``full`` leaves out ends at once if it is of a file, or ``ends`` says so; that of a provider begins to age. A
    provider's edge waits until both of its ends are datasets: those that have waited for the ``created`` ones, by their
    keys, are written too. Raises UnableToDraw for others.
    """
    is_provider = source in sources_in_order().providers
    if not is_provider:
        _refuse_unknown(edges)
    rows = stored_edges(source, None if full else {name_key(edge.downstream) for edge in edges})
    waiting = edges_at(created)
    pairs = _write_tellings(edges, rows, source=source, now=now)
    if source != PUSHED and not is_provider:  # whoever keeps an edge in a file may end it there
        pushed = stored_edges(PUSHED, {down for _, down in pairs})
        _delete(pushed[pair] for pair in pairs & pushed.keys())
    changed = {pair for pair in pairs if pair not in rows or rows[pair].is_changed}
    gone = {pair: rows[pair] for pair in rows.keys() - pairs} if full else {}
    if ends or not is_provider:
        _delete(gone.values())
    else:
        _miss(gone.values(), now)
        EdgeTelling.objects.filter(source=source, missed_since__isnull=True).update(seen_at=now)
        Source.objects.filter(name=source).update(read_at=now)
    return derive_edges(changed | gone.keys() | waiting)


def hear_edges(
    edges: Sequence[LineageProfile],
    *,
    written: Collection[str],
    without_columns: Collection[str],
    now: datetime,
) -> set[str]:
    """Write the edges that an event tells of; as ``write_edges``. Others of what it has ``written`` begin to age.

    An event of a run need not repeat what an earlier one said: the edges into those ``without_columns`` keep theirs.
    """
    rows = stored_edges(OPENLINEAGE, {name_key(name) for name in [*written, *(edge.downstream for edge in edges)]})
    edges = [_with_stored(edge, rows) if edge.downstream in without_columns else edge for edge in edges]
    pairs = _write_tellings(edges, rows, source=OPENLINEAGE, now=now)
    downs = {down for _, down in pairs} & {name_key(name) for name in written}
    _miss((row for pair, row in rows.items() if pair[1] in downs and pair not in pairs), now)
    old = [rows[pair].pk for pair in pairs & rows.keys() if rows[pair].seen_at <= now - SEEN_EVERY]
    EdgeTelling.objects.filter(pk__in=old).update(seen_at=now)
    return derive_edges({pair for pair in pairs if pair not in rows or rows[pair].is_changed})


def _with_stored(edge: LineageProfile, rows: Mapping[Pair, EdgeTelling]) -> LineageProfile:
    row = rows.get((name_key(edge.upstream), name_key(edge.downstream)))
    return edge if row is None else replace(edge, keys=row.keys, columns=row.columns)


def stored_edges(source: str, downstreams: Collection[str] | None = None) -> dict[Pair, EdgeTelling]:
    """What a source tells of edges: of all, or of those into the datasets of these keys."""
    rows = EdgeTelling.objects.filter(source=source)
    return {row.pair: row for row in (rows if downstreams is None else rows_in(rows, "downstream_key", downstreams))}


def _refuse_unknown(edges: Sequence[LineageProfile]) -> None:
    ends = {name_key(name): name for edge in edges for name in (edge.upstream, edge.downstream)}
    stored = {row.name_key for row in rows_in(Dataset.objects.only("name_key"), "name_key", ends.keys())}
    if unknown := sorted(ends[key] for key in ends.keys() - stored):
        raise UnableToDraw(f"lineage names datasets that the catalog lacks: {', '.join(unknown)}; tell of them first")


def _write_tellings(
    edges: Sequence[LineageProfile], rows: dict[Pair, EdgeTelling], *, source: str, now: datetime
) -> set[Pair]:
    """Write what differs from ``rows``, each of which then says whether it is changed; the pairs of all edges."""
    created, changed, pairs = {}, [], set()
    for edge in edges:
        pair = name_key(edge.upstream), name_key(edge.downstream)
        values = {
            "one_to_one": edge.one_to_one,
            "sampled": edge.sampled,
            "keys": dict(edge.keys),
            "columns": {name: list(columns) for name, columns in edge.columns.items()},
        }
        if pair[0] == pair[1]:
            continue
        pairs.add(pair)
        row = rows.get(pair)
        if row is None:
            names = {"upstream": edge.upstream, "downstream": edge.downstream}
            keys = {"upstream_key": pair[0], "downstream_key": pair[1]}
            created[pair] = EdgeTelling(source=source, **names, **keys, **values, seen_at=now)
        elif row.missed_since is not None or any(getattr(row, name) != value for name, value in values.items()):
            row.is_changed = any(getattr(row, name) != value for name, value in values.items())
            vars(row).update(values, seen_at=now, missed_since=None)
            changed.append(row)
    insert_rows(created.values(), ignore_conflicts=True)  # events may race
    update_each(changed, (*FLAGS, "seen_at", "missed_since"))
    return pairs


def _miss(rows: Iterable[EdgeTelling], now: datetime) -> None:
    for part in in_parts(row.pk for row in rows if row.missed_since is None):
        EdgeTelling.objects.filter(pk__in=part).update(missed_since=now)


def _delete(rows: Iterable[EdgeTelling]) -> None:
    for part in in_parts(row.pk for row in rows):
        EdgeTelling.objects.filter(pk__in=part).delete()


# What follows of it.


def edges_at(keys: Collection[str]) -> set[Pair]:
    """The edges that begin or end at a dataset of these keys, by all that sources tell."""
    return {
        pair
        for part in in_parts(keys)
        for pair in EdgeTelling.objects.filter(Q(upstream_key__in=part) | Q(downstream_key__in=part)).values_list(
            "upstream_key", "downstream_key"
        )
    }


def tellings_into(downstreams: Collection[str], sources: Sources) -> dict[Pair, list[EdgeTelling]]:
    """What sources tell of the edges into the datasets of these keys, by edge: those that count first come first."""
    tellings = defaultdict[Pair, list[EdgeTelling]](list)
    for part in in_parts(downstreams):
        for row in EdgeTelling.objects.filter(downstream_key__in=part):
            tellings[row.pair].append(row)
    for rows in tellings.values():
        rows.sort(key=lambda row: (sources.rank(row.source), row.source))
    return tellings


def derive_edges(pairs: Collection[Pair]) -> set[str]:
    """Write what these edges come to by all that tell of them; the full names of downstreams for which they changed."""
    ups_by_down = defaultdict[str, set[str]](set)
    for up, down in pairs:
        ups_by_down[down].add(up)
    sources, touched = sources_in_order(), set[str]()
    for keys in in_parts(ups_by_down):
        touched |= _derive_part({key: ups_by_down[key] for key in keys}, sources)
    return touched


def _derive_part(ups_by_down: Mapping[str, Collection[str]], sources: Sources) -> set[str]:
    columns = ("pk", "name_key", "full_name", "primary_key")
    downs = {row.name_key: row for row in Dataset.objects.filter(name_key__in=ups_by_down).only(*columns)}
    ids = {
        key: pk
        for part in in_parts({up for down in downs for up in ups_by_down[down]})
        for key, pk in Dataset.objects.filter(name_key__in=part).values_list("name_key", "pk")
    }
    tellings = tellings_into(downs, sources)
    stored = {
        (edge.upstream_id, edge.downstream_id): edge
        for edge in LineageEdge.objects.filter(downstream__name_key__in=downs)
    }
    touched, created, changed, gone = set(), [], [], []
    for down, downstream in downs.items():
        for up in ids.keys() & ups_by_down[down]:
            edge = stored.get((ids[up], downstream.pk))
            if not (rows := tellings.get((up, down))):
                gone += [edge.pk] if edge else []
                touched |= {downstream.full_name} if edge else set()
                continue
            flags = merge_flags([(row.source, _flags_of(row)) for row in rows], downstream.primary_key)
            values = {**vars(flags), "source": rows[0].source}
            if edge is None:
                created.append(LineageEdge(upstream_id=ids[up], downstream=downstream, **values))
                touched.add(downstream.full_name)
            elif differing := {name for name, value in values.items() if getattr(edge, name) != value}:
                vars(edge).update(values)
                changed.append(edge)
                touched |= {downstream.full_name} if differing & {*COMPARED} else set()
    insert_rows(created, ignore_conflicts=True)
    update_each(changed, (*FLAGS, "source"))
    for part in in_parts(gone):
        LineageEdge.objects.filter(pk__in=part).delete()
    return touched


def _flags_of(row: EdgeTelling) -> EdgeFlags:
    return EdgeFlags(**{name: getattr(row, name) for name in FLAGS})


def end_aged_edges() -> set[str]:
    """End what no source has told of for long; the full names of the downstreams whose edges changed."""
    fields = ("pk", "source", "downstream_key", "missed_since")
    missed = [
        MissedEdge(id=id_, source=source, subject=subject_of(source, down), missed_since=missed_since)
        for id_, source, down, missed_since in EdgeTelling.objects.filter(missed_since__isnull=False).values_list(
            *fields
        )
        if missed_since is not None
    ]
    if not missed:
        return set()
    counts = dict(EdgeTelling.objects.values_list("source").annotate(Count("pk")))
    read = Source.objects.filter(read_at__isnull=False).values_list("name", "read_at")
    heard_at = {(source, ""): read_at for source, read_at in read if read_at is not None}
    for part in in_parts({edge.subject for edge in missed if edge.subject}):
        rows = EdgeTelling.objects.filter(source=OPENLINEAGE, downstream_key__in=part).values("downstream_key")
        heard_at |= {(OPENLINEAGE, row["downstream_key"]): row["last"] for row in rows.annotate(last=Max("seen_at"))}
    aged = list(EdgeTelling.objects.filter(pk__in=aged_edges(missed, heard_at=heard_at, counts=counts)))
    _delete(aged)
    return derive_edges({row.pair for row in aged})
