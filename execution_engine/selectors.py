"""What the engine knows: past values, the period of a test, and who has read what."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from django.db.models import QuerySet

from assay.config import config
from assay.database.statements import in_parts
from assay.models import Dataset, DataTest, Replica, Scope
from assay.time.windows import Granularity, Window

from .exact import Number, from_json
from .models import Ask, Exclusion, Measurement, Scan
from .planning import schedules


def latest_values(dataset_id: int, datacenter: str, hashes: Mapping[Window, str]) -> dict[Window, Number | None]:
    """The latest value of each window under its spec hash; None where there is none, or the window is spoilt."""
    rows = _taken(dataset_id, datacenter, hashes).values_list(
        "window_start", "window_end", "spec_hash", "value", "exact"
    )
    values_by_key = {
        (Window(start=start, end=end), spec_hash): from_json(exact or value)
        for start, end, spec_hash, value, exact in rows
    }
    return {window: values_by_key.get((window, hashes[window])) for window in hashes} | dict.fromkeys(
        excluded_windows(dataset_id, datacenter, hashes)
    )


def latest_measurements(
    dataset_id: int, datacenter: str, hashes: Mapping[Window, str], but_by: int | None = None
) -> dict[Window, Measurement | None]:
    """The latest measurement of each window under its spec hash, without its state; None as in ``latest_values``.

    ``but_by``: the key of a test whose own finding leaves no window out.
    """
    rows_by_key = {(row.window, row.spec_hash): row for row in _taken(dataset_id, datacenter, hashes).defer("state")}
    return {window: rows_by_key.get((window, hashes[window])) for window in hashes} | dict.fromkeys(
        excluded_windows(dataset_id, datacenter, hashes, but_by)
    )


def count_past(dataset_id: int, datacenter: str, hashes: Mapping[Window, str]) -> tuple[int, int]:
    """How many of these windows were measured under their spec hash, and how many of those are left out as spoilt."""
    rows = _taken(dataset_id, datacenter, hashes).values_list("window_start", "window_end", "spec_hash")
    hashes_by_window = {Window(start=start, end=end): spec_hash for start, end, spec_hash in rows}
    measured = {window: spec_hash for window, spec_hash in hashes.items() if hashes_by_window.get(window) == spec_hash}
    return len(measured), len(excluded_windows(dataset_id, datacenter, measured))


def _taken(dataset_id: int, datacenter: str, hashes: Mapping[Window, str]) -> QuerySet[Measurement]:
    return Measurement.objects.filter(
        dataset=dataset_id,
        datacenter=datacenter,
        window_start__in=[window.start for window in hashes],
        spec_hash__in=set(hashes.values()),
        measured_at__isnull=False,
        failure_reason="",
    ).order_by("measured_at", "pk")


def excluded_windows(
    dataset_id: int, datacenter: str, windows: Collection[Window], but_by: int | None = None
) -> set[Window]:
    """Those of the windows that overlap a spoilt one, which another test than ``but_by`` has found."""
    if not windows:
        return set()
    rows = Exclusion.objects.filter(
        dataset=dataset_id,
        datacenter__in=("", datacenter),
        window_start__lt=max(window.end for window in windows),
        window_end__gt=min(window.start for window in windows),
    )
    spoilt = [row.window for row in rows if row.data_test_id is None or row.data_test_id != but_by]
    return {window for window in windows if any(window.overlaps(other) for other in spoilt)}


def period(data_test: DataTest) -> timedelta:
    """The usual time between two scheduled runs of a test."""
    assert data_test.revision
    granularity = data_test.dataset.granularity
    return schedules.period(data_test.revision.schedule, Granularity(granularity) if granularity else None)


def idle_datacenters() -> list[str]:
    """The datacenters of the catalog where no worker of the service has ever begun a scan; none without a broker."""
    if not config().broker_url:
        return []
    replicas = Replica.objects.filter(dataset__missing_since__isnull=True, dataset__business_metric__isnull=True)
    places = set(replicas.order_by().values_list("datacenter", flat=True).distinct())
    busy = Scan.objects.filter(datacenter__in=places, started_at__isnull=False)
    return sorted(places - set(busy.order_by().values_list("datacenter", flat=True).distinct()))


def has_judged(dataset: Dataset, datacenter: str, window: Window) -> list[tuple[DataTest, Window]]:
    """The live tests, each with the window it was run over, that have read any data of ``window`` in one datacenter."""
    read = Measurement.objects.filter(
        dataset=dataset, datacenter=datacenter, window_start__lt=window.end, window_end__gt=window.start
    )
    measurements = set(read.values_list("pk", flat=True))
    frontier, users = measurements, Measurement.inputs.through.objects
    while frontier:
        link_rows = (users.filter(to_measurement__in=part) for part in in_parts(frontier))
        frontier = {
            pk for rows in link_rows for pk in rows.values_list("from_measurement_id", flat=True)
        } - measurements
        measurements |= frontier
    judged = Ask.objects.filter(run__data_test__retired_at__isnull=True, run__evaluated_at__isnull=False).order_by()
    columns = ("run__data_test_id", "run__window_start", "run__window_end")
    places = {
        place
        for part in in_parts(measurements)
        for place in judged.filter(measurement__in=part).values_list(*columns).distinct()
    }
    tests = DataTest.objects.select_related("dataset").in_bulk({test for test, _, _ in places})
    return [(tests[test], Window(start=start, end=end)) for test, start, end in sorted(places)]


def keeping_states(ids: Collection[int]) -> set[int]:
    """Those of the datasets (ids) of which some live test reads more than one partition at once: states are kept."""
    reading_all = DataTest.objects.filter(scope=Scope.TABLE, retired_at__isnull=True, dataset__in=ids)
    return set(reading_all.values_list("dataset_id", flat=True))
