"""What can be wrong with a set-up: one small check each, its finding, and how to mend it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError
from pyarrow.fs import FileType

from assay.celery import app
from assay.config import config
from assay.models import Dataset, Replica
from assay.queue_state import backlogs
from execution_engine.engines.files import UnableToListFiles, open_root
from execution_engine.engines.spark.java import UnableToFindJava, find_java


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check's answer; ``mend`` is empty where nothing is wrong."""

    check: str
    is_well: bool
    found: str
    mend: str = ""


def examine() -> Iterator[Finding]:
    """Every check's finding, the first things first; checks of what lies in the database need it up to date."""
    first = [_database(), _migrations()] if _database().is_well else [_database()]
    yield from first
    for check in CHECKS:
        yield check()
    if all(finding.is_well for finding in first):
        for check in DATABASE_CHECKS:
            yield check()


def _database() -> Finding:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return _ill("database", f"{connection.vendor} cannot be reached: {error}", "set ASSAY_DATABASE_URL")
    return _well("database", f"{connection.vendor} {connection.settings_dict['NAME']}")


def _migrations() -> Finding:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return _ill("migrations", f"{len(missing)} are not applied", "run `assay migrate`")
    return _well("migrations", "all applied")


def _java() -> Finding:
    if config().spark_remote:
        return _well("java", "not needed: Spark is reached by Connect")
    try:
        return _well("java", str(find_java(os.environ)))
    except UnableToFindJava as error:
        return _ill("java", "none that Spark runs on", str(error))


def _broker() -> Finding:
    if not (url := config().broker_url):
        return _well("broker", "none: the stages are drained in-process")
    try:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=3)
    except (OperationalError, OSError) as error:
        return _ill("broker", f"{url} cannot be reached: {error}", "start Redis, or mend ASSAY_BROKER_URL")
    return _well("broker", url)


def _home() -> Finding:
    home = config().home
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".doctor"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        return _ill("home", f"{home} cannot be written: {error}", "set ASSAY_HOME to a folder of yours")
    return _well("home", str(home.resolve()))


def _catalog() -> Finding:
    count = Dataset.objects.filter(missing_since__isnull=True).count()
    if not count:
        return _ill("catalog", "it is empty", "run `assay sync FILE` (docs/catalog.md says what it holds)")
    return _well("catalog", f"{count} datasets")


def _replicas() -> Finding:
    paths = Replica.objects.filter(storage="parquet").select_related("dataset")
    lost = [f"{replica} at {replica.location}" for replica in paths if not _is_there(replica.location)]
    if lost:
        return _ill("replicas", f"no data found for {'; '.join(lost[:5])}", "mend the locations in the catalog")
    return _well("replicas", "every folder is there")


def _is_there(location: str) -> bool:
    try:
        root = open_root(location)
        return bool(root.filesystem.get_file_info(root.path).type == FileType.Directory)
    except (UnableToListFiles, OSError):
        return False


def _queues() -> Finding:
    late = [each for each in backlogs() if each.failing]
    if late:
        names = ", ".join(f"{each.stage} ({each.failing})" for each in late)
        return _ill("stages", f"rows fail again and again in {names}", "the log says why, by stage and row")
    return _well("stages", f"{sum(each.waiting for each in backlogs())} rows wait, none fails")


def _well(check: str, found: str) -> Finding:
    return Finding(check=check, is_well=True, found=found)


def _ill(check: str, found: str, mend: str) -> Finding:
    return Finding(check=check, is_well=False, found=found, mend=mend)


CHECKS: tuple[Callable[[], Finding], ...] = (_java, _broker, _home)
DATABASE_CHECKS: tuple[Callable[[], Finding], ...] = (_catalog, _replicas, _queues)
