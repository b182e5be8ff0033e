"""The page of one incident: what is spoilt and why, and who was told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Prefetch, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from alerting.models import Alert, Notice, Standing
from alerting.state import Delivery
from alerting.verdicts.shown_standing import is_hidden, sentence_of
from assay.access.roles import Action, AllowedOn, Role, reach_of, refusal
from assay.accounts.members import person_of
from assay.catalog.selectors import owned
from assay.models import Dataset, DataTest, Origin
from assay.time.partition_names import keys_of
from execution_engine.language.evaluating.anomaly import EXPECTED
from execution_engine.language.evaluating.novelty import NOVEL
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Ending, Incident, SpoiltWindow
from web.shown.groups import OF_GROUPS, ShownGroups, groups_of
from web.shown.headline import WorstResult, headline
from web.shown.moved import Moved, moved

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
