"""The limits of a dataset, its readers and its sensitive columns, hold for the place that it reads (pure).

Another name for that place, or for one above or below it, inherits them, whichever of the two is declared first. A push
limits nothing that a catalog file declares, as a producer is not the operator.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product

from assay.time.durations import EARLIEST, LATEST
from assay.time.windows import Granularity, Partitioning, Window

from .locations import Place, overlap

NOBODY = ("role:admin",)  # the readers of what no reader of all its limits may read


@dataclass(frozen=True, kw_only=True)
class PlacedDataset:
    """A dataset as its provider declares it, and the places that it reads, each with the way in which it is read."""

    name: str
    owner: str = ""
    team: str = ""
    readers: tuple[str, ...] = ()
    sensitive: frozenset[str] = frozenset()
    places: Sequence[tuple[Place, tuple[str, ...]]] = ()
    is_pushed: bool = False
    is_gone: bool = False  # from its source

    @property
    def is_limited(self) -> bool:
        """Whether it has limits of its own."""
        return bool(self.readers or self.sensitive)

    @property
    def allowed(self) -> frozenset[str]:
        """All who may read it by name, where it has readers."""
        team = {f"team:{self.team}"} if self.team else set()
        return frozenset({*self.readers, f"user:{self.owner}", *team})


@dataclass(frozen=True, kw_only=True)
class PlaceLimits:
    """What holds for a dataset by its place; ``fault`` says why it may not be read there at all."""

    owner: str
    team: str
    readers: tuple[str, ...] = ()
    sensitive: frozenset[str] = frozenset()  # those that it inherits
    sources: tuple[str, ...] = ()  # the datasets whose limits it inherits
    fault: str = ""


def limits_of(dataset: PlacedDataset, others: Iterable[PlacedDataset]) -> PlaceLimits:
    """The limits of a dataset with those that it inherits from ``others`` by its place."""
    shared = {}  # the ways in which both read a place that they share, by the dataset that limits it
    for limit in others:
        if limit.is_limited and limit.name != dataset.name and _binds(limit, dataset):
            pairs = product(dataset.places, limit.places)
            if ways := [(own, other) for (here, own), (there, other) in pairs if overlap(here, there)]:
                shared[limit.name] = limit, ways
    limiting = [shared[name] for name in sorted(shared)]
    readers, fault = dataset.readers, ""
    closed = [limit for limit, _ in limiting if limit.readers]
    for limit in closed:
        if not readers:
            readers = limit.readers
        elif not set(readers) <= limit.allowed:
            if dataset.readers and not dataset.is_pushed:
                fault = (
                    f"its readers are not those of {limit.name}, which lies in the same place: name the same readers"
                )
            readers = tuple(reader for reader in readers if reader in limit.allowed) or NOBODY
    owner, team = dataset.owner, dataset.team
    if closed and dataset.is_pushed:  # a producer names the owner of what it pushes
        (owner, team), *more = dict.fromkeys((limit.owner, limit.team) for limit in closed)
        owner, team = ("", "") if more else (owner, team)
    for limit, ways in limiting:
        if limit.sensitive and any(own != other for own, other in ways):  # columns may have other names
            fault = fault or (
                f"it reads the place of {limit.name}, which has sensitive columns, in another way than that: "
                "name the same storage, options and columns"
            )
    hidden = frozenset().union(*(limit.sensitive for limit, _ in limiting)) - dataset.sensitive
    sources = tuple(limit.name for limit, _ in limiting)
    return PlaceLimits(owner=owner, team=team, readers=readers, sensitive=hidden, sources=sources, fault=fault)


def closed_folders(dataset: PlacedDataset, limits: PlaceLimits, others: Iterable[PlacedDataset]) -> tuple[str, ...]:
    """The local folders that links among a dataset's files may not lead into: others may read less of what is there."""
    hidden = dataset.sensitive | limits.sensitive
    return tuple(
        place.path
        for limit in others
        if limit.is_limited and limit.name not in (dataset.name, *limits.sources) and _binds(limit, dataset)
        if not (limit.sensitive <= hidden and (not limit.readers or set(limits.readers or ("",)) <= limit.allowed))
        for place, _ in limit.places
        if place.path
    )


def _binds(limited: PlacedDataset, dataset: PlacedDataset) -> bool:
    return dataset.is_pushed or not (limited.is_pushed or limited.is_gone)


def way_of_reading(storage: str, options: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    """What decides how the columns of a place are called: without a header, those of CSV as the catalog calls them."""
    if storage in ("sql", "table"):
        return (storage,)
    is_named_here = storage == "csv" and options.get("header", "true").lower() != "true"
    return (storage, *(f"{key}={options[key]}" for key in sorted(options)), *(columns if is_named_here else ()))


# How far a change of data reaches, and the pieces in which it is worked off (pure).

AT_ONCE = 80  # partitions whose work one transaction writes: with five tests, as long as a gate may wait
MOST = 10_000  # partitions that one change may name: more is sent in parts
SHORTEST = {
    Granularity.HOUR: timedelta(hours=1),
    Granularity.DAY: timedelta(hours=23),
    Granularity.WEEK: timedelta(days=6, hours=23),
    Granularity.MONTH: timedelta(days=27, hours=23),
}


def is_too_wide(window: Window, partitioning: Partitioning | None) -> bool:
    """Whether a window may hold more than ``MOST`` partitions, told without going through them."""
    return partitioning is not None and window.duration / SHORTEST[partitioning.granularity] > MOST * 25 / 23


def reach(
    window: Window,
    partitioning: Partitioning | None,
    *,
    now: datetime,
    begins_at: datetime | None,
    retention: timedelta | None,
) -> Window | None:
    """The part of a window in which a dataset can have data; None where it can have none.

    It begins at ``begins_at``, where the first partition does, or with the first that is kept. If it is still too wide,
    only its newest ``MOST`` partitions that have begun count.
    """
    if partitioning is None:
        return window
    start, end = max(window.start, EARLIEST), min(window.end, LATEST)
    if begins_at is not None:
        start = max(start, begins_at)
    if retention is not None:
        start = max(start, partitioning.at(now - retention).start)
    if start < end and is_too_wide(Window(start=start, end=end), partitioning):
        end = min(end, partitioning.at(now).end)
        start = max(start, partitioning.at(end - MOST * SHORTEST[partitioning.granularity]).start)
    return Window(start=start, end=end) if start < end else None


def next_piece(left: Window, partitioning: Partitioning | None) -> Window:
    """The beginning of what is left to do, of at most ``AT_ONCE`` partitions; all of it without partitions."""
    if partitioning is None:
        return left
    tiles = partitioning.between(left.start, left.end, AT_ONCE)
    return Window(start=left.start, end=tiles[-1].end) if len(tiles) == AT_ONCE else left
