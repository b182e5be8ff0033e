"""Proposals: tables that events, queries and catalogs name and that are no datasets yet. Who reads them ranks them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from django.db.models import Count, F, Max, QuerySet

from assay.database.name_keys import name_key
from assay.database.statements import IN_ONE, in_parts
from assay.models import Dataset, EdgeTelling, Telling

from .dataset_rows import merged_by_key
from .edge_rows import Pair, edges_at
from .edges import AGED_AFTER
from .events import is_short
from .tellings import CORRECTION, OPENLINEAGE, QUERY

MOST_QUERIED = 10_000  # tables that queries alone have named
GLOB = frozenset("*?[")
AGING = (OPENLINEAGE, QUERY)  # sources that never say that a table is gone


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A table that is named and no dataset: who reads it, who names it, and what a dataset needs that nobody says."""

    name: str
    readers: int  # tables that are made of it
    queries: int  # queries that were looked up and read it
    sources: tuple[str, ...]
    lacking: tuple[str, ...]
    seen_at: datetime


def proposals(most: int, *, start: int = 0) -> tuple[int, list[Proposal]]:
    """How many tables are proposed, and ``most`` of them from ``start`` on: those first that are read most."""
    named = defaultdict[str, list[Telling]](list)
    for row in _undeclared().only("source", "name_key", "namespace", "name", "reads", "seen_at"):
        named[row.name_key].append(row)
    edges = EdgeTelling.objects.values("upstream_key").annotate(readers=Count("downstream_key", distinct=True))
    readers = dict(edges.values_list("upstream_key", "readers"))
    ranks = {
        key: (-readers.get(key, 0), -sum(row.reads for row in rows), f"{rows[0].namespace}.{rows[0].name}")
        for key, rows in named.items()
    }
    keys = sorted(named, key=ranks.__getitem__)[start : start + most]
    merged = merged_by_key(keys)
    return len(named), [
        Proposal(
            name=ranks[key][2],
            readers=-ranks[key][0],
            queries=-ranks[key][1],
            sources=tuple(sorted({row.source for row in named[key]})),
            lacking=merged[key].lacking,
            seen_at=max(row.seen_at for row in named[key]),
        )
        for key in keys
    ]


def _undeclared() -> QuerySet[Telling]:
    declared = Dataset.objects.filter(missing_since__isnull=True)
    return Telling.objects.exclude(source=CORRECTION).exclude(name_key__in=declared.values("name_key"))


def note_queried(names: Collection[str], *, now: datetime) -> None:
    """Note that a query reads these tables, which are no datasets; names that no dataset can have are left out."""
    by_key = {name_key(name): name for name in names if is_short(name) and all(name.rpartition(".")[::2])}
    rows = Telling.objects.filter(source=QUERY, name_key__in=by_key)
    stored = set(rows.values_list("name_key", flat=True))
    rows.update(reads=F("reads") + 1, seen_at=now)
    if Telling.objects.filter(source=QUERY).count() >= MOST_QUERIED:
        return
    created = [
        Telling(source=QUERY, name_key=key, namespace=namespace, name=short, reads=1, seen_at=now)
        for key, name in by_key.items()
        if key not in stored
        for namespace, _, short in [name.rpartition(".")]
    ]
    Telling.objects.bulk_create(created, batch_size=IN_ONE, ignore_conflicts=True)


def end_aged_proposals() -> int:
    """Forget tables that no event, or no query, has named for long while others were named; how many are forgotten.

    What is a dataset stays, and so does what an edge leads to that was told of lately.
    """
    count = 0
    for source in AGING:
        last = Telling.objects.filter(source=source).aggregate(last=Max("seen_at"))["last"]
        if last is None:
            continue
        aged = dict(_undeclared().filter(source=source, seen_at__lte=last - AGED_AFTER).values_list("name_key", "pk"))
        for part in in_parts(aged):
            recent = EdgeTelling.objects.filter(seen_at__gt=last - AGED_AFTER)
            live = {
                *recent.filter(upstream_key__in=part).values_list("upstream_key", flat=True),
                *recent.filter(downstream_key__in=part).values_list("downstream_key", flat=True),
            }
            gone = [aged[key] for key in part if key not in live]
            count += Telling.objects.filter(pk__in=gone).delete()[0]
    return count


# Tables by their names, whether they are datasets or not, and what lies around them.


def tables_like(patterns: Collection[str]) -> dict[str, set[str]]:
    """The keys of the tables that fit each glob of full names, or have this name, in whatever case."""
    exact = {pattern: name_key(pattern) for pattern in patterns if not is_glob(pattern)}
    known = names_of(exact.values())
    tables = {pattern: {key} & known.keys() for pattern, key in exact.items()}
    globs = [pattern for pattern in patterns if is_glob(pattern)]
    rows = Telling.objects.values_list("name_key", "namespace", "name").distinct() if globs else ()
    names = [(key, f"{namespace}.{name}".lower()) for key, namespace, name in rows]
    return tables | {glob: {key for key, name in names if fnmatchcase(name, glob.lower())} for glob in globs}


def is_glob(pattern: str) -> bool:
    """Whether it may fit several names."""
    return not GLOB.isdisjoint(pattern)


def names_of(keys: Iterable[str]) -> dict[str, str]:
    """The full names of tables by their keys, as sources spell them; those that edges alone name too."""
    names: dict[str, str] = {}
    for part in in_parts(keys):
        for end in ("upstream", "downstream"):
            rows = EdgeTelling.objects.filter(**{f"{end}_key__in": part})
            names |= dict(rows.values_list(f"{end}_key", end))
        for key, namespace, name in Telling.objects.filter(name_key__in=part).values_list(
            "name_key", "namespace", "name"
        ):
            names[key] = f"{namespace}.{name}"
    return names


def hops_from(
    starts: Collection[str],
    sides: Collection[str],
    depth: int,
    edges_of: Callable[[Collection[str]], Collection[Pair]] = edges_at,
) -> Mapping[str, int]:
    """How many steps each table lies from ``starts``, at most ``depth``: negative upstream, and 0 the starts."""
    hops = dict.fromkeys(starts, 0)
    for side, sign in (("up", -1), ("down", 1)):
        layer, walked = set(starts), set(starts)
        for step in range(1, depth + 1 if side in sides else 1):
            pairs = edges_of(layer)
            layer = {up if sign < 0 else down for up, down in pairs if (down if sign < 0 else up) in layer} - walked
            walked |= layer
            for key in layer:
                hops.setdefault(key, sign * step)
            if not layer:
                break
    return hops
