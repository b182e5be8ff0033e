"""The stage *lineage*: what stands on each dataset, counted once a day, here or on Spark."""

from typing import Any

import networkx
import numpy as np
import pytest

from assay import clock
from assay.models import Dataset, LineageEdge, Round
from execution_engine.lineage import trace
from execution_engine.lineage.reach import Graph
from execution_engine.lineage.trace import trace_lineage
from execution_engine.models import BlastRadius
from tests.factories import DAY, NOW, DatasetFactory, LineageEdgeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def tables() -> dict[str, Dataset]:
    """raw feeds a and b, both of which feed mart; mart is of tier 0, the others of tier 3."""
    tables = {name: DatasetFactory.create(name=name, tier=3) for name in ("raw", "a", "b", "alone")}
    tables["mart"] = DatasetFactory.create(name="mart", tier=0)
    for upstream, downstream in (("raw", "a"), ("raw", "b"), ("a", "mart"), ("b", "mart")):
        LineageEdgeFactory.create(upstream=tables[upstream], downstream=tables[downstream])
    Round.objects.create(name="lineage", due_at=NOW)
    clock.simulate(NOW)
    return tables


def rows() -> dict[str, tuple[int, list[int], int, int]]:
    fields = ("dataset__name", "downstreams", "by_tier", "roots", "depth")
    return {name: tuple(values) for name, *values in BlastRadius.objects.values_list(*fields)}


def test_each_dataset_with_edges_has_what_stands_on_it_by_tier(tables: dict[str, Dataset]) -> None:
    assert trace_lineage() == 1
    middle = (1, [1, 0, 0, 0], 1, 1)
    assert rows() == {"raw": (3, [1, 0, 0, 2], 0, 0), "a": middle, "b": middle, "mart": (0, [0, 0, 0, 0], 1, 2)}


def test_the_next_day_writes_what_has_changed_alone(
    tables: dict[str, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_lineage()
    assert trace_lineage() == 0  # until the next day
    unchanged = BlastRadius.objects.get(dataset__name="b").pk
    LineageEdge.objects.filter(upstream__name="a").delete()
    Dataset.objects.filter(name="b").update(missing_since=NOW)
    clock.simulate(NOW + DAY)
    trace_lineage()
    assert {name: row[0] for name, row in rows().items()} == {"raw": 1, "a": 0}
    assert not BlastRadius.objects.filter(pk=unchanged).exists()
    monkeypatch.setattr(trace, "trace", None)  # which nobody calls where nothing has changed
    clock.simulate(NOW + 2 * DAY)
    assert trace_lineage() == 1
    assert Round.objects.get().due_at > NOW + 2 * DAY


def test_a_large_graph_is_counted_on_spark_as_networkx_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_HERE", 0)
    draw = np.random.default_rng(1)
    ends = np.sort(draw.integers(0, 10_000, (20_000, 2)), axis=1)
    ends = ends[ends[:, 0] != ends[:, 1]]
    tiers = draw.integers(0, 6, 10_000)
    result = trace.trace(Graph(upstreams=ends[:, 0], downstreams=ends[:, 1], tiers=tiers))
    graph: Any = networkx.DiGraph(ends.tolist())
    for node in draw.choice(ends[:, 0], 20).tolist():
        below = networkx.descendants(graph, node)
        assert result.by_tier[:, node].tolist() == [sum(tiers[other] == tier for other in below) for tier in range(6)]
