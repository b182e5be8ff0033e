"""What is broken around an alert, in the terms that inhibition decides by."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from alerting.models import Alert, Standing
from alerting.state import BROKEN, State
from alerting.verdicts.selectors import spoilt_place
from assay.catalog.selectors import lineage_above
from assay.models import Category, LineageEdge, Replica
from execution_engine.exact import from_json as number
from execution_engine.freshness.derive_freshness import TIME_TO_COMPLETE
from execution_engine.language.serialise import from_json
from execution_engine.models import Measurement, Run
from execution_engine.outcome import Outcome

from . import lateness
from .causes import MISSING, Spot, Trouble
from .missing_rows import broken_run, missing_rows
from .sizes import UNKNOWN_SIZE, BrokenResult, Size, size_of

Place = tuple[int, str]  # dataset id and category
USUAL_WINDOWS = 14


@dataclass(frozen=True, kw_only=True)
class Around:
    """The troubles of a dataset and of all its upstreams, and the lineage between them."""

    troubles: dict[Place, Trouble]
    standings: dict[Place, list[Standing]]
    alerts: dict[Place, Alert]
    upstreams: dict[str, frozenset[str]]

    def place(self, trouble_id: int | None) -> Place | None:
        """Where a trouble is."""
        return next((place for place, trouble in self.troubles.items() if trouble.id == trouble_id), None)

    def alert(self, trouble_id: int | None) -> Alert | None:
        """The open alert of a trouble, once it has failed."""
        place = self.place(trouble_id)
        return self.alerts.get(place) if place else None


def around(dataset_id: int, now: datetime) -> Around:
    """Everything un-waived that is WARN or FAIL in a dataset or upstream of it."""
    lineage = lineage_above(dataset_id)
    reached = closure(dataset_id, lineage)
    standings = _broken(reached)
    alerts = {
        (alert.dataset_id, alert.category): alert
        for alert in Alert.objects.filter(dataset__in=reached, closed_at__isnull=True)
    }
    homes = dict(Replica.objects.filter(dataset__in=reached, position=0).values_list("dataset_id", "datacenter"))
    spots = {place: [_spot(row, homes.get(place[0], "")) for row in rows] for place, rows in standings.items()}
    for place, rows in standings.items():
        if place[1] == Category.FRESHNESS:
            judges = [spot for other in MISSING for spot in spots.get((place[0], other), ())]
            spots[place] = missing_rows(rows, spots[place], judges, home=homes.get(place[0], ""), now=now)
    troubles = {
        place: _trouble(number, place, rows, spots[place], alerts.get(place))
        for number, (place, rows) in enumerate(sorted(standings.items()))
    }
    upstreams = {str(id_): frozenset(map(str, lineage.get(id_, ()))) for id_ in reached}
    return Around(troubles=troubles, standings=standings, alerts=alerts, upstreams=upstreams)


def closure(dataset_id: int, lineage: dict[int, tuple[int, ...]]) -> set[int]:
    """A dataset and all that feeds it, directly or not, by id."""
    found, edge = {dataset_id}, [dataset_id]
    while edge:
        edge = [up for id_ in edge for up in lineage.get(id_, ()) if up not in found]
        found.update(edge)
    return found


def _broken(datasets: set[int]) -> dict[Place, list[Standing]]:
    rows = Standing.objects.filter(
        data_test__dataset__in=datasets,
        data_test__retired_at__isnull=True,
        state__in=BROKEN,
        waiver__isnull=True,
    )
    found: dict[Place, list[Standing]] = defaultdict(list)
    for row in rows.select_related("data_test__dataset", "revision", "last_run").order_by("window_start", "pk"):
        found[row.data_test.dataset_id, row.data_test.category].append(row)
    return dict(found)


def _trouble(number: int, place: Place, rows: list[Standing], spots: list[Spot], alert: Alert | None) -> Trouble:
    failed = [row.since for row in rows if row.state == State.FAIL]
    return Trouble(
        id=number,
        dataset=str(place[0]),
        category=place[1],
        spots=tuple(spots),
        since=min(row.broken_since or row.since for row in rows),
        failed_at=min(failed, default=None),
        eta=alert.eta if alert else None,
    )


def _spot(row: Standing, home: str) -> Spot:
    place = spoilt_place(row.data_test, home) or None
    since = row.broken_since or row.since
    size = size_of_run(broken_run(row), category=row.data_test.category, tree=row.revision.tree)
    return Spot(window=row.window, datacenter=place, failed=row.state == State.FAIL, since=since, size=size)


def size_of_run(run: Run | None, *, category: str, tree: Any) -> Size:
    """How large the fault is that a broken run found; of unknown size without one."""
    if run is None or run.outcome != Outcome.BROKEN:
        return UNKNOWN_SIZE
    known = {text: number(value) for text, value in run.operands.items()}
    return size_of(BrokenResult(category=category, tree=from_json(tree), operands=known, findings=run.findings))


def measured_at(rows: list[Standing], otherwise: datetime) -> datetime:
    """When the latest broken result among the standings was measured."""
    runs = [row.last_run for row in rows if row.last_run is not None and row.last_run.outcome == Outcome.BROKEN]
    return max((run.measured_at for run in runs if run.measured_at is not None), default=otherwise)


def usual_delay(dataset_id: int) -> timedelta:
    """How long after its direct upstreams a dataset's windows are usually complete, by the last weeks."""
    upstreams = LineageEdge.objects.filter(downstream=dataset_id).values_list("upstream", flat=True)
    return lateness.usual_delay(_completions(dataset_id), [_completions(upstream) for upstream in upstreams])


def _completions(dataset_id: int) -> list[float]:
    """The seconds from each of the last windows' end to when it was found complete."""
    rows = Measurement.objects.filter(dataset=dataset_id, spec_text=TIME_TO_COMPLETE.text, value__isnull=False)
    values = rows.order_by("-window_start").values_list("value", flat=True)[:USUAL_WINDOWS]
    return [value for value in values if value is not None]
