"""The page of one incident: what is spoilt and why, and who was told."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Max, Prefetch, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from alerting.models import Alert, Notice, Standing
from alerting.state import Delivery
from alerting.verdicts.evidence import is_hidden, sentence_of
from assay.access import Action, AllowedOn, Role, reach_of, refusal
from assay.accounts import person_of
from assay.catalog.selectors import owned, upstream_map
from assay.models import Dataset, DataTest, LineageEdge, Origin
from assay.time.windows import keys_of
from execution_engine.language.past import EXPECTED, NOVEL
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Ending, EntryKind, Incident, SpoiltWindow
from web.shown.groups import OF_GROUPS, ShownGroups, groups_of
from web.shown.headline import WorstResult, headline
from web.shown.moved import Moved, moved
from web.shown.status import plain

from .catalogue import matching

MOST_WINDOWS = 200
MOST_OF_MANY = 20  # windows of each, where many incidents are shown
MOST_PEOPLE = 500
MOST_COLUMNS = 3  # that a title names
ACTING = [role.value for role in Role if reach_of(role, Action.ACT) is not AllowedOn.NONE]


@dataclass(frozen=True, kw_only=True)
class SpoiltShown:
    """One spoilt window, under the key of its partition, with the newest result of its test."""

    row: SpoiltWindow
    key: str
    standing: Standing | None
    sentence: str = ""
    findings: tuple[tuple[str, str], ...] = ()  # of the newest result, such as lost keys: a name and a text each
    moved: tuple[Moved, ...] = ()  # where it is unlike those before it
    groups: ShownGroups | None = None  # where its test is by columns


def incident_by_id(pk: int) -> Incident | None:
    """The incident with its dataset, cause, timeline and, where its windows are being ended, a user's word."""
    effects = Prefetch("alert__effects", Alert.objects.select_related("dataset", "incident"))
    found = Incident.objects.select_related("dataset", "alert__cause__dataset", "alert__cause__incident")
    under_way = Prefetch("endings", Ending.objects.filter(ended_at__isnull=True))
    return found.prefetch_related("timeline", "episodes", effects, under_way).filter(pk=pk).first()


def annotation(incident: Incident) -> dict[str, str]:
    """What is known of it, as the fields of its form."""
    eta = f"{incident.eta:%Y-%m-%dT%H:%M}" if incident.eta else ""
    return {"root_cause": incident.root_cause, "eta": eta, "backfill": incident.backfill, "text": ""}


def spoilt_windows(incident: Incident, veil: Veil) -> list[SpoiltShown]:
    """The newest 200 spoilt windows, the unhealed first, in two statements."""
    rows = SpoiltWindow.objects.filter(incident=incident).order_by("healed_at", "-window_start")
    return _shown(rows[:MOST_WINDOWS], veil)


def newest_bad(incidents: Sequence[Incident], veil: Veil) -> list[SpoiltShown]:
    """The newest windows of each of these incidents that are still bad, in two statements."""
    bad = SpoiltWindow.objects.filter(incident__in=incidents, healed_at__isnull=True)
    newest = Window(RowNumber(), partition_by=[F("incident")], order_by=[F("window_start").desc()])
    return _shown(bad.annotate(nth=newest).filter(nth__lte=MOST_OF_MANY), veil)


def _shown(wanted: QuerySet[SpoiltWindow], veil: Veil) -> list[SpoiltShown]:
    rows = list(wanted.select_related("data_test__revision", "dataset"))
    joined = ("data_test__dataset", "revision", "last_run__revision", "last_run__data_test__dataset")
    standings = Standing.objects.select_related(*joined).filter(
        data_test__in={row.data_test_id for row in rows if row.data_test_id},
        window_key__in={_window_key(row) for row in rows},
    )
    by_place = {(standing.data_test_id, standing.window_key): standing for standing in standings}
    return [_spoilt(row, by_place.get((row.data_test_id or 0, _window_key(row))), veil) for row in rows]


