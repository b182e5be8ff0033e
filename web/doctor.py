"""What can be wrong with a set-up: one small check each, its finding, and how to mend it.

It changes nothing: what it writes where Assay keeps files, to see that it can, it removes again.
"""

import os
import shutil
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Count, Min, Q
from kombu.exceptions import OperationalError
from pyarrow.fs import FileType
from redis import RedisError

from alerting.channels import TransportError, channels, check_routes
from alerting.models import Notice, Standing
from alerting.routes import UnableToReadRoutes
from assay import clock
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.profile import FILES
from assay.catalog.tellings import UnableToReadSource
from assay.celery import app
from assay.clock import database_now
from assay.command_line.command import missing_migrations
from assay.config import config
from assay.database.storage_errors import DAMAGED, of_database
from assay.edge.destination import UnableToCall
from assay.edge.outbound import judge
from assay.models import Dataset, Pull, Replica
from assay.queue.claims import LONGEST_LEASE, leased, pending, unleased
from assay.queue.drain import backlogs, worst_rows
from assay.queue.flow import STAGES
from assay.references import UnableToReadSecret
from assay.scheduler.beat import scheduler
from assay.scheduler.sweep import rules
from assay.spark_conf import resolve_secrets
from assay.stores import Store, is_store, store_of
from execution_engine.engines.catalogs.locate import fault_of_catalog
from execution_engine.engines.files.listing import UnableToListFiles, root_of
from execution_engine.engines.files.stores import fault_of
from execution_engine.engines.spark.session import CONNECT_PORT, CONNECT_SECONDS, UnableToFindJava, find_java
from execution_engine.models import Scan, Suspect
from execution_engine.outcome import Reason
from execution_engine.own_files import write_fault
from execution_engine.providers import read_provider
from execution_engine.read_by import FallbackKind
from execution_engine.storage import table_of


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check's answer; ``mend`` is empty where nothing is wrong."""

    check: str
    is_well: bool
    found: str
    mend: str = ""


def well(check: str, text: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check=check, is_well=True, found=text)


def ill(check: str, text: str, mend: str) -> Finding:
    """What is wrong, and how to mend it."""
    return Finding(check=check, is_well=False, found=text, mend=mend)


def settle(check: str, wrong: Sequence[tuple[str, str]], fine: str) -> Finding:
    """One finding of all that is wrong, each with how to mend it."""
    if not wrong:
        return well(check, fine)
    return ill(check, "; ".join(text for text, _ in wrong), "; ".join(mend for _, mend in wrong))


def catalog() -> Finding:
    """Whether there is any dataset."""
    if count := Dataset.objects.filter(missing_since__isnull=True).count():
        return well("catalog", f"{count} datasets")
    named = [f"`assay sync --provider {provider.name}`" for provider in config().provider_list]
    return ill("catalog", "it is empty", f"run {named[0] if named else '`assay sync FILE`'} (docs/catalog.md)")


def pulled() -> Finding:
    """Whether the catalog files and the providers that are read by themselves could be read."""
    rows = list(Pull.objects.order_by("name"))
    wrong = [
        (
            f"{row.what} cannot be read since {row.failing_since:%Y-%m-%d %H:%M} UTC: {row.fault}",
            f"correct that; {row.what} is read again at {row.due_at:%Y-%m-%d %H:%M} UTC",
        )
        for row in rows
        if row.failing_since
    ]
    reads = [f"{row.what}: {_read_text(row)}" for row in rows]
    return settle("pull", wrong, "; ".join(reads) or "nothing is read on a schedule")


def _read_text(row: Pull) -> str:
    if row.read_at is None:
        return "not read yet"
    count = len(row.left_out)
    left_out = f", without {count} things that `assay sync --provider {row.name}` names" if count else ""
    return f"read at {row.read_at:%Y-%m-%d %H:%M} UTC{left_out}"


SAMPLE = 100  # tables of a provider: all of a large one take minutes


def providers() -> Finding:
    """Whether each provider of metadata answers now, by the first of its tables."""
    wrong, tables = [], []
    for provider in config().provider_list:
        try:
            telling = read_provider(provider, SAMPLE)
        except UnableToReadSource as unable:
            wrong.append((str(unable), f"correct its entry in ASSAY_PROVIDERS, or what it reads: {provider.name}"))
        else:
            tables.append(f"{provider.name} answers, with {len(telling.tables)} tables")
    return settle("providers", wrong, "; ".join(tables) or "ASSAY_PROVIDERS lists none")


