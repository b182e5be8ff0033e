"""``python -m benchmarks.lineage [--datasets N] [--edges N]``: the lineage job of a drawn graph, held to networkx."""

import argparse
import os
import resource
from time import perf_counter

import django
import networkx
import numpy as np

from execution_engine.lineage.reach import Graph

LAYERS = 12  # from raw tables to reports
CHECKED = 20  # datasets


def drawn(datasets: int, edges: int, seed: int = 1) -> Graph:
    """A graph in layers, without circles, which would be counted as one; few datasets feed many, as dimensions do."""
    draw = np.random.default_rng(seed)
    layers = np.sort(draw.integers(0, LAYERS, datasets))
    upstreams = (datasets * draw.power(0.6, edges)).astype(np.int64)
    downstreams = draw.integers(0, datasets, edges)
    is_back = layers[upstreams] >= layers[downstreams]
    upstreams[is_back], downstreams[is_back] = downstreams[is_back], upstreams[is_back]
    is_across = layers[upstreams] != layers[downstreams]
    tiers = draw.choice(6, datasets, p=(0.01, 0.04, 0.1, 0.2, 0.3, 0.35))
    return Graph(upstreams=upstreams[is_across], downstreams=downstreams[is_across], tiers=tiers)


def main() -> None:
    """Print seconds, memory and how many of the datasets that were looked at are as networkx has them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    django.setup()
    from execution_engine.lineage.trace import trace

    graph = drawn(options.datasets, options.edges)
    started = perf_counter()
    reach = trace(graph)
    seconds = perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    compared = networkx.DiGraph()
    compared.add_edges_from(zip(graph.upstreams.tolist(), graph.downstreams.tolist(), strict=True))
    nodes = np.random.default_rng(2).choice(graph.upstreams, CHECKED).tolist()
    equal = sum(len(networkx.descendants(compared, node)) == reach.by_tier[:, node].sum() for node in nodes)
    most = int(reach.by_tier.sum(axis=0).max())
    print(
        f"{options.datasets:,} datasets, {len(graph.upstreams):,} edges: {seconds:.0f} s, "
        f"the largest process {memory:.1f} GB, up to {most:,} downstreams; {equal} of {CHECKED} as networkx"
    )


if __name__ == "__main__":
    main()
