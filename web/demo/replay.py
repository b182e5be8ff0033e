"""The replay: time goes to the next thing that happens in the world, it happens, and Assay works it all off."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from shutil import copyfile

import pyarrow as pa
import pyarrow.compute as pc
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections, transaction
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from alerting.notices.services import silence
from alerting.state import WaiverScope
from assay import clock
from assay.access import Role
from assay.accounts import follow
from assay.catalog.profile import CatalogProfile
from assay.catalog.services import apply_catalog, record_completion
from assay.catalog.yaml.provider import load as load_catalog
from assay.models import Dataset, Member
from assay.queue.drain import advance
from assay.time.windows import Window
from incident_manager import services
from incident_manager.models import Incident, Report, Saw
from test_generator.services import sync

from .faults import FAULTS, Fault, FaultKind, fault_named, landing_with, late
from .world import (
    BEGINS_AT,
    BY_NAME,
    COPIED_AFTER,
    COPY,
    DAYS,
    ENDS_AT,
    FIRST_DAY,
    HOME,
    MART,
    RAW_WEATHER,
    TABLES,
    ZONE,
    DemoTable,
    Lake,
    load_source,
    local,
    window_of,
)

# How far a replay is, on standard error: a bar where somebody looks at it, elsewhere a line for each simulated day.

COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("days"),
    TimeElapsedColumn(),
)
DAY_COUNT = (ENDS_AT.astimezone(ZONE).date() - FIRST_DAY).days  # local ones, one of which has 23 hours


@contextmanager
def progress(console: Console) -> Iterator[Callable[[datetime], None]]:
    """What is to be told each instant of a replay."""
    if not console.is_terminal:
        printed_days: set[date] = set()

        def print_day(instant: datetime) -> None:
            today = instant.astimezone(ZONE).date()
            if instant < ENDS_AT and today not in printed_days:
                printed_days.add(today)
                number = (today - FIRST_DAY).days + 1
                line = f"replaying {today:%a %d %b %Y}, day {number} of {DAY_COUNT}"
                console.print(line, soft_wrap=True, highlight=False)

        yield print_day
        return
    with Progress(*COLUMNS, console=console) as bar:
        task = bar.add_task("replaying", total=(ENDS_AT - BEGINS_AT).days)

        def move_bar(instant: datetime) -> None:
            today = f"{instant.astimezone(ZONE):%a %d %b %Y}"
            bar.update(task, completed=(instant - BEGINS_AT).days, description=today)

        yield move_bar
        move_bar(ENDS_AT)


# The demo's home: a folder of its own, wiped by each demo, and never one that holds anything else.

MARKER = "demo"
MADE_BY_SETTINGS = frozenset({"secret_key"})  # written by whichever command is first


class UnableToUseHome(Exception):
    """The folder holds something that is not a demo's."""


def prepare(home: Path) -> None:
    """An empty home with an empty database; raises UnableToUseHome."""
    claim(home)
    connections.close_all()
    wipe(home)
    call_command("migrate", verbosity=0)


def claim(home: Path) -> None:
    """Mark the folder as a demo's, unless it is in use for something else."""
    home.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in home.iterdir()} - MADE_BY_SETTINGS
    if names and MARKER not in names:
        raise UnableToUseHome(
            f"{home} holds {', '.join(sorted(names)[:5])} and was not made by a demo, which would wipe it: "
            "set ASSAY_HOME to a folder that is not there yet"
        )
    (home / MARKER).write_text("Made by `assay demo`, which wipes this folder.\n")


def wipe(home: Path) -> None:
    """Remove all but the marker and what the settings have read already."""
    for path in home.iterdir():
        if path.name in MADE_BY_SETTINGS | {MARKER}:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


# What people do in the demo: push a wrong SLA, answer incidents, report what no test sees, ask before they read, mute
# a table, let a pipeline read what is bad.

SOURCE = "catalog"
TIGHT = 0.99
ANALYST, MART_OWNER, LAKE_OWNER = "ana@example.com", "mia@example.com", "lea@example.com"
WEATHER_OWNER = "wim@example.com"

ROLES = {ANALYST: Role.VIEWER, MART_OWNER: Role.OWNER, LAKE_OWNER: Role.OWNER}

DROPPED, WRONG_SLA, MIXED_UP = fault_named("dropped-rows"), fault_named("wrong-sla"), fault_named("mixed-up-delays")
LAST = fault_named("lost-again")
EXPLAINED_AT = local("03-16 09:00")
REPORTED_AT, CONFIRMED_AT, FIXED_AT = local("03-22 13:00"), local("03-22 15:00"), local("03-23 09:00")
FOLLOWED_AT = local("03-06 09:00")
MUTED_AT, MUTE_ENDS_AT = local("04-02 09:00"), local("04-05 09:00")
OVERRIDDEN_AT = local("04-03 22:00")
ASKS_AFTER = timedelta(hours=9)  # the analyst's report runs at nine