def _spoilt(row: SpoiltWindow, standing: Standing | None, veil: Veil) -> SpoiltShown:
    run = standing.last_run if standing else None
    return SpoiltShown(
        row=row,
        key=keys_of(row.window, None if row.whole_table else row.dataset.partitioning),
        standing=standing,
        sentence=sentence_of(standing, veil) if standing else "",
        findings=tuple(
            (name.replace("_", " "), _text(found))
            for name, found in (veil.findings(run) if run else {}).items()
            if name not in {EXPECTED, NOVEL, *OF_GROUPS}  # which the sentence says, and plots and tables show
        ),
        moved=tuple(moved(veil.findings(run).get(NOVEL, [])) if run else ()),
        groups=groups_of(veil.findings(run)) if run else None,
    )


def headline_of(incident: Incident, windows: list[SpoiltShown], veil: Veil) -> str:
    """What is wrong, by the worst of the newest results that are bad; of one that is over, by the worst there was.

    Nothing where a user has found it, as no test has a word on it.
    """
    bad = [spoilt for spoilt in windows if spoilt.row.healed_at is None and spoilt.standing]
    others = len({spoilt.key for spoilt in (bad or windows) if spoilt.row.data_test_id})
    if bad and not incident.resolved_at:
        worst = max(bad, key=lambda spoilt: (spoilt.standing is not None and spoilt.standing.excess) or 0.0)
        assert worst.standing is not None
        told = None if is_hidden(worst.standing, veil) else worst.standing.value
        return headline(_worst(worst.standing.data_test, worst, told), others=others - 1, is_over=False)
    run = _worst_run(windows) if windows else None
    if run is None:
        return ""
    shown = next(spoilt for spoilt in windows if _is_of(spoilt, run))
    value = None if veil.hides_run(run) else run.value
    return headline(_worst(run.data_test, shown, value), others=others - 1, is_over=True)


def headlines_of(incidents: Sequence[Incident], veil: Veil) -> dict[int, str]:
    """What is wrong in each of these that is open and that a test found, by its id; in two statements."""
    by_incident: dict[int, list[SpoiltShown]] = {}
    for spoilt in newest_bad([incident for incident in incidents if incident.resolved_at is None], veil):
        by_incident.setdefault(spoilt.row.incident_id, []).append(spoilt)
    found = [incident for incident in incidents if any(s.standing for s in by_incident.get(incident.pk, ()))]
    return {incident.pk: headline_of(incident, by_incident[incident.pk], veil) for incident in found}


def _worst(test: DataTest, spoilt: SpoiltShown, value: float | None) -> WorstResult:
    return WorstResult(
        test=test.name,
        category=test.category,
        is_standard=test.origin == Origin.GENERATED and not test.template,
        keys="" if spoilt.row.whole_table else spoilt.key,
        value=value,
        columns=tuple(dict.fromkeys(one.column for one in spoilt.moved if one.column))[:MOST_COLUMNS],
        datacenter=test.datacenter,
        spoils=test.spoils,
    )


def _worst_run(windows: list[SpoiltShown]) -> Run | None:
    """The broken run of these windows that lay farthest beyond its bound."""
    tests = {spoilt.row.data_test_id for spoilt in windows if spoilt.row.data_test_id}
    starts = {spoilt.row.window_start for spoilt in windows}
    broken = Run.objects.filter(data_test__in=tests, window_start__in=starts, outcome=Outcome.BROKEN)
    joined = broken.exclude(reason=RunReason.BACKTEST).select_related("revision", "data_test__dataset")
    found = joined.order_by(F("excess").desc(nulls_last=True), "-measured_at")[:MOST_WINDOWS]
    return next((run for run in found if any(_is_of(spoilt, run) for spoilt in windows)), None)


def _is_of(spoilt: SpoiltShown, run: Run) -> bool:
    return (spoilt.row.data_test_id, spoilt.row.window_start) == (run.data_test_id, run.window_start)