def replicas() -> Finding:
    """Whether the folder of every replica is there; a store that fails is asked once."""
    paths = Replica.objects.filter(storage__in=FILES).select_related("dataset")
    lost: list[str] = []
    failing: set[Store] = set()
    for replica in paths:
        store = None
        try:
            table = table_of(replica.dataset, replica)
            store, root = store_of(table.location, config().object_stores), root_of(table)
            is_there = store not in failing and root.filesystem.get_file_info(root.path).type != FileType.NotFound
        except (UnableToUseLocation, UnableToListFiles, OSError) as error:
            is_there = False
            failing |= {store} if store and isinstance(error, OSError) else set()
        if not is_there:
            lost.append(f"{replica} at {replica.location}")
    if lost:
        return ill("replicas", f"no data found for {'; '.join(lost[:5])}", "correct the locations in the catalog")
    return well("replicas", "every folder is there")


MOST_SKEW = 5.0  # seconds
STRICT = {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"}
ASKED = ("tx_isolation", "transaction_isolation", "time_zone", "sql_mode", "character_set_database")


def database() -> Finding:
    """Whether it answers."""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return unreachable(error)
    return well("database", f"{connection.vendor} {connection.settings_dict['NAME']}")


def unreachable(error: DatabaseError) -> Finding:
    """It does not answer: of SQLite's file how to mend it, of a server where to set its address."""
    if connection.vendor == "sqlite":
        text, _, mend = of_database(error).partition(": ")
        return ill("database", text, mend or "set ASSAY_DATABASE_URL")
    return ill("database", f"{connection.vendor} cannot be reached: {error}", "set ASSAY_DATABASE_URL")


def intact() -> Finding:
    """Whether every page of SQLite's file can be read; servers look after theirs."""
    if connection.vendor != "sqlite":
        return well("pages", f"{connection.vendor} looks after them")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        (answer,) = cursor.fetchone()
    if answer == "ok":
        return well("pages", "all can be read")
    file = connection.settings_dict["NAME"]
    return ill("pages", f"{file} is damaged ({answer})", DAMAGED.format(file=file, error=answer).partition(": ")[2])


def migrations() -> Finding:
    """Whether its tables are those of this version."""
    if missing := missing_migrations():
        return ill("migrations", f"{missing} are not applied", "run `assay migrate`")
    return well("migrations", "all applied")


def server() -> Finding:
    """Whether MariaDB or MySQL works as Assay needs it to."""
    if connection.vendor != "mysql":
        return well("settings", f"those of {connection.vendor} are Assay's own")
    with connection.cursor() as cursor:
        wrong = list(wrong_database_settings(variables(cursor)))
    if not connection.features.has_select_for_update_skip_locked:
        wrong.append(("its version cannot skip locked rows", "use MariaDB 10.6 or later, or MySQL 8"))
    return settle("settings", wrong, "isolation level, time zone, SQL mode and character set are right")


def variables(cursor: CursorWrapper) -> dict[str, str]:
    """What the session of a cursor says of its server's settings."""
    cursor.execute(f"SHOW SESSION VARIABLES WHERE Variable_name IN {ASKED}")
    return {name.lower(): value for name, value in cursor.fetchall()}


def wrong_database_settings(session_settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is wrong of a session's settings, each with how to mend it."""
    isolation = session_settings.get("transaction_isolation") or session_settings.get("tx_isolation", "")
    if isolation != "READ-COMMITTED":
        yield f"the isolation level is {isolation}", "let nothing between us and the server change sessions"
    if (zone := session_settings["time_zone"]) not in ("+00:00", "UTC"):
        yield f"the session's time zone is {zone}", "let nothing between us and the server change sessions"
    if not STRICT & set(session_settings["sql_mode"].split(",")):
        yield f"sql_mode {session_settings['sql_mode']!r} cuts values off silently", "set sql_mode=STRICT_TRANS_TABLES"
    if (characters := session_settings["character_set_database"]) != "utf8mb4":
        yield f"the character set is {characters}", "run ALTER DATABASE … CHARACTER SET utf8mb4, and convert its tables"


def clock_skew() -> Finding:
    """Whether the database's clock, by which all of Assay goes, agrees with this machine's."""
    return skew_finding(database_now(), datetime.now(UTC))


def skew_finding(theirs: datetime, ours: datetime) -> Finding:
    """What the difference between two clocks means."""
    ahead = (theirs - ours).total_seconds()
    if abs(ahead) <= MOST_SKEW:
        return well("clock", f"{abs(ahead):.1f} s off the database's")
    side = "behind" if ahead > 0 else "ahead of"
    return ill("clock", f"{abs(ahead):.0f} s {side} the database's", "run NTP (chrony) on both machines")


STORES_AT_ONCE = 8
T = TypeVar("T")
MASTER_PORT = 7077  # Spark's default
LEAST_FREE = 1 << 30  # bytes
LEAST_SHARE = 0.05  # of the disk


def java() -> Finding:
    """Whether Spark has a Java to run on."""
    if config().spark_remote:
        return well("java", "not needed: Spark is reached by Connect")
    try:
        return well("java", str(find_java(os.environ)))
    except UnableToFindJava as error:
        return ill("java", "none that Spark runs on", str(error))


def cluster() -> Finding:
    """Whether a cluster's master or a Connect server takes connections, and what its settings refer to is there."""
    conf = config()
    place = conf.spark_remote or conf.spark_master
    try:
        resolve_secrets(conf.spark_settings)
        if place.startswith(("spark://", "sc://")):
            master = urlsplit(place.split(";", 1)[0].split(",", 1)[0])
            port = master.port or (CONNECT_PORT if conf.spark_remote else MASTER_PORT)
            socket.create_connection((master.hostname or "localhost", port), CONNECT_SECONDS).close()
            return well("cluster", f"{master.scheme}://{master.hostname}:{port} takes connections")
    except UnableToReadSecret as error:
        return ill("cluster", str(error), "correct ASSAY_SPARK_CONF (docs/clusters.md)")
    except (OSError, ValueError) as error:
        name = "ASSAY_SPARK_REMOTE" if conf.spark_remote else "ASSAY_SPARK_MASTER"
        return ill("cluster", f"no Spark answers where {name} leads: {error}", f"start it, or correct {name}")
    return well("cluster", "none: Spark runs on this machine" if place.startswith("local") else "not looked at")


def stores() -> Finding:
    """Whether each object store that the settings name answers to the keys that they refer to."""
    named = config().object_stores
    if faults := _faults_of(named, fault_of):
        return ill("stores", "; ".join(faults), "correct ASSAY_STORES (docs/stores.md), or the store")
    return well(
        "stores",
        ", ".join(f"{store.prefix} (read-only)" if store.read_only else store.prefix for store in named)
        or "none is named",
    )


def catalogs() -> Finding:
    """Whether each catalog that the settings name answers to the credential that they refer to."""
    named = config().iceberg_catalogs
    if faults := _faults_of(named, fault_of_catalog):
        return ill("catalogs", "; ".join(faults), "correct ASSAY_CATALOGS (docs/stores.md), or the catalog")
    return well("catalogs", ", ".join(catalog.name for catalog in named) or "none is named")


def _faults_of(places: Collection[T], look: Callable[[T], str]) -> list[str]:
    """What is wrong with places over the network, each looked at beside the others."""
    with ThreadPoolExecutor(max(1, min(len(places), STORES_AT_ONCE))) as pool:
        return [fault for fault in pool.map(look, places) if fault]


def home() -> Finding:
    """Whether the home folder can be written."""
    return _writable("home", str(config().home), "set ASSAY_HOME to a folder of yours")


def states() -> Finding:
    """Whether states can be written; that all workers share their folder, no single machine can tell of a disk."""
    conf = config()
    if conf.broker_url and not conf.state_store:
        own = f"{Path(conf.states).resolve()} is this machine's own, and workers of others do not see it"
        return ill("states", own, "set ASSAY_STATE_STORE to a folder that all workers share, or a place in a store")
    mend = "set ASSAY_STATE_STORE to a folder, or a place in a store, that can be written"
    folder_finding = _writable("states", conf.states, mend)
    if not folder_finding.is_well or not conf.broker_url or is_store(conf.states):
        return folder_finding
    return well(
        "states", f"{folder_finding.found}; whether all workers share it cannot be seen from here: make sure of it"
    )


def disk() -> Finding:
    """Whether there is space left where states and the embedded database lie."""
    folders = (config().home, *(() if is_store(config().states) else (Path(config().states),)))
    places = [place for place in folders if place.exists()]
    usages = [(place, shutil.disk_usage(place)) for place in places]
    return disk_finding([(place, usage.free, usage.total) for place, usage in usages])


def disk_finding(places: list[tuple[Path, int, int]]) -> Finding:
    """What the free and total bytes of folders mean."""
    scarce = [
        f"{free / 1e9:.1f} GB free under {place.resolve()}"
        for place, free, total in places
        if free < LEAST_FREE or free < LEAST_SHARE * total
    ]
    if scarce:
        return ill("disk", "; ".join(scarce), "free some, or set ASSAY_HOME or ASSAY_STATE_STORE to a larger disk")
    return well("disk", f"{min((free for _, free, _ in places), default=0) / 1e9:.1f} GB free")


def row_stores() -> Finding:
    """Whether rows can be written to each store that is named for them."""
    named = config().row_stores
    if faults := _faults_of(named.values(), write_fault):
        return ill("rows", "; ".join(faults), "correct ASSAY_ROW_STORES (docs/failing-rows.md), or the store")
    return well("rows", ", ".join(f"{name} can be written" for name in named) or "no store of rows is named")


def _writable(check: str, folder: str, mend: str) -> Finding:
    if fault := write_fault(folder):
        return ill(check, fault, mend)
    return well(check, f"{folder} can be written" if is_store(folder) else str(Path(folder).resolve()))


def reach() -> Finding:
    """Whether each channel could send now; nobody is told anything."""
    failures, names = [], []
    for channel in channels():
        names.append(channel.name)
        try:
            channel.try_out()
        except TransportError as error:
            failures.append(str(error))
    if failures:
        mend = "correct ASSAY_EMAIL_URL, ASSAY_WEBHOOK_* or others (docs/notifications.md); notices wait until then"
        return ill("channels", "; ".join(failures), mend)
    return well("channels", ", ".join(names))


def routes() -> Finding:
    """Whether the route file can be used, with every address that it names."""
    try:
        route_file = check_routes()
    except UnableToReadRoutes as wrong:
        return ill("routes", str(wrong), "correct the file that ASSAY_ROUTES names (docs/notifications.md)")
    named = len(route_file.teams) + len(route_file.owners)
    return well("routes", f"{named} of teams and owners" if named or route_file.default else "none: names alone decide")


def heartbeat() -> Finding:
    """Whether the URL that the scheduler calls may be called; it is not, as that would hide a silent scheduler."""
    url = config().heartbeat_url.get_secret_value()
    if not url:
        return well("heartbeat", "none: nobody outside would notice that the scheduler has stopped")
    try:
        place, _ = judge(url, rules(url))
    except UnableToCall as unable:
        return ill("heartbeat", str(unable), "correct ASSAY_HEARTBEAT_URL")
    return well("heartbeat", place.host)


def broker() -> Finding:
    """Whether it answers."""
    if not config().broker_url:
        return well("broker", "none: the stages are drained in-process")
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            place = connection.as_uri()
    except (OperationalError, OSError) as error:
        return ill("broker", f"it cannot be reached: {error}", "start Redis, or correct ASSAY_BROKER_URL")
    return well("broker", place)


def redis() -> Finding:
    """Whether Redis evicts or forgets."""
    if not config().broker_url.startswith(("redis", "unix")):
        return well("redis", "not used")
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            redis_settings = settings(connection.default_channel.client)  # type: ignore[attr-defined]
            return settle(
                "redis", list(wrong_redis_settings(redis_settings)), "it evicts nothing, and outlives a restart"
            )
    except (OperationalError, OSError, RedisError) as error:
        return ill("redis", f"it does not tell its settings: {error}", "start it, or let its user run INFO")


def settings(client: Any) -> dict[str, Any]:
    """What a Redis says of itself; ``save`` is missing where a managed one does not tell it."""
    values: dict[str, Any] = {**client.info("memory"), **client.info("persistence")}
    try:
        return {**values, **client.config_get("save")}
    except RedisError:
        return values


def wrong_redis_settings(redis_settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong, each with how to mend it. No row is ever lost with Redis; what is lost is time."""
    if (policy := redis_settings.get("maxmemory_policy")) != "noeviction":
        yield f"its policy {policy} throws hints away when memory is full", "set maxmemory-policy noeviction"
    if not redis_settings.get("aof_enabled") and redis_settings.get("save") == "":
        yield "it keeps nothing on disk: a restart loses hints until the next sweep", "set appendonly yes"


MOST_NAMED = 3
MOST_SCANS = 1000  # that are looked at
LONGEST_WAIT = timedelta(minutes=10)
SOON_TAKEN = timedelta(minutes=1)  # a scan that a worker is there for
LOST_AFTER = timedelta(minutes=5)  # a lease that ended so long ago, and nobody took the row
RECENT = timedelta(days=7)
START_WORKERS = "start `assay up`, or more workers of these queues; those beside data need `-Q assay.DATACENTER`"


def scheduling() -> Finding:
    """Whether a scheduler sweeps, where there is a broker."""
    scheduler_state = scheduler()
    if scheduler_state is None:
        return well("scheduler", "not needed without a broker")
    if scheduler_state.silence is None:
        return ill("scheduler", "none has ever swept", "start `assay sweep` beside the workers")
    seconds = f"{scheduler_state.silence.total_seconds():.0f} s ago"
    if scheduler_state.is_silent:
        text = f"silent: the last sweep was {seconds}, at {scheduler_state.swept_at:%Y-%m-%d %H:%M:%S} UTC"
        return ill("scheduler", text, "start `assay sweep` again; its log says why it ended")
    return well("scheduler", f"it has swept {seconds}")


def failing() -> Finding:
    """Whether rows are tried in vain, and which most often."""
    stages = backlogs()
    if late := [stage for stage in stages if stage.failing]:
        names = ", ".join(f"{stage.stage} ({stage.failing})" for stage in late)
        worst = ", ".join(f"{row.stage} {row.id} ({row.attempts} tries)" for row in worst_rows(MOST_NAMED))
        mend = "the log says why: look for the stage and the id"
        return ill("stages", f"rows fail again and again in {names}; worst {worst}", mend)
    return well("stages", f"{sum(stage.waiting for stage in stages)} rows wait, none fails")


def waiting() -> Finding:
    """Whether rows have been due for long, as where no worker takes them."""
    now = clock.now()
    ages = {stage.stage: stage.age(now) for stage in backlogs(now)}
    if late := [f"{name} ({age / timedelta(minutes=1):.0f} min)" for name, age in ages.items() if age > LONGEST_WAIT]:
        return ill("waiting", f"nobody has worked what is due in {', '.join(late)}", START_WORKERS)
    return well("waiting", "nothing is overdue")


def datacenters() -> Finding:
    """Whether scans wait in a datacenter where no worker takes any."""
    real_now, now = clock.database_now(), clock.now()
    late = unleased(real_now) & Q(ended_at__isnull=True, created_at__lt=now - SOON_TAKEN)
    counts = Scan.objects.filter(late).order_by().values_list("datacenter").annotate(Count("pk"), Min("created_at"))
    idle_places = []
    for place, count, oldest in sorted(counts):
        there = Scan.objects.filter(datacenter=place)
        if not there.filter(Q(ended_at__gte=oldest) | leased(real_now)).exists():
            minutes = (now - oldest) / timedelta(minutes=1)
            idle_places.append(f"{place} ({count} scan{'s' * (count != 1)}, the oldest for {minutes:.0f} min)")
    if idle_places:
        return ill("datacenters", f"no worker takes what waits in {', '.join(idle_places)}", START_WORKERS)
    return well("datacenters", "what waits in each is taken")


def engines() -> Finding:
    """Whether windows stay unjudged because their engine cannot be reached, as where Spark cannot start."""
    away = Standing.objects.filter(error_reason=Reason.ENGINE_UNREACHABLE, data_test__retired_at__isnull=True)
    by_place = dict(away.values_list("data_test__datacenter").annotate(Count("pk")))
    if by_place:
        named = ", ".join(f"{count} in {place}" for place, count in sorted(by_place.items()))
        mend = "the log of the workers there says why; `assay doctor` looks for Java on this machine"
        return ill("engines", f"windows cannot be judged, as their engine cannot be reached: {named}", mend)
    return well("engines", "each that was asked has answered")


def leases() -> Finding:
    """Whether workers have left rows that nobody takes, or hold some for longer than any stage allows."""
    real_now = clock.database_now()
    if lost := _leased(Q(lease_until__lt=real_now - LOST_AFTER)):
        return ill("leases", f"workers have left rows in {lost}, and none takes them", START_WORKERS)
    if held := _leased(Q(lease_until__gt=real_now + LONGEST_LEASE)):
        mend = "was the database's clock set back? correct it; workers take these rows again"
        return ill("leases", f"held far into the future in {held}", mend)
    return well("leases", "none is stuck")


def notices() -> Finding:
    """Whether notices were given up in the last week."""
    dead = Notice.objects.filter(settled_at__gte=clock.now() - RECENT, sent_at__isnull=True, suppressed="")
    count = dead.count()
    if not count:
        return well("notices", "none was given up in the last 7 days")
    last = dead.order_by("-settled_at", "-pk")[:MOST_NAMED]
    named = "; ".join(f"{notice.pk} to {notice.recipient} by {notice.channel}: {notice.error}" for notice in last)
    mend = "repair the channel (ASSAY_EMAIL_URL, ASSAY_WEBHOOK_URL), and tell these people yourself"
    return ill("notices", f"{count} were given up in the last 7 days, such as {named}", mend)


def quarantined() -> Finding:
    """Whether some metrics are not measured any longer, because they ended their scans abnormally."""
    rows = Suspect.objects.filter(quarantined_at__isnull=False).select_related("dataset")
    count = rows.count()
    if not count:
        return well("quarantine", "nothing is quarantined")
    last = rows.order_by("-quarantined_at", "-pk")[:MOST_NAMED]
    named = "; ".join(f"{row.pk}: {row.spec_text} of {row.dataset} ({row.reason})" for row in last)
    mend = "revise the tests that ask for it, or lift it: POST /api/v1/quarantines/ID/lift"
    return ill("quarantine", f"{count} no longer measured, such as {named}", mend)


def executors() -> Finding:
    """Whether the newest scan of some dataset could not have its kernels on the executors of the cluster."""
    scans = Scan.objects.filter(ended_at__gte=clock.now() - timedelta(days=1)).order_by("-ended_at")[:MOST_SCANS]
    newest: dict[int, Mapping[str, Any]] = {}
    for dataset, read_by in scans.values_list("dataset_id", "read_by"):
        newest.setdefault(dataset, read_by)
    left = [
        (dataset, item["why"])
        for dataset, by in newest.items()
        for item in by.get("left", ())
        if item["kind"] == FallbackKind.EXECUTORS
    ]
    if not left:
        return well("executors", "no scan of the last day was slow for want of them")
    reasons = "; ".join(dict.fromkeys(why for _, why in left))
    count = len({dataset for dataset, _ in left})
    text = f"Spark read what kernels could not, of {count} dataset{'' if count == 1 else 's'}: {reasons}"
    return ill(
        "executors", text, "give executors what they lack (docs/clusters.md): such scans cost several times as much"
    )


def _leased(how: Q) -> str:
    """The stages with pending rows that are leased so, with their number."""
    now = clock.now()
    counts = {stage.name: pending(stage, now).filter(how).count() for stage in STAGES}
    return ", ".join(f"{name} ({count})" for name, count in counts.items() if count)


def idle() -> list[Finding]:
    """Which parts of the work do not get done: what a reader of any page must know before trusting it."""
    return [finding for finding in (scheduling(), waiting(), datacenters(), engines()) if not finding.is_well]


Check = Callable[[], Finding]

MACHINE_CHECKS: tuple[Check, ...] = (
    *(java, cluster, stores, catalogs, broker, redis, home, states, row_stores, disk, reach, routes, heartbeat),
)
# what needs a database that answers, and what needs one that is up to date
SERVER_CHECKS: tuple[Check, ...] = (intact, server, clock_skew)
TABLE_CHECKS: tuple[Check, ...] = (
    *(catalog, pulled, providers, replicas, scheduling, failing, waiting),
    *(datacenters, engines, leases, notices, quarantined, executors),
)


def examine() -> Iterator[Finding]:
    """Every check's finding, the first things first; what rests on something that is ill is not looked at."""
    yield (answers := database())
    if answers.is_well:
        yield (tables := _run_check(migrations))
    yield from (check() for check in MACHINE_CHECKS)
    if answers.is_well:
        yield from (_run_check(check) for check in SERVER_CHECKS)
    if answers.is_well and tables.is_well:
        yield from (_run_check(check) for check in TABLE_CHECKS)


def _run_check(check: Check) -> Finding:
    """What a check finds; a database that fails under it is the finding, and the other checks go on."""
    try:
        return check()
    except DatabaseError as error:
        return replace(unreachable(error), check=check.__name__)
