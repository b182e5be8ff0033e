"""What can cause what: the table of rules, and the walk from an effect to its root cause."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from alerting.state import State
from assay.time.windows import Window

from .sizes import ROUNDING, UNKNOWN_SIZE, Size


class CauseReach(Enum):
    """Where a cause lies, seen from its effect."""

    SAME_DATASET = "same dataset"
    DIRECT_UPSTREAM = "direct upstream"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Troubles of these categories can cause those of the others; chains of rules reach further upstream."""

    causes: frozenset[str]
    effects: frozenset[str]
    reach: CauseReach
    lost: bool | None = None  # only while the rows that freshness waits for are lost, or are late; None: either


FRESHNESS = "freshness"
MISSING = frozenset({"completeness", "consistency"})  # rows that are not there, whether they may still come or not
VALUES = frozenset({"anomaly", "column", "custom", "metric", "novelty"})  # only a cause of their size explains these
UNUSUAL = frozenset({"anomaly", "column", "metric", "novelty"})  # what values give away, whatever is behind it
RULES = (
    Rule(causes=frozenset({FRESHNESS}), effects=MISSING | UNUSUAL, reach=CauseReach.SAME_DATASET, lost=False),
    Rule(causes=MISSING, effects=frozenset({FRESHNESS}), reach=CauseReach.SAME_DATASET, lost=True),
    Rule(causes=frozenset({FRESHNESS}), effects=frozenset({FRESHNESS}), reach=CauseReach.DIRECT_UPSTREAM),
    Rule(
        causes=frozenset({"completeness", "duplicates"}),
        effects=frozenset({"duplicates", "custom"}) | UNUSUAL,
        reach=CauseReach.DIRECT_UPSTREAM,
    ),
    # a figure that is computed from tables is as wrong, late or absent as they are
    Rule(
        causes=MISSING | {FRESHNESS, "duplicates", "schema", "custom"},
        effects=frozenset({"metric"}),
        reach=CauseReach.DIRECT_UPSTREAM,
    ),
    Rule(causes=MISSING | {"duplicates", "schema"}, effects=UNUSUAL, reach=CauseReach.SAME_DATASET),
    Rule(causes=UNUSUAL, effects=UNUSUAL, reach=CauseReach.DIRECT_UPSTREAM),
)


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A broken window in one datacenter; None is what home's tests find, which every datacenter shares."""

    window: Window
    datacenter: str | None = None
    failed: bool = True  # broken for longer than its sustain period
    since: datetime | None = None  # its own t0; None: that of its trouble
    size: Size = UNKNOWN_SIZE
    lost: bool = False  # of freshness: its rows do not come any more
    lost_at: datetime | None = None  # of freshness: when they will be lost, if nothing changes before


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A dataset's category that is WARN or FAIL now, with the windows it is broken on."""

    id: int
    dataset: str
    category: str
    spots: tuple[Spot, ...]
    since: datetime  # its t0
    failed_at: datetime | None = None
    eta: datetime | None = None

    @property
    def state(self) -> State:
        """FAIL once it has failed, WARN before."""
        return State.WARN if self.failed_at is None else State.FAIL

    @property
    def is_lost(self) -> bool:
        """Of freshness: whether no row that it waits for may still come."""
        return all(spot.lost for spot in self.spots)


def can_cause(cause: Trouble, effect: Trouble, upstreams: Mapping[str, frozenset[str]]) -> bool:
    """Whether some rule leads from the one to the other; to a value only where the cause is large enough for it."""
    return any(
        cause.category in rule.causes
        and effect.category in rule.effects
        and _reaches(rule, cause, effect, upstreams)
        and _rows_allow(rule, cause, effect)
        for rule in RULES
    ) and (effect.category not in VALUES or all(_is_large_enough(cause, spot) for spot in effect.spots))


def _is_large_enough(cause: Trouble, spot: Spot) -> bool:
    """Whether the rows that the cause touches, in columns that the value reads, can have moved it so far."""
    touching = [own for own in cause.spots if own.size.touched and own.window.overlaps(spot.window)]
    columns = [own.size.columns for own in touching]
    named = frozenset[str]().union(*(names for names in columns if names is not None))
    is_read = None in columns or all(group & named for group in spot.size.reads)
    return bool(touching) and is_read and spot.size.moved <= touched_share(touching, spot.window) + ROUNDING


def touched_share(spots: Iterable[Spot], window: Window) -> float:
    """The share of a window's rows that a cause touches by all of its spots that overlap the window.

    What it touches of a shorter window counts by the part that this is of the longer one. What it touches of a longer
    window counts as it is: nothing says where in it these rows lie.
    """
    whole, parts = 0.0, dict[Window, float]()
    for spot in spots:
        if not spot.window.overlaps(window):
            continue
        if spot.window.contains(window):
            whole = max(whole, spot.size.touched)
            continue
        common = min(spot.window.end, window.end) - max(spot.window.start, window.start)
        parts[spot.window] = max(parts.get(spot.window, 0.0), spot.size.touched * (common / window.duration))
    return min(1.0, max(whole, sum(parts.values())))