def people_for(incident: Incident) -> list[str]:
    """Whom a form offers: the users who may act on it, and all owners, as an upstream's may have to; in two statements.

    Whom it does not name may be typed all the same.
    """
    dataset = owned(incident.dataset)
    users = User.objects.select_related("member").filter(is_active=True).order_by("username")
    may = users.filter(Q(is_superuser=True) | Q(member__role__in=ACTING))
    found = {user.username for user in may[:MOST_PEOPLE] if refusal(person_of(user), Action.ACT, dataset) is None}
    owners = Dataset.objects.filter(missing_since__isnull=True).order_by("owner").values_list("owner", flat=True)
    return sorted({incident.owner, *found, *owners.distinct()[:MOST_PEOPLE]})


def notices_of(incident: Incident) -> list[Notice]:
    """What was told of the incident, to whom, or why not."""
    return (
        list(Notice.objects.filter(alert=incident.alert_id).order_by("created_at", "pk")) if incident.alert_id else []
    )


def window_asked(spoilt: SpoiltShown) -> str:
    """The window as the form of an override takes it: a key, or START/END where it is not one partition."""
    partitioning = spoilt.row.dataset.partitioning
    is_one = partitioning is not None and partitioning.tile(spoilt.row.window, 1) is not None
    return spoilt.key if is_one else spoilt.row.window.text


def is_unheard(notices: Sequence[Notice]) -> bool:
    """Whether all that was told went to the log alone."""
    found = {notice.delivery for notice in notices}
    return Delivery.LOGGED in found and not found & {Delivery.SENT, Delivery.DUE}


def _window_key(row: SpoiltWindow) -> str:
    return "table" if row.whole_table else row.window.text


