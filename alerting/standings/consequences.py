"""What a change of a standing asks of others: a closer watch over its data, and a word to who can mend it."""

from datetime import datetime

from django.db.models import Q

from alerting.models import Notice, Standing, Waiver
from alerting.notices.messages import known_again, unknown
from alerting.notices.policy import Audience, Event, told_of_unknown
from alerting.notices.services import tell
from alerting.state import BROKEN, TROUBLED, State, WaiverKind
from alerting.verdicts.evidence import of_the_past
from assay.config import config
from assay.models import Category, Dataset, DataTest, Scope, Severity
from assay.time.windows import Window, partition_name
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import compares_profiles
from execution_engine.models import Ask, Measurement
from execution_engine.outcome import Outcome, Reason
from execution_engine.services import release_window, take_release_back, watch_window

NOW_IS = {
    State.PASS: "holds again",
    State.WARN: "has a verdict again: it is broken",
    State.FAIL: "has a verdict again: it is broken",
    State.LEARNING: "is gathering history again",
    State.PENDING: "needs no verdict yet",
}


def note_released(standing: Standing, test: DataTest, waiver: Waiver | None) -> None:
    """Let what a user calls right join the past that novelty is judged by, for as long as the user says so.

    What a user accepts is bad data that stays as it is: it never joins.
    """
    assert test.revision is not None
    if not compares_profiles(from_json(test.revision.tree)):
        return
    if waiver is not None and waiver.kind == WaiverKind.FORCED:
        release_window(test=test, window=standing.window, until=waiver.ends_at)
    elif waiver is not None and waiver.kind == WaiverKind.ACCEPTED:
        release_window(test=test, window=standing.window, until=None, is_wrong=True)
    else:
        take_release_back(test=test, window=standing.window)


def asks_for_looks(standing: Standing) -> bool:
    """Whether its data is to be looked at often: the window is in trouble and not waived, or its due run has erred."""
    erred = standing.state == State.PENDING and standing.error_reason != ""
    return (standing.state in TROUBLED or erred) and standing.waiver_id is None


def watch_closely(standing: Standing, test: DataTest, *, was: bool, now: datetime) -> None:
    """Watch what the test reads closely while its window asks for that, and as usual again after."""
    is_now = asks_for_looks(standing)
    if is_now == was:
        return
    read = _read_by(standing, test)
    datasets = Dataset.objects.in_bulk({dataset_id for dataset_id, _, _ in read})
    for dataset_id, datacenter, window in sorted(read, key=str):
        if is_now or not _troubled_elsewhere(standing, dataset_id, datacenter, window):
            dataset = datasets[dataset_id]
            watch_window(dataset=dataset, datacenter=datacenter, window=window, closely=is_now, now=now)


def _read_by(standing: Standing, test: DataTest) -> set[tuple[int, str, Window]]:
    asked = Measurement.objects.filter(asks__run=standing.last_run_id)
    places = asked.values_list("dataset_id", "datacenter", "window_start", "window_end").distinct()
    found = {(dataset, place, Window(start=start, end=end)) for dataset, place, start, end in places}
    if test.dataset.business_metric is not None:  # it has no files: those of its sources change
        return _read_by_sources(standing)
    return found or {(test.dataset_id, test.datacenter, standing.window)}


def _read_by_sources(standing: Standing) -> set[tuple[int, str, Window]]:
    """What the values of a business metric were computed from, through as many steps as there are."""
    found: set[tuple[int, str, Window]] = set()
    rows = Measurement.objects.filter(asks__run=standing.last_run_id)
    while keys := list(rows.values_list("pk", flat=True)):
        rows = Measurement.objects.filter(users__in=keys).select_related("dataset").defer("state").distinct()
        found |= {(row.dataset_id, row.datacenter, row.window) for row in rows if row.dataset.business_metric is None}
    return found


