"""Inhibition: whose notice stays silent because another trouble explains it, and until when."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median

from alerting.state import State
from assay.catalog.edges import Columns, columns_below
from assay.time.windows import Window

from .sizes import ROUNDING, UNKNOWN_SIZE, Size

# What can cause what: the table of rules, and the walk from an effect to its root cause.


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Troubles of these categories can cause those of the others; chains of rules reach further upstream."""

    causes: frozenset[str]
    effects: frozenset[str]
    is_upstream: bool  # the cause lies in a direct upstream of its effect; else in the same dataset
    lost: bool | None = None  # only while the rows that freshness waits for are lost, or are late; None: either


FRESHNESS = "freshness"
MISSING = frozenset({"completeness", "consistency"})  # rows that are not there, whether they may still come or not
VALUES = frozenset({"anomaly", "column", "custom", "metric", "novelty"})  # only a cause of their size explains these
UNUSUAL = frozenset({"anomaly", "column", "metric", "novelty"})  # what values give away, whatever is behind it
RULES = (
    Rule(causes=frozenset({FRESHNESS}), effects=MISSING | UNUSUAL, is_upstream=False, lost=False),
    Rule(causes=MISSING, effects=frozenset({FRESHNESS}), is_upstream=False, lost=True),
    Rule(causes=frozenset({FRESHNESS}), effects=frozenset({FRESHNESS}), is_upstream=True),
    Rule(
        causes=frozenset({"completeness", "duplicates"}),
        effects=frozenset({"duplicates", "custom"}) | UNUSUAL,
        is_upstream=True,
    ),
    # a figure that is computed from tables is as wrong, late or absent as they are
    Rule(
        causes=MISSING | {FRESHNESS, "duplicates", "schema", "custom"},
        effects=frozenset({"metric"}),
        is_upstream=True,
    ),
    Rule(causes=MISSING | {"duplicates", "schema"}, effects=UNUSUAL, is_upstream=False),
    Rule(causes=UNUSUAL, effects=UNUSUAL, is_upstream=True),
)