Deed = tuple[datetime, Callable[[datetime], object]]  # when, and what somebody does then


def deeds(catalog: Path) -> list[Deed]:
    """All that anybody does; ``catalog`` is the file that the demo began with."""

    def look_up(window: Window, now: datetime) -> None:
        services.look_up(dataset=Dataset.objects.get(full_name=MART), window=window, now=now)

    def push_sla(now: datetime) -> None:
        mart = next(dataset for dataset in load_catalog(catalog).datasets if dataset.full_name == MART)
        wrong = replace(mart, slas=replace(mart.slas, completeness=TIGHT))
        apply_catalog(CatalogProfile(datasets=(wrong,), lineage=(), custom=()), source=SOURCE, full=False, now=now)

    def explain(now: datetime) -> None:
        incident = _open_incident(DROPPED)
        services.acknowledge(incident, author=LAKE_OWNER, now=now)
        services.annotate(
            incident,
            author=LAKE_OWNER,
            now=now,
            root_cause="the clean-up job took re-bookings for duplicates",
            eta=DROPPED.ended_at,
            backfill="waits for the weekend's free machines",
        )

    def force(now: datetime) -> None:
        reason = "The hours without a departure are meant to be there: the SLA is wrong, not the data."
        incident, scope = _open_incident(WRONG_SLA), WaiverScope.TEST
        services.force_resolve(incident, scope=scope, reason=reason, author=MART_OWNER, now=now)

    def report(now: datetime) -> None:
        dataset, window, saw = Dataset.objects.get(full_name=MIXED_UP.table), window_of(MIXED_UP.day), Saw.VALUES_WRONG
        text = "Flights that left on time arrive an hour late here, late ones in time: the delays are mixed up."
        services.report(dataset=dataset, window=window, reporter=ANALYST, description=text, saw=saw, now=now)

    return [
        *((window_of(day).end + ASKS_AFTER, partial(look_up, window_of(day))) for day in DAYS),
        (EXPLAINED_AT, explain),
        (WRONG_SLA.started_at, push_sla),
        (WRONG_SLA.ended_at, force),
        (REPORTED_AT, report),
        (CONFIRMED_AT, lambda now: services.confirm_report(Report.objects.get(), author=LAKE_OWNER, now=now)),
        (FOLLOWED_AT, _follow_mart),
        (MUTED_AT, _mute_weather),
        (OVERRIDDEN_AT, _let_read),
        (FIXED_AT, lambda now: services.fix_report(Report.objects.get(), author=LAKE_OWNER, now=now)),
    ]


def _mute_weather(now: datetime) -> None:
    reason = "LaGuardia's station is exchanged this week: its gauges jump now and then."
    weather = Dataset.objects.get(full_name=RAW_WEATHER)
    silence(dataset=weather, category="custom", ends_at=MUTE_ENDS_AT, reason=reason, author=WEATHER_OWNER, now=now)


def _let_read(now: datetime) -> None:
    reason = "The forecast of delays needs no flight of United's."
    flights, window = Dataset.objects.get(full_name=LAST.table), window_of(LAST.day)
    services.override(dataset=flights, window=window, pipeline="forecast", reason=reason, author=LAKE_OWNER, now=now)


def _follow_mart(now: datetime) -> None:
    follow(User.objects.get(username=ANALYST), Dataset.objects.get(full_name=MART))


def _open_incident(fault: Fault) -> Incident:
    return Incident.objects.get(dataset__full_name=fault.table, category=fault.category, resolved_at__isnull=True)


# When partitions land, are spoilt and are repaired: what the company's pipelines do.


@dataclass(frozen=True, kw_only=True)
class Writing:
    """A partition written in one datacenter; ``announced``: its pipeline tells of it."""

    at: datetime
    table: str
    day: date
    datacenter: str
    fault: Fault | None = None  # what is wrong with it
    announced: bool = True

    def write(self, lake: Lake) -> None:
        """Build it at home, or copy what home has, and write it with its fault."""
        rows = BY_NAME[self.table].build(lake, self.day) if self.datacenter == HOME else lake.read(self.table, self.day)
        lake.write(self.table, self.day, self.datacenter, spoilt(rows, self.fault) if self.fault else rows)


def lands_at(table: DemoTable, day: date) -> datetime:
    """When a partition lands at home: as usual, or as late as what it is built from makes it."""
    if (fault := late(table.name, day)) is not None:
        return fault.ended_at
    upstream = BY_NAME[table.upstream] if table.upstream else None
    lateness = lands_at(upstream, day) - upstream.usually_lands_at(day) if upstream else timedelta()
    return table.usually_lands_at(day) + lateness


