"""A lineage laid out to be drawn: a column of boxes for each hop, and the lines between them."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby

from .lineage import Graph, LineageNode, hops
from .status import RANK, DisplayStatus

BOX_WIDTH, COLUMN_GAP, ROW_GAP = 208, 40, 10  # pixels, as the style sheet has them
MOST_BOXES = 6  # of a folded column
MOST_CALM = 3  # more of a folded column that are well are one box
UNFOLDED = 100  # boxes that a column has more, each time it is unfolded


@dataclass(frozen=True, kw_only=True)
class Box:
    """A dataset; without a ``node`` the ``count`` folded ones of its column that stand alike."""

    node: LineageNode | None
    status: DisplayStatus
    is_on_path: bool
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Column:
    """The boxes of one hop, negative upstream, the worst first. Unfolded further it would have up to ``more``."""

    hop: int
    boxes: tuple[Box, ...]
    more: int

    @property
    def steps(self) -> int:
        """How far it lies from the dataset, up or down."""
        return abs(self.hop)


@dataclass(frozen=True, kw_only=True)
class Line:
    """The path of a line, as SVG writes it."""

    path: str
    is_on_path: bool


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What is drawn, with its size in pixels."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    width: int
    height: int


def lay_out(
    graph: Graph, *, depth: int, unfolded: int | None = None, most: int = 0, chain: Collection[int] = (), height: int
) -> Drawing:
    """The columns up to ``depth`` hops, and beyond them what is on the path of what is bad.

    A column is folded to a few boxes, of which the worst are datasets; the ``unfolded`` one to ``most``. On the path is
    the ``chain`` of a known cause and its effects, in place of what may be. ``height`` is that of a box in pixels.
    """
    path = set(chain or bad_path(graph))
    by_hop = defaultdict[int, list[LineageNode]](list)
    for node in graph.nodes:
        if abs(node.column) <= depth or node.id in path:
            by_hop[node.column].append(node)
    neighbours = defaultdict[int, list[int]](list)
    for upstream, downstream in graph.edges:
        neighbours[upstream].append(downstream)
        neighbours[downstream].append(upstream)
    rows, columns = dict[int, int](), dict[int, Column]()
    for hop in sorted(by_hop, key=abs):  # from the dataset outwards, so that each lies beside what it is joined to
        ordered = sorted(by_hop[hop], key=lambda node: _place(node, graph.here, path, rows, neighbours[node.id]))
        limit = most if hop == unfolded else 0
        boxes: list[Box] = []
        for group in _groups(ordered, limit):
            rows |= {node.id: len(boxes) for node in group}
            is_on_path = any(node.id in path for node in group)
            single = group[0] if len(group) == 1 else None
            boxes.append(Box(node=single, status=group[0].status, is_on_path=is_on_path, count=len(group)))
        columns[hop] = Column(hop=hop, boxes=tuple(boxes), more=limit + UNFOLDED)
    places = {hop: number * (BOX_WIDTH + COLUMN_GAP) for number, hop in enumerate(sorted(columns))}
    tops = {node.id: rows[node.id] * (height + ROW_GAP) for nodes in by_hop.values() for node in nodes}
    lefts = {node.id: places[hop] for hop, nodes in by_hop.items() for node in nodes}
    return Drawing(
        columns=tuple(columns[hop] for hop in sorted(columns)),
        lines=tuple(_lines(graph, path, lefts, tops, height // 2)),
        width=len(columns) * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP,
        height=max(len(column.boxes) for column in columns.values()) * (height + ROW_GAP) - ROW_GAP,
    )


def bad_path(graph: Graph, hidden: Collection[int] = ()) -> dict[int, int]:
    """The hops to each dataset from which what is bad here may come, or which it may have made bad.

    It leads along bad ones alone, and through none that is ``hidden``.
    """
    bad = {node.id for node in graph.nodes if node.status is DisplayStatus.BAD}.difference(hidden)
    if graph.here not in bad:
        return {}
    up, down = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for upstream, downstream in graph.edges:
        if upstream in bad and downstream in bad:
            up[downstream].append(upstream)
            down[upstream].append(downstream)
    path = {**hops(graph.here, up, -1, most=len(up)), **hops(graph.here, down, 1, most=len(down)), graph.here: 0}
    return path if len(path) > 1 else {}


def _place(
    node: LineageNode, here: int, path: Collection[int], rows: dict[int, int], neighbours: list[int]
) -> tuple[bool, bool, int, float, str]:
    """The order within a column: the dataset itself, the path, the worst, and beside what it is joined to."""
    joined = [rows[neighbour] for neighbour in neighbours if neighbour in rows]
    mean = sum(joined) / len(joined) if joined else 0.0
    return node.id != here, node.id not in path, RANK[node.status], mean, node.name


def _is_calm(node: LineageNode) -> bool:
    return RANK[node.status] >= RANK[DisplayStatus.WAIVED]


def _groups(ordered: list[LineageNode], most: int) -> Iterator[list[LineageNode]]:
    """What has a box of its own, then the others by their status."""
    calm = sum(map(_is_calm, ordered))
    count = most or min(MOST_BOXES, len(ordered) if calm <= MOST_CALM else len(ordered) - calm)
    count = max(count, 1 if ordered[0].column == 0 else 0)
    yield from ([node] for node in ordered[:count])
    folded = sorted(ordered[count:], key=lambda node: RANK[node.status])
    yield from (list(group) for _, group in groupby(folded, key=lambda node: node.status))


def _lines(
    graph: Graph, path: Collection[int], lefts: dict[int, int], tops: dict[int, int], middle: int
) -> Iterator[Line]:
    """One from each box to each other that is joined to it, those on the path last, and so above the others."""
    on_path, bend = dict[str, bool](), COLUMN_GAP // 2
    for upstream, downstream in graph.edges:
        if upstream in lefts and downstream in lefts:
            x, to_x = lefts[upstream] + BOX_WIDTH, lefts[downstream]
            y, to_y = tops[upstream] + middle, tops[downstream] + middle
            text = f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
            on_path[text] = on_path.get(text, False) or (upstream in path and downstream in path)
    for text in sorted(on_path, key=on_path.__getitem__):
        yield Line(path=text, is_on_path=on_path[text])
