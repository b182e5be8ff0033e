"""The neighbourhood of a dataset in the lineage, laid out in columns, with how each of its datasets stands."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from assay.models import Dataset, LineageEdge
from incident_manager.quality.now import statuses_now

from .status import LOOKS, WORDS, DisplayStatus

HOPS = 3
LARGEST = 80


@dataclass(frozen=True, kw_only=True)
class LineageNode:
    """A dataset and its place: ``column`` counts hops, negative upstream."""

    id: int
    name: str
    tier: int
    status: DisplayStatus
    column: int
    row: int


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What lies up to three hops up and down of a dataset."""

    nodes: tuple[LineageNode, ...]
    edges: tuple[tuple[int, int, bool, dict[str, str]], ...]  # upstream, downstream, one-to-one, names of key columns

    def to_json(self) -> dict[str, object]:
        """The graph for a script that draws it."""
        nodes = [
            {
                **{"id": node.id, "name": node.name, "tier": node.tier, "status": LOOKS.get(node.status, node.status)},
                **{"word": str(WORDS[node.status]), "x": node.column, "y": node.row},
            }
            for node in self.nodes
        ]
        return {"nodes": nodes, "edges": [list(edge[:3]) for edge in self.edges]}


def lineage(dataset: Dataset, *, now: datetime) -> Graph:
    """The graph around ``dataset``, in five statements; beyond 80 datasets the farthest are left out."""
    edges = list(LineageEdge.objects.values_list("upstream_id", "downstream_id", "one_to_one", "keys"))
    up, down = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for upstream, downstream, *_ in edges:
        up[downstream].append(upstream)
        down[upstream].append(downstream)
    columns = {**hops(dataset.pk, up, -1), **hops(dataset.pk, down, 1), dataset.pk: 0}
    nearest = sorted(columns, key=lambda node: (abs(columns[node]), node))[:LARGEST]
    rows = list(Dataset.objects.filter(pk__in=nearest).order_by("full_name"))
    statuses = statuses_now({row.pk: row.full_name for row in rows}, now=now)
    heights, nodes = Counter[int](), []
    for row in rows:
        column, status = columns[row.pk], DisplayStatus(statuses[row.pk].value)
        nodes.append(
            LineageNode(id=row.pk, name=row.full_name, tier=row.tier, status=status, column=column, row=heights[column])
        )
        heights[column] += 1
    inside = tuple(edge for edge in edges if edge[0] in nearest and edge[1] in nearest)
    return Graph(nodes=tuple(nodes), edges=inside)


def hops(start: int, neighbours: Mapping[int, list[int]], direction: int, *, most: int = HOPS) -> dict[int, int]:
    """How many hops away each dataset lies that can be reached in so many; a cycle ends where it began."""
    columns, reached = {start: 0}, {start}
    for hop in range(1, most + 1):
        reached = {next_ for node in reached for next_ in neighbours.get(node, []) if next_ not in columns}
        columns |= dict.fromkeys(reached, hop * direction)
    return columns
