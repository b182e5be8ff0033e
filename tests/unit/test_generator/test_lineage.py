"""Walks through the lineage, checked against networkx where they are more than one step."""

import networkx
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog.profile import LineageProfile
from test_generator.lineage import (
    direct_downstreams,
    direct_upstreams,
    one_to_one_upstreams,
    sampled_upstreams,
    upstream_closure,
)

EDGES = (
    LineageProfile(upstream="app", downstream="raw", sampled=True),
    LineageProfile(upstream="raw", downstream="mart", one_to_one=True),
    LineageProfile(upstream="geo", downstream="mart"),
    LineageProfile(upstream="mart", downstream="report"),
    LineageProfile(upstream="mart", downstream="mart"),
)


def test_only_edges_of_the_right_kind_are_followed() -> None:
    assert one_to_one_upstreams("mart", EDGES) == ("raw",)
    assert sampled_upstreams("raw", EDGES) == ("app",)
    assert direct_upstreams("mart", EDGES) == ("geo", "raw")
    assert direct_downstreams("mart", EDGES) == ("report",)


def test_the_nearest_upstreams_come_first() -> None:
    assert upstream_closure("report", EDGES) == ("mart", "geo", "raw", "app")
    assert upstream_closure("app", EDGES) == ()


def test_a_cycle_ends() -> None:
    ring = tuple(LineageProfile(upstream=a, downstream=b) for a, b in ("ab", "bc", "ca"))
    assert upstream_closure("a", ring) == ("c", "b")


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30))
def test_the_closure_is_every_ancestor(pairs: list[tuple[int, int]]) -> None:
    graph = networkx.DiGraph([(str(a), str(b)) for a, b in pairs])
    graph.add_node("0")
    edges = [LineageProfile(upstream=a, downstream=b) for a, b in graph.edges]
    assert set(upstream_closure("0", edges)) == networkx.ancestors(graph, "0")
