"""Write the edges of the lineage: each has one source, which ends it, and gives way to a source that goes before it."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.database.name_keys import name_key
from assay.database.statements import IN_ONE, in_parts, update_each
from assay.models import Dataset, LineageEdge

from .dataset_rows import Sources, sources_in_order
from .profile import LineageProfile

FLAGS = ("one_to_one", "sampled", "keys")
UNOWNED = ("openlineage", "push")  # whose edges a catalog may take over

Pair = tuple[int, int]  # the ids of an upstream and its downstream


class UnableToDraw(Exception):
    """Edges that cannot be drawn, as an end is unknown or another source says otherwise."""


def write_edges(edges: Sequence[LineageProfile], *, source: str, full: bool) -> set[str]:
    """Write the edges of a source; the full names of the downstreams whose upstreams changed.

    A provider's edge waits until both of its ends are datasets. Raises UnableToDraw.
    """
    sources = sources_in_order()
    rows_of_names = Dataset.objects.values_list("name_key", "id", "full_name")
    ids, names = {key: id_ for key, id_, _ in rows_of_names}, {id_: name for _, id_, name in rows_of_names}
    fields = ("id", "upstream_id", "downstream_id", "source", *FLAGS)
    rows = {(row["upstream_id"], row["downstream_id"]): row for row in LineageEdge.objects.values(*fields)}
    values = {
        pair: flags
        for pair, flags in _flags(edges, ids, waits=source in sources.providers).items()
        if pair not in rows or sources.rank(rows[pair]["source"]) >= sources.rank(source)
    }
    touched = {
        pair
        for pair, flags in values.items()
        if pair not in rows or any(rows[pair][name] != value for name, value in flags.items())
    }
    foreign = {pair: rows[pair]["source"] for pair in values.keys() & rows.keys() if rows[pair]["source"] != source}
    yielding = {pair for pair, owner in foreign.items() if _yields(owner, source, sources)}
    if others := sorted(touched & foreign.keys() - yielding):
        clashes = "; ".join(f"{names[a]} to {names[b]} by {foreign[a, b]!r}" for a, b in others)
        raise UnableToDraw(f"other sources tell otherwise of lineage: {clashes}; keep each edge in one source")
    taken = yielding if source not in UNOWNED else set()  # whoever keeps an edge in a file may end it there
    written = [
        LineageEdge(
            pk=rows[pair]["id"] if pair in rows else None,
            upstream_id=pair[0],
            downstream_id=pair[1],
            source=source,
            **values[pair],
        )
        for pair in touched | taken
    ]
    LineageEdge.objects.bulk_create([edge for edge in written if edge.pk is None], batch_size=IN_ONE)
    update_each([edge for edge in written if edge.pk is not None], (*FLAGS, "source", "missed_since"))
    gone = {pair for pair, row in rows.items() if full and row["source"] == source and pair not in values}
    for part in in_parts(rows[pair]["id"] for pair in gone):
        LineageEdge.objects.filter(pk__in=part).delete()
    return {names[downstream] for _, downstream in touched | gone}


def _flags(edges: Sequence[LineageProfile], ids: Mapping[str, int], *, waits: bool) -> dict[Pair, dict[str, Any]]:
    """What is said of each edge by its ends; one with an unknown end is left out where it ``waits``."""
    flags: dict[Pair, dict[str, Any]] = {}
    unknown: set[str] = set()
    for edge in edges:
        upstream, downstream = ids.get(name_key(edge.upstream)), ids.get(name_key(edge.downstream))
        if upstream is not None and downstream is not None:
            flags[upstream, downstream] = {
                "one_to_one": edge.one_to_one,
                "sampled": edge.sampled,
                "keys": {**edge.keys},
            }
        unknown |= {edge.upstream} if upstream is None else set()
        unknown |= {edge.downstream} if downstream is None else set()
    if unknown and not waits:
        listed = ", ".join(sorted(unknown))
        raise UnableToDraw(f"lineage names datasets that the catalog lacks: {listed}; tell of them first")
    return flags


def _yields(owner: str, source: str, sources: Sources) -> bool:
    """Whether an edge of ``owner`` may become one of ``source``."""
    return owner in UNOWNED or sources.rank(owner) > sources.rank(source)