def _troubled_elsewhere(standing: Standing, dataset_id: int, datacenter: str, window: Window) -> bool:
    """Whether another test that is in trouble reads the same data."""
    # the runs first: they are few, and SQLite would go through all that is in trouble anywhere
    asked = Ask.objects.filter(
        measurement__dataset=dataset_id,
        measurement__datacenter=datacenter,
        measurement__window_start=window.start,
        measurement__window_end=window.end,
    )
    others = Standing.objects.filter(
        Q(state__in=TROUBLED) | (Q(state=State.PENDING) & ~Q(error_reason="")),
        waiver__isnull=True,
        last_run__in=list(asked.values_list("run", flat=True).distinct()),
    )
    return others.exclude(pk=standing.pk).exists()


def note_unknown(standing: Standing, test: DataTest, *, was: str, now: datetime) -> None:
    """Tell of a window that could not be judged: on-call of what passes, the owner of what the test is at fault for."""
    if standing.state != State.UNKNOWN or was == State.UNKNOWN or standing.waiver_id is not None:
        return
    reason = Reason(standing.error_reason) if standing.error_reason else None
    audience = told_of_unknown(reason, freshness_broken=_freshness_is_broken(standing, test))
    if audience is Audience.NOBODY or of_the_past([standing]):
        return
    run = standing.last_run  # what held or broke before the newest run is no cause
    cause = run.sentence if run is not None and run.outcome == Outcome.ERROR else ""
    text = unknown(
        dataset=test.dataset.full_name,
        test=test.name,
        partition=_partition(standing, test),
        since=standing.since,
        reason=cause or (reason.value if reason else "no result yet"),
    )
    tell(
        event=Event.UNKNOWN,
        recipient=test.dataset.owner if audience is Audience.OWNER else config().on_call,
        team=test.dataset.team if audience is Audience.OWNER else "",
        is_soft=audience is Audience.OWNER and standing.revision.severity == Severity.SOFT,
        tier=test.dataset.tier,
        subject=text.title,
        body=text.body,
        facts=_facts(standing, test),
        key=f"standing:{standing.pk}:{standing.since:%Y%m%dT%H%M%S}",
        now=now,
    )


def note_known_again(standing: Standing, test: DataTest, *, was: str, now: datetime) -> None:
    """Tell people once that a window can be judged again, if they were told that it could not."""
    if was != State.UNKNOWN or standing.state == State.UNKNOWN:
        return
    keys = {"key__gte": f"standing:{standing.pk}:", "key__lt": f"standing:{standing.pk};"}  # SQLite scans for prefixes
    told = Notice.objects.filter(event=Event.UNKNOWN, **keys, suppressed="")
    last = told.order_by("-pk").values_list("key", "recipient").first()
    if last is None:
        return
    text = known_again(
        dataset=test.dataset.full_name,
        test=test.name,
        partition=_partition(standing, test),
        at=now,
        now_is=NOW_IS.get(State(standing.state), "needs no verdict any more"),
    )
    key, recipient = last
    tell(
        event=Event.KNOWN_AGAIN,
        recipient=recipient,
        team=test.dataset.team if recipient == test.dataset.owner else "",
        is_soft=recipient == test.dataset.owner and standing.revision.severity == Severity.SOFT,
        tier=test.dataset.tier,
        subject=text.title,
        body=text.body,
        facts=_facts(standing, test),
        key=key.partition(f":{Event.UNKNOWN}:")[0],
        now=now,
    )


def _partition(standing: Standing, test: DataTest) -> str:
    return partition_name(standing.window, test.dataset.partitioning, whole_table=test.scope == Scope.TABLE)


def _facts(standing: Standing, test: DataTest) -> dict[str, str]:
    return {"dataset": test.dataset.full_name, "test": test.name, "window": standing.window.text}


def _freshness_is_broken(standing: Standing, test: DataTest) -> bool:
    """Whether another test says that there is no data; of a business metric those that judge its value say it."""
    says = Category.FRESHNESS if test.dataset.business_metric is None else Category.METRIC
    return Standing.objects.filter(
        data_test__dataset=test.dataset_id,
        data_test__category=says,
        state__in=BROKEN,
        window_start__lt=standing.window_end,
        window_end__gt=standing.window_start,
    ).exists()