def _text(value: Any) -> str:
    """What a run found, as a sentence: no brackets and no quotes of a program."""
    if isinstance(value, Mapping):
        if "said" in value:
            return str(value["said"])
        return ", ".join(f"{str(name).replace('_', ' ')} {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        shown = ("; " if any(isinstance(item, Mapping) for item in value) else ", ").join(map(_text, value[:20]))
        return f"{shown} … ({len(value)} in all)" if len(value) > 20 else shown
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


# What an incident means for others, and what happens next.

MOST_READERS = 5


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How many of the runs that somebody asked for last have been judged."""

    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class EndedRerun:
    """What came of the runs that somebody asked for last, which are all judged."""

    author: str
    at: datetime
    held: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Who reads the data, and what comes next: a test at an instant, runs on their way, or a person's word."""

    readers: Sequence[str]
    more_readers: int
    next_at: datetime | None
    waits_for_owner: bool
    progress: Progress | None
    ended: EndedRerun | None = None

    @property
    def every(self) -> int:
        """After how many seconds the page looks again."""
        return 3 if self.progress else 20


def outlook(incident: Incident, windows: Sequence[SpoiltShown]) -> Outlook:
    """In five statements."""
    downstreams = LineageEdge.objects.filter(upstream=incident.dataset_id)
    names = list(
        Dataset.objects.filter(pk__in=downstreams.values("downstream"))
        .values_list("full_name", flat=True)
        .order_by("full_name")
    )
    bad = [spoilt for spoilt in windows if spoilt.row.healed_at is None]
    checks = [spoilt.standing.next_check_at for spoilt in bad if spoilt.standing and spoilt.standing.next_check_at]
    return Outlook(
        readers=names[:MOST_READERS],
        more_readers=max(0, len(names) - MOST_READERS),
        next_at=None if incident.resolved_at else min(checks, default=None),
        waits_for_owner=incident.kind == EntryKind.REPORTED and not incident.resolved_at,
        progress=(progress := None if incident.resolved_at else _progress(bad)),
        ended=None if progress else _ended(incident, windows),
    )


def _ended(incident: Incident, windows: Sequence[SpoiltShown]) -> EndedRerun | None:
    """The runs that were last asked for on this page, once all of them are judged."""
    asked = next((entry for entry in reversed(incident.timeline.all()) if entry.event == "rerun"), None)
    if asked is None:
        return None
    tests = {spoilt.row.data_test_id for spoilt in windows if spoilt.row.data_test_id}
    runs = Run.objects.filter(data_test__in=tests, reason=RunReason.MANUAL, requested_at=asked.at)
    found = list(runs.values_list("judged_at", "outcome"))
    judged = [at for at, _ in found if at is not None]
    if not found or len(judged) < len(found):
        return None
    held = sum(outcome == Outcome.HELD for _, outcome in found)
    return EndedRerun(author=asked.actor, at=max(judged), held=held, total=len(found))


def _progress(bad: Sequence[SpoiltShown]) -> Progress | None:
    """Of the runs that were asked for together last, while some are not judged."""
    asked = Run.objects.filter(
        data_test__in={spoilt.row.data_test_id for spoilt in bad if spoilt.row.data_test_id},
        window_start__in={spoilt.row.window_start for spoilt in bad},
        reason=RunReason.MANUAL,
    )
    last = asked.aggregate(last=Max("requested_at"))["last"]
    if last is None:
        return None
    judged = list(asked.filter(requested_at=last).values_list("judged_at", flat=True))
    done = sum(at is not None for at in judged)
    return Progress(done=done, total=len(judged)) if done < len(judged) else None


# Root causes: one card for each, and the whole chain of what it causes, in the order of the lineage.

MOST_CARDS = 6
MOST_AFFECTED = 3  # of affected datasets that a card names
_EFFECTS = Prefetch(
    "alert__effects", Alert.objects.filter(closed_at__isnull=True).select_related("dataset").order_by("pk")
)


@dataclass(frozen=True, kw_only=True)
class CauseCard:
    """One open incident that nothing else causes, in a sentence, and the datasets that it makes bad as well."""

    incident: Incident
    headline: str
    affected: Sequence[str]
    beside: Sequence[str]  # the categories of its own dataset that it breaks

    @property
    def beside_in_words(self) -> str:
        """These categories, in the reader's language."""
        return ", ".join(map(plain, self.beside))

    @property
    def named(self) -> Sequence[str]:
        """The first of them."""
        return self.affected[:MOST_AFFECTED]

    @property
    def unnamed(self) -> int:
        """How many more there are."""
        return len(self.affected) - len(self.named)


@dataclass(frozen=True, kw_only=True)
class Link:
    """One alert of a chain, so many steps of the lineage behind the root cause."""

    alert: Alert
    steps: int
    is_root: bool
    is_here: bool


def open_roots(most: int) -> list[Incident]:
    """The open incidents that nothing else causes, of the most critical tiers, the newest first."""
    rows = Incident.objects.filter(Q(alert=None) | Q(alert__cause=None), resolved_at=None)
    return list(
        rows.select_related("dataset", "alert").prefetch_related(_EFFECTS).order_by("tier", "-detected_at")[:most]
    )


def effects_of(roots: Collection[Incident], most: int) -> list[Incident]:
    """The open incidents that these cause."""
    rows = Incident.objects.filter(
        alert__cause__in=[root.alert_id for root in roots if root.alert_id], resolved_at=None
    )
    joined = rows.select_related("dataset", "alert").prefetch_related(_EFFECTS)
    return list(joined.order_by("tier", "-detected_at")[:most]) if roots else []


def open_of_team(team: str, most: int) -> list[Incident]:
    """The open incidents of a team, whatever causes them, of the most critical tiers, the newest first."""
    rows = Incident.objects.filter(team=team, resolved_at=None)
    joined = rows.select_related("dataset", "alert").prefetch_related(_EFFECTS)
    return list(joined.order_by("tier", "-detected_at")[:most])


def cards(incidents: Sequence[Incident], veil: Veil) -> list[CauseCard]:
    """A card for each, in two statements."""
    bad: dict[int, list[SpoiltShown]] = defaultdict(list)
    for spoilt in newest_bad(incidents, veil):
        bad[spoilt.row.incident_id].append(spoilt)
    return [
        CauseCard(
            incident=incident,
            headline=headline_of(incident, bad[incident.pk], veil),
            affected=tuple(
                dict.fromkeys(e.dataset.full_name for e in _effects(incident) if e.dataset_id != incident.dataset_id)
            ),
            beside=tuple(e.category for e in _effects(incident) if e.dataset_id == incident.dataset_id),
        )
        for incident in incidents
    ]


def chain_of(incident: Incident) -> list[Link]:
    """The root cause of an incident first, then all that it causes, the nearest in the lineage first.

    Nothing where it stands alone.
    """
    if incident.alert is None:
        return []
    root = incident.alert.cause or incident.alert
    effects = list(root.effects.select_related("dataset", "incident").order_by("pk"))
    if not effects:
        return []
    steps = _steps(root.dataset_id)
    links = [
        Link(alert=alert, steps=steps.get(alert.dataset_id, 0), is_root=alert == root, is_here=alert == incident.alert)
        for alert in (root, *effects)
    ]
    return sorted(links, key=lambda link: (not link.is_root, link.steps, link.alert.dataset.full_name))


def _effects(incident: Incident) -> Iterable[Alert]:
    return incident.alert.effects.all() if incident.alert else ()


def _steps(dataset: int) -> dict[int, int]:
    """How many steps downstream of a dataset the others lie, by id."""
    downstream: dict[int, list[int]] = defaultdict(list)
    for below, above in upstream_map().items():
        for each in above:
            downstream[each].append(below)
    found, reached = {dataset: 0}, [dataset]
    while reached:
        reached = list(dict.fromkeys(b for each in reached for b in downstream.get(each, ()) if b not in found))
        step = max(found.values()) + 1
        found |= dict.fromkeys(reached, step)
    return found


# The page of all incidents: those that are wanted, the open ones first.

PAGE_SIZE = 50


class IncidentState(StrEnum):
    """Which of them a reader wants by how they stand."""

    OPEN = "open"
    MINE = "open, mine"
    UNTAKEN = "open, nobody works on it"
    RESOLVED = "resolved"


@dataclass(frozen=True, kw_only=True)
class IncidentFilter:
    """What the reader filters by; empty: everything."""

    text: str = ""
    state: IncidentState | None = None
    category: str = ""
    tier: int | None = None
    page: int = 1
    reader: str = ""


@dataclass(frozen=True, kw_only=True)
class IncidentPage:
    """One page of incidents, and whether another follows."""

    rows: Sequence[Incident]
    number: int
    has_next: bool
    open: int  # of all that match, how many are open


def listed_incidents(wanted: IncidentFilter) -> IncidentPage:
    """The open ones, the newest first, then those that were resolved last: each along an index, never sorted all.

    In three statements, and one more where names are sought.
    """
    rows = _wanted(wanted)
    still_open = rows.filter(resolved_at__isnull=True).order_by("-detected_at", "-pk")
    resolved = rows.filter(resolved_at__isnull=False).order_by("-resolved_at", "-pk")
    if wanted.state is IncidentState.UNTAKEN:
        still_open = still_open.filter(assigned_to="")
    if wanted.state is IncidentState.MINE:
        still_open = still_open.filter(assigned_to=wanted.reader)
    if wanted.state is IncidentState.RESOLVED:
        still_open = still_open.none()
    elif wanted.state is not None:
        resolved = resolved.none()
    start = (wanted.page - 1) * PAGE_SIZE
    end = start + PAGE_SIZE + 1  # one more than is shown says that there is another page
    many = still_open.count()
    found = [*still_open[start:end], *resolved[max(0, start - many) : max(0, end - many)]]
    return IncidentPage(rows=found[:PAGE_SIZE], number=wanted.page, has_next=len(found) > PAGE_SIZE, open=many)


def _wanted(wanted: IncidentFilter) -> QuerySet[Incident]:
    rows = Incident.objects.select_related("dataset", "alert__cause__dataset")
    if wanted.text:
        rows = rows.filter(dataset__in=list(matching(wanted.text).values_list("pk", flat=True)))
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    return rows if wanted.tier is None else rows.filter(tier=wanted.tier)
