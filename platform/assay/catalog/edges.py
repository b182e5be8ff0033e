"""What sources tell of edges: how what several tell of one merges, and which no source has told of for long. Pure."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .tellings import OPENLINEAGE

AGED_AFTER = timedelta(days=14)
MOST_SHARE_AGED = 0.1  # of the edges of a source, at once; one always may go
MOST_IN_ALL = 5  # edges of a source that may age though it tells of none any more

Columns = Mapping[str, Sequence[str]]  # column of the downstream → columns upstream; under ``ANY`` those of all of it
ANY = ""  # what joins and filters read, which all columns depend on


@dataclass(frozen=True, kw_only=True)
class EdgeFlags:
    """What is told of an edge, as in ``LineageProfile``."""

    one_to_one: bool = False
    sampled: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: Columns = field(default_factory=dict)


def merge_flags(flags: Sequence[tuple[str, EdgeFlags]], primary_key: Sequence[str]) -> EdgeFlags:
    """What several sources tell of one edge, in order of precedence, with the primary key of its downstream.

    The first says what the edge is. The names of its columns come from the first that says some; events tell them of
    all columns, of which those of the key count.
    """
    own_keys = [
        {own: name for own, name in edge.keys.items() if source != OPENLINEAGE or own in primary_key}
        for source, edge in flags
    ]
    return EdgeFlags(
        one_to_one=flags[0][1].one_to_one,
        sampled=flags[0][1].sampled,
        keys=next(filter(None, own_keys), {}),
        columns=next((edge.columns for _, edge in flags if edge.columns), {}),
    )


# Where what is broken in some columns shows: whoever reads them, and nobody else.

Broken = frozenset[str] | None  # names of columns, in lower case; None: any of them may be
NOTHING: Broken = frozenset()


def columns_below(columns: Columns, broken: Broken) -> Broken:
    """The columns of a downstream that are made of the ``broken`` ones; none where its edge reads others alone.

    An edge whose columns nobody knows may read any.
    """
    if broken is None or not columns or _reads(columns.get(ANY, ()), broken):
        return None
    return frozenset(name.lower() for name, names in columns.items() if _reads(names, broken))


def _reads(names: Sequence[str], broken: frozenset[str]) -> bool:
    return any(name.lower() in broken for name in names)


def is_read(columns: Columns, broken: Broken) -> bool:
    """Whether an edge may read one of the ``broken`` columns."""
    return columns_below(columns, broken) != NOTHING


def columns_reached(start: int, broken: Broken, upstreams: Mapping[int, Mapping[int, Columns]]) -> dict[int, Broken]:
    """The columns in which what is broken at ``start`` may show, of each dataset that it reaches in however many steps.

    ``upstreams`` are the edges: of each dataset its upstreams, with what it reads of each.
    """
    downstreams = defaultdict[int, list[int]](list)
    for down, ups in upstreams.items():
        for up in ups:
            downstreams[up].append(down)
    reached, pending = {start: broken}, [start]
    while pending:
        up = pending.pop()
        for down in downstreams[up]:
            before, below = reached.get(down, NOTHING), columns_below(upstreams[down][up], reached[up])
            after = None if before is None or below is None else before | below
            if after != before:
                reached[down] = after
                pending.append(down)
    return reached


@dataclass(frozen=True, kw_only=True)
class MissedEdge:
    """An edge that its source tells without."""

    id: int
    source: str
    subject: str  # of which the source was heard last, as ``subject_of`` has it
    missed_since: datetime


def subject_of(source: str, downstream: str) -> str:
    """What a source tells of as a whole: a provider of all edges at once, an event of those into what a job wrote."""
    return downstream if source == OPENLINEAGE else ""


def aged_edges(
    missed: Sequence[MissedEdge], *, heard_at: Mapping[tuple[str, str], datetime], counts: Mapping[str, int]
) -> list[int]:
    """The ids of what has aged: its source tells without it for two weeks, and still tells. The longest missed first.

    ``heard_at``: when each source told last of each subject. While nothing is heard, nothing ages, and at most a tenth
    of the edges of a source, of which ``counts`` says how many there are, ages at once. A source that tells of no edge
    any more, and told of more than a few, is likely broken: nothing of it ages.
    """
    missed_counts = Counter(edge.source for edge in missed)
    silent = {source for source, many in missed_counts.items() if MOST_IN_ALL < counts[source] <= many}
    aged = defaultdict[str, list[tuple[datetime, int]]](list)
    for edge in missed:
        if (
            edge.source not in silent
            and heard_at.get((edge.source, edge.subject), edge.missed_since) >= edge.missed_since + AGED_AFTER
        ):
            aged[edge.source].append((edge.missed_since, edge.id))
    return [
        id_
        for source, edges in aged.items()
        for _, id_ in sorted(edges)[: max(1, int(MOST_SHARE_AGED * counts[source]))]
    ]
