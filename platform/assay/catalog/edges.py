"""What sources tell of edges: how what several tell of one merges, and which no source has told of for long. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .tellings import OPENLINEAGE

AGED_AFTER = timedelta(days=14)
MOST_SHARE_AGED = 0.1  # of the edges of a source, at once; one always may go

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


def is_read(columns: Columns, broken: frozenset[str] | None) -> bool:
    """Whether an edge reads one of the ``broken`` columns, in lower case; it may where either is not known (None)."""
    return not columns or broken is None or any(name.lower() in broken for names in columns.values() for name in names)


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
    of the edges of a source, of which ``counts`` says how many there are, ages at once.
    """
    aged = defaultdict[str, list[tuple[datetime, int]]](list)
    for edge in missed:
        if heard_at.get((edge.source, edge.subject), edge.missed_since) >= edge.missed_since + AGED_AFTER:
            aged[edge.source].append((edge.missed_since, edge.id))
    return [
        id_
        for source, edges in aged.items()
        for _, id_ in sorted(edges)[: max(1, int(MOST_SHARE_AGED * counts[source]))]
    ]
