"""Root causes: one card for each, and the whole chain of what it causes, in the order of the lineage."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Prefetch, Q

from alerting.models import Alert
from assay.catalog.selectors import upstream_map
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident
from web.shown.words import plain

from .incident import SpoiltShown, headline_of, newest_bad

MOST_CARDS = 6
MOST_NAMES = 3  # of affected datasets that a card names
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
        return self.affected[:MOST_NAMES]

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
