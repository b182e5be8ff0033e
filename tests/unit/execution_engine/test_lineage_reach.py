"""What stands on what: counted by words of bits, compared with networkx."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.lineage import reach
from execution_engine.lineage.reach import Graph, Reach, count_parts, questions, reach_of

SIZE = 12
EDGES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).filter(lambda pair: pair[0] != pair[1]))


def traced(edges: list[tuple[int, int]], tiers: list[int]) -> Reach:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    graph = Graph(upstreams=ends[:, 0], downstreams=ends[:, 1], tiers=np.array(tiers, np.int64))
    down, up = questions(graph)
    return reach_of(graph, down, up, count_parts(down, down.parts), count_parts(up, up.parts))


def expected(edges: list[tuple[int, int]], tiers: list[int]) -> tuple[list[list[int]], list[int]]:
    graph = networkx.DiGraph(edges)
    graph.add_nodes_from(range(len(tiers)))
    below = [networkx.descendants(graph, node) for node in range(len(tiers))]
    roots = {node for node, degree in graph.in_degree() if degree == 0}
    by_tier = [[sum(tiers[node] == tier for node in nodes) for tier in range(max(tiers) + 1)] for nodes in below]
    return by_tier, [len(networkx.ancestors(graph, node) & roots) for node in range(len(tiers))]


@given(EDGES, st.lists(st.integers(0, 5), min_size=SIZE, max_size=SIZE))
def test_what_stands_on_each_dataset_of_any_graph_is_what_networkx_finds(
    edges: list[tuple[int, int]], tiers: list[int]
) -> None:
    result = traced(edges, tiers)
    assert (result.by_tier.T.tolist(), result.roots.tolist()) == expected(edges, tiers)


def test_a_graph_of_several_parts_and_blocks_is_counted_as_one_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    edges = [(int(a), int(b)) for a, b in draw.integers(0, 300, (900, 2)) if a < b or a % 50 == 1]
    tiers = draw.integers(0, 3, 300).tolist()
    monkeypatch.setattr(reach, "PART", 70)
    monkeypatch.setattr(reach, "BLOCK", 7)
    result = traced(edges, tiers)
    assert (result.by_tier.T.tolist(), result.roots.tolist()) == expected(edges, tiers)


def test_tables_in_a_circle_stand_on_each_other_and_on_no_root() -> None:
    result = traced([(0, 1), (1, 2), (2, 0), (2, 3)], [0, 0, 0, 1])
    assert result.by_tier.T.tolist() == [[2, 1], [2, 1], [2, 1], [0, 0]]
    assert (result.roots.tolist(), result.depths.tolist()) == ([0, 0, 0, 0], [0, 0, 0, 1])
