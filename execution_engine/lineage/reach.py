"""How many datasets stand on each, and on how many roots it stands, by words of bits: exact for any graph. Pure.

A bit stands for one dataset. Each dataset has the bits of all that its edges lead to, and takes those of its
neighbours on: level by level, so that each edge is followed once for each part of the bits. What lies in a circle
reaches all of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Ints = NDArray[Any]

PART = 4096  # bits of one part: half a kilobyte for each dataset
BLOCK = 50_000  # edges followed at once


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Edges between components in the order in which they are followed, and the most steps from each component."""

    starts: Ints  # where bits are gathered
    ends: Ints  # whose bits they are
    levels: Ints  # of each component: 0 where no edge starts


@dataclass(frozen=True, kw_only=True)
class Question:
    """Which component each dataset is in, the steps between them, and the sets of datasets that are counted apart."""

    components: Ints
    steps: Steps
    sets: Sequence[Ints]

    @property
    def parts(self) -> list[tuple[int, int]]:
        """Pieces that are answered each by itself: the set, and where its part begins."""
        return [(at, first) for at, members in enumerate(self.sets) for first in range(0, len(members), PART)]

    @property
    def cost(self) -> int:
        """Words of bits that all parts move."""
        return len(self.steps.starts) * sum(-(-len(members) // 64) for members in self.sets)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Datasets by number, the edges between them as two columns, and the tier of each dataset."""

    upstreams: Ints
    downstreams: Ints
    tiers: Ints


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Of each dataset: how many stand on it, by tier; on how many roots it stands; the most steps up to one."""

    by_tier: Ints  # a row for each tier
    roots: Ints
    depths: Ints


def questions(graph: Graph) -> tuple[Question, Question]:
    """What to count below each dataset, by tier; and above each, the roots."""
    size = len(graph.tiers)
    edges = coo_array((np.ones(len(graph.upstreams), bool), (graph.upstreams, graph.downstreams)), (size, size))
    count, components = connected_components(edges.tocsr(), connection="strong")
    pairs = np.unique(components[graph.upstreams].astype(np.int64) * count + components[graph.downstreams])
    above, below = pairs // count, pairs % count
    is_between = above != below
    above, below = above[is_between], below[is_between]
    is_fed = np.zeros(size, bool)
    is_fed[graph.downstreams] = True
    tiers = [np.flatnonzero(graph.tiers == tier) for tier in range(int(graph.tiers.max(initial=0)) + 1)]
    roots = np.flatnonzero(~is_fed)
    down = Question(components=components, steps=steps_between(above, below, count), sets=tiers)
    return down, Question(components=components, steps=steps_between(below, above, count), sets=[roots])


def steps_between(starts: Ints, ends: Ints, count: int) -> Steps:
    """The edges by the level of their start, so that the end of each has its bits; there is no circle among them."""
    order = np.argsort(ends, kind="stable")
    starts_by_end, first = starts[order], np.searchsorted(ends[order], np.arange(count + 1))
    open_ends = np.bincount(starts, minlength=count)
    levels = np.zeros(count, np.int32)
    level, reached = 0, np.flatnonzero(open_ends == 0)
    while reached.size:
        levels[reached] = level
        widths = first[reached + 1] - first[reached]
        places = np.repeat(first[reached] - (np.cumsum(widths) - widths), widths) + np.arange(widths.sum())
        components, closed = np.unique(starts_by_end[places], return_counts=True)
        open_ends[components] -= closed
        level, reached = level + 1, components[open_ends[components] == 0]
    order = np.lexsort((starts, levels[starts]))
    return Steps(starts=starts[order].astype(np.int32), ends=ends[order].astype(np.int32), levels=levels)


def count_part(question: Question, part: tuple[int, int]) -> Ints:
    """How many of a part each component reaches, itself included."""
    at, first = part
    members = question.components[question.sets[at][first : first + PART]]
    steps, place = question.steps, np.arange(len(members))
    bits = np.zeros((len(steps.levels), -(-len(members) // 64)), np.uint64)
    np.bitwise_or.at(bits, (members, place // 64), np.uint64(1) << (place % 64).astype(np.uint64))
    for block in _blocks(steps):
        starts = steps.starts[block]
        firsts = np.flatnonzero(np.r_[True, starts[1:] != starts[:-1]])
        bits[starts[firsts]] |= np.bitwise_or.reduceat(bits[steps.ends[block]], firsts, axis=0)
    counts: Ints = np.bitwise_count(bits).sum(axis=1, dtype=np.int32)
    return counts


def _blocks(steps: Steps) -> Iterator[slice]:
    """Pieces of the edges, none of two levels."""
    levels = steps.levels[steps.starts]
    bounds: list[int] = np.flatnonzero(np.r_[True, levels[1:] != levels[:-1], True]).tolist() if levels.size else []
    for low, high in pairwise(bounds):
        for at in range(low, high, BLOCK):
            yield slice(at, min(at + BLOCK, high))


def count_parts(question: Question, parts: Iterable[tuple[int, int]]) -> dict[int, Ints]:
    """How many of each set every component reaches, by the set's number; added up over these parts."""
    counts: dict[int, Ints] = {}
    for part in parts:
        counts[part[0]] = counts.get(part[0], 0) + count_part(question, part)
    return counts


def reach_of(graph: Graph, down: Question, up: Question, below: Mapping[int, Ints], above: Mapping[int, Ints]) -> Reach:
    """What the counts of both questions come to for each dataset, which does not stand on itself."""
    size = len(graph.tiers)
    nothing = np.zeros(len(down.steps.levels), np.int32)
    by_tier = np.stack([below.get(tier, nothing)[down.components] for tier in range(len(down.sets))])
    by_tier[graph.tiers, np.arange(size)] -= 1
    is_root = np.isin(np.arange(size), up.sets[0])
    roots = above.get(0, nothing)[up.components] - is_root
    return Reach(by_tier=by_tier, roots=roots, depths=up.steps.levels[up.components])
