"""Tell a receiver of OpenLineage events which runs were judged: at least once, and sent outside transactions."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from alerting.models import Emission
from assay import clock
from assay.config import config
from assay.edge.destination import DestinationRules, UnableToCall, rules_for
from assay.edge.outbound import call
from assay.queue.claims import UnableToFinish, claims, finish, heartbeat, in_transaction
from assay.queue.flow import stage
from assay.time.durations import doubled
from execution_engine.models import Run

if TYPE_CHECKING:
    from .events import ToldRun

log = structlog.get_logger(__name__)

AT_ONCE = 40  # events of one claim: none has to wait for more than these
SECONDS = 5.0  # for one event
MOST_FAILURES = 10
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
TEMPORARY = frozenset({408, 425, 429})


def note_judged(runs: Iterable[Run], now: datetime) -> None:
    """Leave a row for each run where somebody listens, in the transaction that judges them."""
    if config().openlineage_url:
        rows = [Emission(run=run, due_at=now) for run in runs]
        Emission.objects.bulk_create(rows, ignore_conflicts=True)


def emit_due(limit: int = AT_ONCE) -> int:
    """Send the events that are due; the number of rows that were claimed. What was sent, or given up, is gone."""
    now, total = clock.now(), 0
    related = ("run__data_test__dataset", "run__revision")
    for rows in claims(stage("emit"), now=now, limit=limit):
        known = Emission.objects.select_related(*related).in_bulk([row.pk for row in rows])
        for row in rows:
            row.run = known[row.pk].run
        with heartbeat(*rows):
            _emit(rows, now)
        total += len(rows)
    return total


def _emit(rows: Sequence[Emission], now: datetime) -> None:
    from .told import told  # with it the stock client, for this stage alone

    url = config().openlineage_url
    if not url:
        _forget(rows)
        return
    rules, away = rules_for(url, permits_private=True), ""
    for row, run in zip(rows, told([row.run for row in rows], now), strict=True):
        if away:
            _put_off(row, away, now)  # the receiver is asked once: others of this claim would wait for it in vain too
            continue
        status, why = _post(run, url, rules)
        if 200 <= status < 300:
            _forget([row])
        elif status == 0 or status >= 500 or status in TEMPORARY:
            away = why
            _put_off(row, why, now)
        else:
            log.error("event refused", run=row.run_id, why=why)
            _forget([row])


def _post(run: "ToldRun", url: str, rules: DestinationRules) -> tuple[int, str]:
    """The status that the receiver answered, 0 if it did not, and what is wrong."""
    from .events import as_body, run_event

    key = config().openlineage_key.get_secret_value()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    body = as_body(run_event(run, url=config().public_url.rstrip("/")))
    try:
        status = call("POST", url, rules=rules, headers=headers, body=body, seconds=SECONDS)
    except UnableToCall as unable:
        return 0, str(unable)
    return status, f"the receiver answered {status}"


def _forget(rows: Sequence[Emission]) -> None:
    for row in rows:
        Emission.objects.filter(pk=row.pk, epoch=row.epoch).delete()


def _put_off(row: Emission, why: str, now: datetime) -> None:
    failures = row.failures + 1
    if failures >= MOST_FAILURES:
        log.error("event given up", run=row.run_id, why=why, failures=failures)
        _forget([row])
        return
    due_at = now + doubled(FIRST_RETRY, failures - 1, most=LONGEST_RETRY)
    try:
        in_transaction(lambda: finish(row, failures=failures, error=why, due_at=due_at))
    except UnableToFinish as lost:
        log.warning("lease lost", stage="emit", run=row.run_id, why=str(lost))
