"""Measurements that end the process which takes them: suspected, tried alone, then left out.

A hand lifts a quarantine in ``runs``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from django.db.models import Q, QuerySet, Sum

from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.metrics.spec import MetricSpec

from .models import Measurement, Scan, Suspect
from .outcome import ABNORMAL, Failure, Reason

# Poison: a metric that ends its scan abnormally is measured apart, and not at all after the third time (pure).
#
# A scan shares its passes, and with them its end: one condition that hangs costs every test of the table its result.
# So what was in such a scan is measured apart from the rest next time: what is ours in one pass and each piece of
# users' SQL by itself, after the second time everything by itself, the worst last. Only what ended so by itself, as
# its third time, is quarantined; its neighbours are cleared by the values that they give.

MOST_ENDS = 3
ONE_BY_ONE = 2  # ends after which everything is measured by itself
MOST_ENDS_OF_A_SCAN = 3  # then the rest of the scan waits for another: its deadline comes with each
Group = tuple[MeasurementRequest, ...]


def groups(requests: Sequence[MeasurementRequest], ends: Mapping[str, int]) -> tuple[Group, ...]:
    """What to scan together, in order; ``ends``: how often each, by its key, has ended abnormally of late."""
    times = {item.key: ends.get(item.key, 0) for item in requests}
    clear = tuple(item for item in requests if not times[item.key])
    ours = tuple(item for item in requests if 0 < times[item.key] < ONE_BY_ONE and not has_user_sql(item.spec))
    together = {item.key for item in (*clear, *ours)}
    alone = sorted((item for item in requests if item.key not in together), key=lambda item: times[item.key])
    return tuple(group for group in (clear, ours, *((item,) for item in alone)) if group)


def has_user_sql(spec: MetricSpec) -> bool:
    """Whether somebody wrote a part of what Spark is to run."""
    return spec.where is not None or any(isinstance(argument, str) for argument in spec.arguments)


def is_quarantined(ends: int, *, alone: bool) -> bool:
    """Whether that many abnormal ends, the last of them by itself or not, are enough."""
    return alone and ends >= MOST_ENDS


def quarantine_failure(spec_text: str, ends: int, last: Failure) -> Failure:
    """What those who ask for it are told."""
    detail = (
        f"{spec_text} ended abnormally {ends} times, at last by itself ({last}); it is not tried again until the test "
        "is revised, or an operator lifts the quarantine"
    )
    return Failure(reason=Reason.QUARANTINED, detail=detail)


NOT_TRIED = Failure(
    reason=Reason.ENGINE_UNREACHABLE,
    detail=f"not tried, as {MOST_ENDS_OF_A_SCAN} others of its scan ended abnormally before it; it is tried again",
)


# Remember what ended abnormally until it gives a value again, and quarantine what is found to be the poison.

log = structlog.get_logger(__name__)

REMEMBERED = timedelta(days=35)  # then a window that nobody tries again stops setting its metric apart


def ends_before(measurements: Sequence[Measurement], now: datetime) -> dict[int, int]:
    """How often each measurement's metric ended abnormally there of late, over whichever window, by id."""
    rows = Suspect.objects.filter(
        Q(last_at__gt=now - REMEMBERED) | Q(quarantined_at__isnull=False),
        dataset__in={row.dataset_id for row in measurements},
        datacenter__in={row.datacenter for row in measurements},
        spec_hash__in={row.spec_hash for row in measurements},
    )
    ends: Counter[tuple[int, str, str]] = Counter()
    for dataset_id, datacenter, spec_hash, times in rows.values_list("dataset_id", "datacenter", "spec_hash", "ends"):
        ends[dataset_id, datacenter, spec_hash] += times
    places = {row.pk: (row.dataset_id, row.datacenter, row.spec_hash) for row in measurements}
    return {pk: ends[place] for pk, place in places.items() if place in ends}


def note_ends(
    scan: Scan,
    measurements: Sequence[Measurement],
    results: Mapping[int, Measured],
    *,
    alone: set[int],
    earlier_ends: Mapping[int, int],
    now: datetime,
) -> dict[int, Measured]:
    """Note which suspects the scan clears or blames; gives the results, and says in those that it quarantines so.

    ``alone``: ids of what was measured by itself; ``earlier_ends``: of what had ended abnormally before.
    """
    noted = dict(results)
    for row in measurements:
        result = results.get(row.pk)
        if result is None:
            continue
        if result.failure is None and row.pk in earlier_ends:
            _overlapping(scan, row).delete()
        elif result.failure is not None and result.failure.reason in ABNORMAL:
            failure = result.failure
            suspect, _ = Suspect.objects.select_for_update().get_or_create(
                dataset_id=scan.dataset_id,
                datacenter=scan.datacenter,
                spec_hash=row.spec_hash,
                window_start=scan.window_start,
                window_end=scan.window_end,
                defaults={"spec_text": row.spec_text, "first_at": now, "last_at": now},
            )
            suspect.ends += 1
            suspect.reason, suspect.detail, suspect.last_at = failure.reason.value, failure.detail, now
            suspect.save()
            ends = _overlapping(scan, row).aggregate(ends=Sum("ends"))["ends"]
            noted[row.pk] = Measured(failure=failure)
            if is_quarantined(ends, alone=row.pk in alone):
                suspect.quarantined_at = now
                suspect.save(update_fields=["quarantined_at"])
                log.error(
                    "quarantined", suspect=suspect.pk, metric=row.spec_text, of=str(scan.dataset), why=str(failure)
                )
                noted[row.pk] = Measured(failure=quarantine_failure(row.spec_text, ends, failure))
    return noted


def _overlapping(scan: Scan, row: Measurement) -> QuerySet[Suspect]:
    """Of this metric there; the window of a whole table is another each time, and overlaps the one before."""
    return Suspect.objects.filter(
        dataset=scan.dataset_id,
        datacenter=scan.datacenter,
        spec_hash=row.spec_hash,
        window_start__lt=scan.window_end,
        window_end__gt=scan.window_start,
    )
