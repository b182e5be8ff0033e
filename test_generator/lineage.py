"""Walks through the lineage; all of them end, be there cycles or not."""

from collections.abc import Sequence

from assay.catalog.profile import LineageProfile


def one_to_one_upstreams(dataset: str, edges: Sequence[LineageProfile]) -> tuple[str, ...]:
    """The direct upstreams of which every row arrives here, by name."""
    return tuple(sorted({edge.upstream for edge in _into(dataset, edges) if edge.one_to_one}))


def sampled_upstreams(dataset: str, edges: Sequence[LineageProfile]) -> tuple[str, ...]:
    """The direct upstreams that are checked by a sample, by name."""
    return tuple(sorted({edge.upstream for edge in _into(dataset, edges) if edge.sampled}))


def direct_upstreams(dataset: str, edges: Sequence[LineageProfile]) -> tuple[str, ...]:
    """The datasets that feed this one, by name."""
    return tuple(sorted({edge.upstream for edge in _into(dataset, edges)}))


def direct_downstreams(dataset: str, edges: Sequence[LineageProfile]) -> tuple[str, ...]:
    """The datasets that this one feeds, by name."""
    downstreams = {edge.downstream for edge in edges if edge.upstream == dataset}
    return tuple(sorted(downstreams - {dataset}))


def upstream_closure(dataset: str, edges: Sequence[LineageProfile]) -> tuple[str, ...]:
    """Everything that this dataset comes from, the nearest first and each once; never the dataset itself."""
    upstreams: dict[str, set[str]] = {}
    for edge in edges:
        upstreams.setdefault(edge.downstream, set()).add(edge.upstream)
    found, ring = {dataset: None}, [dataset]
    while ring:
        ring = sorted({name for each in ring for name in upstreams.get(each, ())} - found.keys())
        found |= dict.fromkeys(ring)
    return tuple(found)[1:]


def _into(dataset: str, edges: Sequence[LineageProfile]) -> list[LineageProfile]:
    return [edge for edge in edges if edge.downstream == dataset != edge.upstream]