def _rows_allow(rule: Rule, cause: Trouble, effect: Trouble) -> bool:
    late = cause if cause.category == FRESHNESS else effect
    return rule.lost is None or late.is_lost is rule.lost


def _reaches(rule: Rule, cause: Trouble, effect: Trouble, upstreams: Mapping[str, frozenset[str]]) -> bool:
    if rule.reach is CauseReach.SAME_DATASET:
        return cause.dataset == effect.dataset
    return cause.dataset != effect.dataset and cause.dataset in upstreams.get(effect.dataset, frozenset())


def narrowed(trouble: Trouble, spot: Spot) -> Trouble | None:
    """The trouble as far as it explains the spot: broken on overlapping windows of the same datacenter, or of home.

    What a copy waits for it says itself: home's lateness explains only a copy that is not late or lost of its own.
    """
    found = _explaining(trouble, spot)
    own = [one for one in found if one.datacenter == spot.datacenter] if trouble.category == FRESHNESS else []
    return replace(trouble, spots=tuple(own or found)) if found else None


def explains_since(trouble: Trouble, spot: Spot) -> datetime:
    """Since when it is broken where it explains the spot: an old trouble may be new there."""
    return min((own.since or trouble.since for own in _explaining(trouble, spot)), default=trouble.since)


def _explaining(trouble: Trouble, spot: Spot) -> list[Spot]:
    return [
        own for own in trouble.spots if own.datacenter in (None, spot.datacenter) and own.window.overlaps(spot.window)
    ]


def root_cause(
    effect: Trouble, spot: Spot, troubles: Iterable[Trouble], upstreams: Mapping[str, frozenset[str]]
) -> Trouble | None:
    """The furthest trouble upstream that explains this spot of the effect; None if it is its own root.

    Every member of the chain is broken on a window that overlaps the spot. Of equally far roots, and in a cycle, the
    earliest is the root; ties go to the lower id.
    """
    near = (narrowed(trouble, spot) for trouble in troubles if trouble.id != effect.id)
    effect = replace(effect, spots=(spot,))
    members = {trouble.id: trouble for trouble in near if trouble is not None} | {effect.id: effect}
    by_dataset: dict[str, list[Trouble]] = {}
    for trouble in members.values():
        by_dataset.setdefault(trouble.dataset, []).append(trouble)
    causes = _Causes(by_dataset=by_dataset, upstreams=upstreams)
    distance = causes.distances(effect)
    roots = {_earliest(members[i] for i in group).id for group in causes.sources(distance, members)}
    if effect.id in roots:  # in a cycle that it began, it is the one to be told
        return None
    return min((members[i] for i in roots), key=lambda t: (-distance[t.id], t.since, t.id))


def twin(effect: Trouble, spot: Spot, troubles: Iterable[Trouble]) -> Trouble | None:
    """The trouble under which the owner may have heard of the same rows: before they were lost, freshness.

    Of freshness, whose rows come after all, it is the trouble that called them missing.
    """
    for other in sorted(troubles, key=lambda trouble: (trouble.category, trouble.id)):
        if other.dataset != effect.dataset or other.id == effect.id:
            continue
        if effect.category in MISSING and other.category == FRESHNESS:
            same = tuple(own for own in other.spots if own.window.overlaps(spot.window))
            if same and replace(other, spots=same).is_lost:
                return other
        if effect.category == FRESHNESS and other.category in MISSING and _explaining(other, spot):
            return other
    return None


def _earliest(troubles: Iterable[Trouble]) -> Trouble:
    return min(troubles, key=lambda trouble: (trouble.since, trouble.id))


@dataclass(frozen=True, kw_only=True)
class _Causes:
    """The graph from effects to their direct causes."""

    by_dataset: Mapping[str, list[Trouble]]
    upstreams: Mapping[str, frozenset[str]]

    def direct(self, effect: Trouble) -> list[Trouble]:
        near = {effect.dataset} | self.upstreams.get(effect.dataset, frozenset())
        found = (trouble for dataset in near for trouble in self.by_dataset.get(dataset, []))
        return [trouble for trouble in found if can_cause(trouble, effect, self.upstreams)]

    def distances(self, effect: Trouble) -> dict[int, int]:
        """Every trouble that leads to the effect, itself included, with the number of steps between them."""
        found, edge = {effect.id: 0}, [effect]
        while edge:
            step = found[edge[0].id] + 1
            edge = [cause for member in edge for cause in self.direct(member) if cause.id not in found]
            found.update((cause.id, step) for cause in edge)
        return found

    def sources(self, ids: Iterable[int], members: Mapping[int, Trouble]) -> list[frozenset[int]]:
        """The groups without a cause outside themselves: a lone root, or a cycle."""
        reach = {i: frozenset(self.distances(members[i])) for i in ids}
        return [group for i, group in reach.items() if all(i in reach[other] for other in group)]