def writings() -> list[Writing]:
    """All that is ever written, in order."""
    landings: list[Writing] = []
    for day in DAYS:
        for table in TABLES:
            at, fault = lands_at(table, day), landing_with(table.name, day)
            landings.append(Writing(at=at, table=table.name, day=day, datacenter=HOME, fault=fault))
            landings.append(Writing(at=at + COPIED_AFTER, table=table.name, day=day, datacenter=COPY))
    everything = [*landings, *(writing for fault in FAULTS for writing in _spoilings_and_repairs(fault))]
    return sorted(everything, key=attrgetter("at"))  # at one instant: in the order of the tables


def _spoilings_and_repairs(fault: Fault) -> Iterator[Writing]:
    """What spoils a partition that had landed well, of which nobody tells, and what repairs one."""
    if fault.kind in (FaultKind.LATE, FaultKind.WRONG_SLA):
        return
    for at, spoils in ((fault.started_at, True), (fault.ended_at, False)):
        if spoils and fault.on_landing:
            continue
        is_announced = fault.announced and not spoils
        for place in fault.datacenters:
            # a copy of what is spoilt at home needs no spoiling of its own
            own = fault if spoils and not (place == COPY and HOME in fault.datacenters) else None
            yield Writing(at=at, table=fault.table, day=fault.day, datacenter=place, fault=own, announced=is_announced)
        for table in fault.rebuilt:
            for place in (HOME, COPY):
                yield Writing(at=at, table=table, day=fault.day, datacenter=place, announced=is_announced)


KILOMETRES_A_MILE = 1.609344
DOUBLED_ROWS = 10
MIXED_UP_ONE_IN = 20  # pairs of neighbours, so a tenth of the rows
ONE_IN = 5  # of all rows is lost, in one datacenter or in all
LOST_SLICE = ("UA", "EWR")  # carrier and origin: an eighth of a day's flights


def spoilt(rows: pa.Table, fault: Fault) -> pa.Table:
    """The rows as the fault leaves them."""
    match fault.kind:
        case FaultKind.ROWS_LOST:
            return rows.filter(pa.array(at % ONE_IN != 0 for at in range(rows.num_rows)))
        case FaultKind.SLICE_LOST:
            carrier, origin = LOST_SLICE
            return rows.filter((pc.field("carrier") != carrier) | (pc.field("origin") != origin))
        case FaultKind.ROWS_DOUBLED:
            return pa.concat_tables([rows, rows.slice(0, DOUBLED_ROWS)])
        case FaultKind.WRONG_UNIT:
            column, miles = "distance", rows.column("distance")
            values = pc.round(pc.multiply(miles, KILOMETRES_A_MILE)).cast(miles.type)
        case _:
            assert fault.kind is FaultKind.MIXED_UP
            column, order = "arr_delay", list(range(rows.num_rows))
            for at in range(0, rows.num_rows - 1, MIXED_UP_ONE_IN):  # the column as a whole is what it was
                order[at], order[at + 1] = at + 1, at
            values = rows.column(column).take(order)
    return rows.set_column(rows.column_names.index(column), column, values)


CATALOG = Path(__file__).with_name("catalog.yaml")


def replay(
    home: Path,
    *,
    seen: Callable[[datetime], None] = lambda instant: None,
    settle: Callable[[], object] | None = None,
    until: datetime = ENDS_AT,
) -> None:
    """Live through the demo's four weeks, or to ``until``, in an empty database, with the lake's files in ``home``.

    All is worked off here; or ``settle`` returns once nothing is pending, as it waits for workers that do it.
    """
    lake = Lake(folder=home / "lake", source=load_source())
    lake.create()
    catalog = home / CATALOG.name
    copyfile(CATALOG, catalog)
    clock.simulate(BEGINS_AT)
    with clock.held(BEGINS_AT):
        sync(load_catalog(catalog), source=SOURCE, now=BEGINS_AT)
        for name, role in ROLES.items():  # nobody of them has a password
            Member.objects.create(user=User.objects.create_user(name), role=role)
        for at, act in happenings(catalog, lake):
            if at <= until:
                advance(at, seen=seen, settle=settle)
                act(at)
        advance(until, seen=seen, settle=settle)


def happenings(catalog: Path, lake: Lake) -> list[Deed]:
    """Everything that pipelines and people do, in order; at one instant the pipelines come first."""

    def write(writing: Writing, now: datetime) -> None:
        writing.write(lake)
        if writing.announced:  # the pipeline says that it has completed the partition
            with transaction.atomic():
                record_completion(
                    dataset=Dataset.objects.get(full_name=writing.table),
                    datacenter=writing.datacenter,
                    window=window_of(writing.day),
                    pipeline=f"{writing.table} daily",
                    now=now,
                )

    pipelines: list[Deed] = [(writing.at, partial(write, writing)) for writing in writings()]
    return sorted([*pipelines, *deeds(catalog)], key=itemgetter(0))
