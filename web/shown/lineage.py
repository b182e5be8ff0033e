"""The neighbourhood of a dataset in the lineage, laid out in columns, with how each of its datasets stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from assay.models import Dataset, LineageEdge
from incident_manager.quality.now import statuses_now

from .status import LOOKS, WORDS, ShownStatus

HOPS = 3
LARGEST = 80

Neighbours = Mapping[int, list[int]]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A dataset and its place: ``column`` counts hops, negative upstream."""

    id: int
    name: str
    tier: int
    status: ShownStatus
    column: int
    row: int

    @property
    def word(self) -> str:
        """Its status in a word."""
        return str(WORDS[self.status])


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What lies up to three hops up and down of a dataset."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int, bool, dict[str, str]], ...]  # upstream, downstream, one-to-one, names of key columns

    def to_json(self) -> dict[str, object]:
        """The graph for a script that draws it."""
        nodes = [
            {
                "id": n.id,
                "name": n.name,
                "tier": n.tier,
                "status": LOOKS.get(n.status, n.status),
                "word": n.word,
                "x": n.column,
                "y": n.row,
            }
            for n in self.nodes
        ]
        return {"nodes": nodes, "edges": [list(edge[:3]) for edge in self.edges]}


def lineage(dataset: Dataset, *, now: datetime) -> Graph:
    """The graph around ``dataset``, in five statements; beyond 80 datasets the farthest are left out."""
    edges = list(LineageEdge.objects.values_list("upstream_id", "downstream_id", "one_to_one", "keys"))
    up: dict[int, list[int]] = {}
    down: dict[int, list[int]] = {}
    for upstream, downstream, *_ in edges:
        up.setdefault(downstream, []).append(upstream)
        down.setdefault(upstream, []).append(downstream)
    columns = {**hops(dataset.pk, up, -1), **hops(dataset.pk, down, 1), dataset.pk: 0}
    kept = sorted(columns, key=lambda node: (abs(columns[node]), node))[:LARGEST]
    inside = tuple(edge for edge in edges if edge[0] in kept and edge[1] in kept)
    return Graph(nodes=_nodes({node: columns[node] for node in kept}, now), edges=inside)


def hops(start: int, neighbours: Neighbours, direction: int) -> dict[int, int]:
    """How many hops away each dataset lies that can be reached in three; a cycle ends where it began."""
    found, reached = {start: 0}, [start]
    for hop in range(1, HOPS + 1):
        reached = [next_ for node in reached for next_ in neighbours.get(node, []) if next_ not in found]
        found |= dict.fromkeys(reached, hop * direction)
    return found


def _nodes(columns: Mapping[int, int], now: datetime) -> tuple[Node, ...]:
    datasets = list(Dataset.objects.filter(pk__in=columns).order_by("full_name"))
    statuses = statuses_now({dataset.pk: dataset.full_name for dataset in datasets}, now=now)
    heights: dict[int, int] = {}
    nodes = []
    for dataset in datasets:
        column = columns[dataset.pk]
        row = heights.get(column, 0)
        heights[column] = row + 1
        status = ShownStatus(statuses[dataset.pk].value)
        nodes.append(
            Node(id=dataset.pk, name=dataset.full_name, tier=dataset.tier, status=status, column=column, row=row)
        )
    return tuple(nodes)
