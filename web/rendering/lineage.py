"""The neighbourhood of a dataset in the lineage: its datasets by their hops, with how each stands."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.catalog.dataset_rows import sources_in_order
from assay.catalog.edge_rows import tellings_into
from assay.catalog.edges import ANY, Columns
from assay.database.name_keys import name_key
from assay.database.statements import in_parts
from assay.models import Dataset, EdgeTelling, LineageEdge
from incident_manager.quality.now import statuses_now

from .status import DisplayStatus

HOPS = 3
LARGEST = 1000


@dataclass(frozen=True, kw_only=True)
class LineageNode:
    """A dataset and its place: ``column`` counts hops, negative upstream."""

    id: int
    name: str
    tier: int
    status: DisplayStatus
    column: int


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The datasets around the one whose id is ``here``."""

    here: int
    nodes: tuple[LineageNode, ...]
    edges: tuple[tuple[int, int], ...]  # upstream, downstream


def lineage(
    dataset: Dataset,
    *,
    now: datetime,
    root: int | None = None,
    effects: Collection[int] = (),
    up_to: int = HOPS,
    down_to: int = HOPS,
) -> Graph:
    """What lies so many hops up and down of ``dataset``; beyond 1,000 datasets the farthest are left out.

    The dataset of a ``root`` cause and those of its ``effects`` are in it however far they lie, each as many hops from
    ``dataset`` as it is farther down from the root.
    """
    edges = list(LineageEdge.objects.values_list("upstream_id", "downstream_id"))
    up, down = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for upstream, downstream in edges:
        up[downstream].append(upstream)
        down[upstream].append(downstream)
    columns = {**hops(dataset.pk, up, -1, most=up_to), **hops(dataset.pk, down, 1, most=down_to), dataset.pk: 0}
    chain = set() if root is None else {root, *effects}
    if root is not None:
        steps = hops(root, down, 1, most=len(down))
        columns = {id_: steps.get(id_, 1) - steps.get(dataset.pk, 1) for id_ in chain} | columns
    nearest = set(sorted(columns, key=lambda id_: (id_ not in chain, abs(columns[id_]), id_))[:LARGEST])
    rows = list(Dataset.objects.filter(pk__in=nearest).order_by("full_name"))
    statuses = statuses_now({row.pk: row.full_name for row in rows}, now=now)
    nodes = tuple(
        LineageNode(
            id=row.pk,
            name=row.full_name,
            tier=row.tier,
            status=DisplayStatus(statuses[row.pk].value),
            column=columns[row.pk],
        )
        for row in rows
    )
    inside = tuple(edge for edge in edges if edge[0] in nearest and edge[1] in nearest)
    return Graph(here=dataset.pk, nodes=nodes, edges=inside)


def hops(start: int, neighbours: Mapping[int, list[int]], direction: int, *, most: int = HOPS) -> dict[int, int]:
    """How many hops away each dataset lies that can be reached in so many; a cycle ends where it began."""
    columns, reached = {start: 0}, {start}
    for hop in range(1, most + 1):
        reached = {next_ for node in reached for next_ in neighbours.get(node, []) if next_ not in columns}
        columns |= dict.fromkeys(reached, hop * direction)
    return columns


# The edges, with all that sources tell of them.


@dataclass(frozen=True, kw_only=True)
class EdgeFacts:
    """An edge by its names; it has no ``keys`` and ``columns`` where the reader may not see one of its ends."""

    upstream: str
    downstream: str
    one_to_one: bool
    keys: Mapping[str, str]
    columns: Columns  # without what all of it is made of
    all_columns: Sequence[str]  # upstream, which all of it is made of
    sources: Sequence[EdgeTelling]  # those that count first come first


def edges_with_facts(graph: Graph, *, hidden: Collection[int], at: int | None = None) -> list[EdgeFacts]:
    """The edges of a graph, or those that begin or end at one dataset, by names."""
    names = {node.id: node.name for node in graph.nodes}
    pairs = {pair for pair in graph.edges if at is None or at in pair}
    ids = {downstream for _, downstream in pairs}
    tellings = tellings_into({name_key(names[id_]) for id_ in ids}, sources_in_order())
    facts = []
    for edge in (row for part in in_parts(ids) for row in LineageEdge.objects.filter(downstream__in=part)):
        if (pair := (edge.upstream_id, edge.downstream_id)) not in pairs:
            continue
        upstream, downstream = names[edge.upstream_id], names[edge.downstream_id]
        is_hidden = not set(hidden).isdisjoint(pair)
        columns = {} if is_hidden else edge.columns
        facts.append(
            EdgeFacts(
                upstream=upstream,
                downstream=downstream,
                one_to_one=edge.one_to_one,
                keys={} if is_hidden else edge.keys,
                columns={name: columns[name] for name in sorted(columns) if name != ANY},
                all_columns=columns.get(ANY, ()),
                sources=tellings.get((name_key(upstream), name_key(downstream)), ()),
            )
        )
    return sorted(facts, key=lambda edge: (edge.upstream, edge.downstream))
