"""The scheduled read of a catalog: the same sync as the command's; what is refused leaves the catalog as it was."""

from datetime import datetime, timedelta

from django.db import transaction

from assay import clock
from assay.accounts.audit import RequestOrigin, record
from assay.catalog.services import UnableToApply
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.config import config
from assay.models import Pull
from assay.queue.claims import attempt, claim, finish
from assay.queue.flow import stage
from assay.time.cadence import next_time
from test_generator.data_tests.services import UnableToWrite

from .catalog_files import sync_files

ORIGIN = RequestOrigin(actor="assay", via="pull")
LEASE = timedelta(minutes=15)  # a large catalog takes longer than a row of other stages


def pull_due() -> int:
    """Read the catalog if that is due; how many were read."""
    now = clock.now()
    rows = claim(stage("pull"), now=now, limit=1, lease=LEASE)
    for row in rows:
        attempt("pull", row, now, pull)
    return len(rows)


def pull(row: Pull, now: datetime) -> None:
    """Read the catalog and note what came of it; ends the stage ``pull``."""
    conf = config()
    if conf.catalog_path is None:  # the settings have changed since the row was made
        row.delete()
        return
    again = next_time(conf.catalog_every, now)
    try:
        with transaction.atomic():
            source, applied = sync_files(conf.catalog_path, name=conf.catalog_source, now=now)
            told = {what: getattr(applied, what) for what in ("created", "changed", "missing", "templates", "bindings")}
            if any(told.values()):
                record(ORIGIN, "catalog.synced", kind="catalog", key=source.name, before=None, after=told)
    except (UnableToReadCatalog, UnableToApply, UnableToWrite) as error:
        # on-call is told of the first of the reads in a row that were refused
        tell_at = None if row.told_since else row.tell_at or now
        finish(row, due_at=again, failing_since=row.failing_since or now, fault=str(error), tell_at=tell_at)
    else:
        tell_at = now if row.told_since else None
        finish(row, due_at=again, read_at=now, failing_since=None, fault="", tell_at=tell_at)