Place = tuple[str, str]  # dataset and category
Upstreams = Mapping[str, Mapping[str, Columns]]  # of each dataset its direct upstreams, and what it reads of each


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Whether a cause explains a value, and why, as a clause; ``columns``: those that a trial of its rows tells of."""

    explains: bool
    reason: str
    columns: tuple[str, ...] = ()


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
    trials: Mapping[Place, Evidence] = field(default_factory=dict)  # of a value, by what may have caused it


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


def can_cause(cause: Trouble, effect: Trouble, upstreams: Upstreams) -> bool:
    """Whether some rule leads from the one to the other; to a value only where the cause explains it."""
    return is_led_to(cause, effect, upstreams) and (
        effect.category not in VALUES
        or all(weigh(cause, spot, edge_columns(cause, effect, upstreams)).explains for spot in effect.spots)
    )


def edge_columns(cause: Trouble, effect: Trouble, upstreams: Upstreams) -> Columns:
    """What the dataset of the effect reads of that of the cause, column by column; nothing where nobody knows."""
    return upstreams.get(effect.dataset, {}).get(cause.dataset, {})


def is_led_to(cause: Trouble, effect: Trouble, upstreams: Upstreams) -> bool:
    """Whether some rule leads from the cause to the effect."""
    is_same = cause.dataset == effect.dataset
    is_upstream = not is_same and cause.dataset in upstreams.get(effect.dataset, {})
    late = cause if cause.category == FRESHNESS else effect
    return any(
        cause.category in rule.causes
        and effect.category in rule.effects
        and (is_upstream if rule.is_upstream else is_same)
        and (rule.lost is None or late.is_lost is rule.lost)
        for rule in RULES
    )


def weigh(cause: Trouble, spot: Spot, edge: Columns) -> Evidence:
    """Whether a value would hold on the window without the cause.

    What its rows tell decides. Where nobody has tried them, the cause must touch as many rows, in columns that the
    value reads, as move it so far. By an ``edge`` whose columns are known these are made of those that are broken;
    else they have the same names.
    """
    if trial := spot.trials.get((cause.dataset, cause.category)):
        return trial
    touching = [own for own in cause.spots if own.size.touched and own.window.overlaps(spot.window)]
    wrong = [(own.size.broken if edge else None) or own.size.columns for own in touching]
    columns = [columns_below(edge, names) if edge else names for names in wrong]
    named = frozenset[str]().union(*(names for names in columns if names is not None))
    if not touching:
        return Evidence(explains=False, reason="how many of its rows are wrong is not known")
    if None not in columns and not (named and all(group & named for group in spot.size.reads)):
        names = ", ".join(sorted(frozenset[str]().union(*(names for names in wrong if names is not None))))
        return Evidence(explains=False, reason=f"what is wrong is {names}, which the value is not of")
    touched = touched_share(touching, spot.window)
    rows = f"{100 * touched:.3g} % of its rows are wrong or missing"
    if spot.size.moved <= touched + ROUNDING:
        return Evidence(explains=True, reason=f"{rows}, and {100 * spot.size.moved:.3g} % move the value so far")
    least = "all of them" if spot.size.moved >= 1 else f"{100 * spot.size.moved:.3g} %"
    return Evidence(explains=False, reason=f"{rows}, and it takes {least} to move the value so far")


def weigh_causes(effect: Trouble, troubles: Iterable[Trouble], upstreams: Upstreams) -> dict[int, Evidence]:
    """Of each trouble that rules lead from to a value, by its id: whether it explains all failed windows that it meets.

    Only direct ones: what explains a cause is said of that.
    """
    if effect.category not in VALUES:
        return {}
    results: dict[int, Evidence] = {}
    for spot in failed_spots(effect):
        for trouble in troubles:
            cause = narrowed(trouble, spot) if trouble.id != effect.id else None
            if cause and is_led_to(cause, effect, upstreams):
                evidence = weigh(cause, spot, edge_columns(cause, effect, upstreams))
                if not evidence.explains or trouble.id not in results:
                    results[trouble.id] = evidence
    return results


def failed_spots(trouble: Trouble) -> tuple[Spot, ...]:
    """Its windows that failed; of one that only warns all of them."""
    return tuple(spot for spot in trouble.spots if spot.failed) or trouble.spots


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


def narrowed(trouble: Trouble, spot: Spot) -> Trouble | None:
    """The trouble as far as it explains the spot: broken on overlapping windows of the same datacenter, or of home.

    What a copy waits for it says itself: home's lateness explains only a copy that is not late or lost of its own.
    """
    spots = _explaining(trouble, spot)
    if trouble.category == FRESHNESS:
        spots = [own for own in spots if own.datacenter == spot.datacenter] or spots
    return replace(trouble, spots=tuple(spots)) if spots else None


def _explaining(trouble: Trouble, spot: Spot) -> list[Spot]:
    return [
        own for own in trouble.spots if own.datacenter in (None, spot.datacenter) and own.window.overlaps(spot.window)
    ]


def root_cause(effect: Trouble, spot: Spot, troubles: Iterable[Trouble], upstreams: Upstreams) -> Trouble | None:
    """The furthest trouble upstream that explains this spot of the effect; None if it is its own root.

    Every member of the chain is broken on a window that overlaps the spot. Of equally far roots, and in a cycle, the
    earliest is the root; ties go to the lower id.
    """
    effect = replace(effect, spots=(spot,))
    near = (narrowed(trouble, spot) for trouble in troubles if trouble.id != effect.id)
    members = {trouble.id: trouble for trouble in near if trouble is not None} | {effect.id: effect}
    by_dataset: dict[str, list[Trouble]] = {}
    for trouble in members.values():
        by_dataset.setdefault(trouble.dataset, []).append(trouble)
    distance = _distances(effect, by_dataset, upstreams)
    reach = {i: frozenset(_distances(members[i], by_dataset, upstreams)) for i in distance}
    # a group without a cause outside itself: a lone root, or a cycle
    groups = [group for i, group in reach.items() if all(i in reach[other] for other in group)]
    roots = {min((members[i] for i in group), key=lambda t: (t.since, t.id)).id for group in groups}
    if effect.id in roots:  # in a cycle that it began, it is the one to be told
        return None
    return min((members[i] for i in roots), key=lambda t: (-distance[t.id], t.since, t.id))


def _distances(effect: Trouble, by_dataset: Mapping[str, list[Trouble]], upstreams: Upstreams) -> dict[int, int]:
    """Every trouble that leads to the effect, itself included, with the number of steps between them."""
    distances, edge, step = {effect.id: 0}, [effect], 0
    while edge:
        step += 1
        edge = [
            cause
            for member in edge
            for dataset in {member.dataset, *upstreams.get(member.dataset, {})}
            for cause in by_dataset.get(dataset, [])
            if cause.id not in distances and can_cause(cause, member, upstreams)
        ]
        distances.update((cause.id, step) for cause in edge)
    return distances


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


# Late or lost: whether the rows that a window lacks may still come, and how long a dataset usually takes (pure).

SHORTEST_STILLNESS = timedelta(hours=1)
GAPS_NEEDED = 3  # one or two may themselves be the odd ones
WINDOWS_NEEDED = 3  # one or two may themselves be the late ones


def lost_at(
    *,
    has_file: bool,
    counted_at: datetime,
    completed_at: datetime | None = None,
    changed_at: datetime | None = None,
    stillness: timedelta = SHORTEST_STILLNESS,
) -> datetime | None:
    """From when on rows that a window lacks are lost if nothing changes before; None while they are late.

    ``completed_at`` is when the newest of the completions came that, after its end, name all of it. After so long a
    ``stillness`` since its files were last seen to change, nothing more is expected. Rows that were counted before
    the completion or the last change say nothing of what is there by now.
    """
    if not has_file:
        return None
    still_at = changed_at + stillness if changed_at and changed_at <= counted_at else None
    complete_at = completed_at if completed_at and completed_at <= counted_at else None
    return min((instant for instant in (complete_at, still_at) if instant is not None), default=None)


def stillness(*, sustain: timedelta, gaps: Sequence[timedelta]) -> timedelta:
    """How long files must stand still; ``gaps`` lie between the changes of one window, of recent windows."""
    least = max(sustain, SHORTEST_STILLNESS)
    if len(gaps) < GAPS_NEEDED:
        return least
    return max(least, timedelta(seconds=median(gap.total_seconds() for gap in gaps)))


def usual_delay(own: Sequence[float], upstreams: Iterable[Sequence[float]]) -> timedelta:
    """By how much the median of its seconds to complete exceeds that of its slowest upstream; zero if none is known."""
    medians = [median(values) for values in upstreams if len(values) >= WINDOWS_NEEDED]
    if len(own) < WINDOWS_NEEDED or not medians:
        return timedelta()
    return timedelta(seconds=max(0.0, median(own) - max(medians)))


LONGEST_INHIBITION = timedelta(hours=24)


class AlertAction(StrEnum):
    """What to do with a notice, from the loudest to the most silent."""

    NOTIFY = "notify"
    WAIT = "wait"
    INHIBIT = "inhibit"


class Why(StrEnum):
    """Why a notice goes out or not; the text is what users read."""

    NO_CAUSE = "no cause upstream"
    CAUSE_MAY_FAIL = "its cause may be about to fail"
    CAUSE_FAILED = "caused by an incident already told"
    CAUSE_OUTLASTED = "its cause lasts longer than expected"
    AWAITING_RERUN = "its cause is resolved, waiting for a new result"
    SETTLING = "its cause is resolved, waiting for the data to catch up"
    OF_THE_PAST = "found by a back-fill of the past"
    STILL_BROKEN = "still broken after its cause was resolved"


@dataclass(frozen=True, kw_only=True)
class EffectTerms:
    """What the effect's own test and dataset say; ``measured_at`` is of its latest broken result."""

    sustain: timedelta
    grace: timedelta
    measured_at: datetime
    usual_delay: timedelta = timedelta(0)
    former_id: int | None = None  # the last cause that inhibited it, and when that was resolved
    released_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to do with an alert's notices; ``until`` is when to decide again.

    ``twin_id`` is another trouble of the same rows: people who were told of it need not hear of this one as new.
    """

    action: AlertAction
    why: Why
    cause_id: int | None = None
    until: datetime | None = None
    twin_id: int | None = None


LOUDNESS = {AlertAction.NOTIFY: 0, AlertAction.WAIT: 1, AlertAction.INHIBIT: 2}


def decide(
    effect: Trouble,
    troubles: Iterable[Trouble],
    upstreams: Upstreams,
    terms: EffectTerms,
    *,
    now: datetime,
) -> Decision:
    """The decision for one failing alert: silent only where a cause explains every one of its failed spots."""
    troubles = tuple(troubles)
    decisions = []
    for spot in failed_spots(effect):
        decision = _decide_by_cause(effect, spot, troubles, upstreams, terms, now)
        if decision.action is AlertAction.NOTIFY:
            same = twin(effect, spot, troubles)
            decisions.append(replace(decision, twin_id=same.id if same else None))
            continue
        instants = [decision.until]
        if effect.category in MISSING:  # rows that are late: again when they will be lost
            late = (narrowed(t, spot) for t in troubles if t.dataset == effect.dataset and t.category == FRESHNESS)
            instants += [own.lost_at for trouble in late if trouble for own in trouble.spots if not own.lost]
        until = min((instant for instant in instants if instant is not None), default=None)
        decisions.append(replace(decision, until=until))
    return min(
        decisions, key=lambda decision: (LOUDNESS[decision.action], decision.twin_id is not None, decision.until or now)
    )


def _decide_by_cause(
    effect: Trouble,
    spot: Spot,
    troubles: tuple[Trouble, ...],
    upstreams: Upstreams,
    terms: EffectTerms,
    now: datetime,
) -> Decision:
    root = root_cause(effect, spot, troubles, upstreams)
    if root is not None and root.state is State.WARN:
        until = (effect.failed_at or effect.since) + terms.sustain
        if now < until:
            return Decision(action=AlertAction.WAIT, why=Why.CAUSE_MAY_FAIL, cause_id=root.id, until=until)
        failed = tuple(trouble for trouble in troubles if trouble.state is State.FAIL)
        root = root_cause(effect, spot, failed, upstreams)
    if root is not None:
        # an old trouble may be new where it explains the spot
        since = min((own.since or root.since for own in _explaining(root, spot)), default=root.since)
        until = root.eta or max(since, spot.since or effect.since) + LONGEST_INHIBITION
        if now < until:
            return Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, cause_id=root.id, until=until)
        return Decision(action=AlertAction.NOTIFY, why=Why.CAUSE_OUTLASTED, cause_id=root.id)
    if terms.released_at is None:
        return Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    # a former cause is only released by a broken result measured after it; in a replay the rerun takes no time
    is_rerun = terms.measured_at >= terms.released_at
    patience = max(terms.grace, terms.usual_delay)
    until = terms.released_at + (patience if is_rerun else max(patience, LONGEST_INHIBITION))
    if now < until:
        why = Why.SETTLING if is_rerun else Why.AWAITING_RERUN
        return Decision(action=AlertAction.WAIT, why=why, cause_id=terms.former_id, until=until)
    return Decision(action=AlertAction.NOTIFY, why=Why.STILL_BROKEN, cause_id=terms.former_id)
