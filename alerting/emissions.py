"""OpenLineage out: a receiver hears which runs were judged, at least once, and sent outside transactions.

An event has the facets ``dataQualityAssertions`` 1-1-0 and ``dataQualityMetrics`` 1-0-3 of the dataset, ``test`` 1-0-1
and ``nominalTime`` of the run. A run without a verdict has no assertion, and its test was skipped.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

import structlog

from alerting.channels.base import TEMPORARY
from assay import clock
from assay.config import config
from assay.edge.destination import UnableToCall, rules_for
from assay.edge.outbound import call
from assay.queue.claims import UnableToFinish, claims, finish, heartbeat, in_transaction
from assay.queue.flow import stage
from assay.time.durations import doubled
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import columns_named
from execution_engine.metrics.registry import COUNTS, OF_COLUMNS, ROWS
from execution_engine.models import Ask, Measurement, Run
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil

from .models import Emission

if TYPE_CHECKING:
    from openlineage.client.event_v2 import RunEvent

log = structlog.get_logger(__name__)

AT_ONCE = 40  # events of one claim: none has to wait for more than these
SECONDS = 5.0  # for one event
MOST_FAILURES = 10
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
NAMESPACE = "assay"  # of the jobs, which are our data tests
MOST_TEXT = 1000  # characters of a sentence


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
        by_id = Emission.objects.select_related(*related).in_bulk([row.pk for row in rows])
        for row in rows:
            row.run = by_id[row.pk].run
        with heartbeat(*rows):
            _emit(rows, now)
        total += len(rows)
    return total


def _emit(rows: Sequence[Emission], now: datetime) -> None:
    url = config().openlineage_url
    if not url:
        _forget(rows)
        return
    from openlineage.client.serde import Serde

    rules, veil, failure = rules_for(url, permits_private=True), Veil(now), ""
    key = config().openlineage_key.get_secret_value()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    measurements = _measurements([row.run for row in rows], veil)
    for row in rows:
        if failure:
            _put_off(row, failure, now)  # the receiver is asked once: others would wait for it in vain too
            continue
        body = Serde.to_json(run_event(row.run, measurements[row.run_id], veil)).encode()
        try:
            status = call("POST", url, rules=rules, headers=headers, body=body, seconds=SECONDS)
            why = f"the receiver answered {status}"
        except UnableToCall as unable:
            status, why = 0, str(unable)
        if 200 <= status < 300:
            _forget([row])
        elif status == 0 or status >= 500 or status in TEMPORARY:
            failure = why
            _put_off(row, why, now)
        else:
            log.error("event refused", run=row.run_id, why=why)
            _forget([row])


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


def _measurements(runs: Sequence[Run], veil: Veil) -> dict[int, list[Measurement]]:
    """Of each run the plain measurements of its own dataset and window, without those that must not be told."""
    by_run = defaultdict[int, list[Measurement]](list)
    by_id = {run.pk: run for run in runs}
    asks = Ask.objects.filter(run__in=by_id, measurement__value__isnull=False).select_related("measurement__dataset")
    for ask in asks.defer("measurement__state", "measurement__detail").order_by("pk"):
        row, run = ask.measurement, by_id[ask.run_id]
        spec = row.metric
        is_own = row.dataset_id == run.data_test.dataset_id and row.window == run.window
        is_plain = not (spec.where or spec.by or spec.options or spec.arguments) and len(spec.columns) < 2
        if is_own and is_plain and isfinite(row.value or 0.0) and not veil.hides_measurement(row):
            by_run[run.pk].append(row)
    return by_run


def run_event(run: Run, measurements: Iterable[Measurement], veil: Veil) -> "RunEvent":
    """The event; the same run gives the same one, so that whoever hears of it twice can tell.

    Nobody knows who reads what a receiver gets: of a dataset with readers it gets the verdict alone.
    """
    # the stock client, for this stage alone
    from openlineage.client.event_v2 import InputDataset, Job, RunEvent, RunState
    from openlineage.client.event_v2 import Run as LineageRun
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as assertions_of_dataset
    from openlineage.client.facet_v2 import nominal_time_run, test_run

    test, revision, dataset = run.data_test, run.revision, run.data_test.dataset
    url = config().public_url.rstrip("/")
    is_limited = bool(dataset.readers)
    is_hidden = is_limited or veil.hides_run(run)
    has_verdict, has_held = run.outcome in (Outcome.HELD, Outcome.BROKEN), run.outcome == Outcome.HELD
    value = run.exact or (None if run.value is None else repr(run.value))
    assertion = None if is_limited else revision.assertion or None
    fields: dict[str, Any] = {
        "severity": "error" if revision.severity == "hard" else "warn",
        "name": test.name,
        "description": None if is_hidden else run.sentence[:MOST_TEXT] or None,
        "actual": None if is_hidden else value,
        "content": assertion,
        "contentType": "expression" if assertion else None,
    }
    facets = {} if is_limited else _metric_facets(measurements)
    if has_verdict:
        columns = () if is_limited else tuple(columns_named(from_json(revision.tree)))
        column = columns[0] if len(columns) == 1 else None
        verdict = assertions_of_dataset.Assertion(test.category, success=has_held, column=column, **fields)
        facets["dataQualityAssertions"] = assertions_of_dataset.DataQualityAssertionsDatasetFacet(assertions=[verdict])
    status = ("pass" if has_held else "fail") if has_verdict else "skip"
    execution = test_run.TestExecution(status=status, type=test.category, **fields)
    start, end = run.window.start.isoformat(), run.window.end.isoformat()
    nominal_time = nominal_time_run.NominalTimeRunFacet(nominalStartTime=start, nominalEndTime=end)
    return RunEvent(
        eventType=RunState.COMPLETE if has_verdict else RunState.FAIL,
        eventTime=(run.evaluated_at or run.requested_at).isoformat(),
        producer=url,
        job=Job(namespace=NAMESPACE, name=f"{dataset.namespace}.{dataset.name}/{test.name}"),
        run=LineageRun(
            runId=str(uuid5(NAMESPACE_URL, f"{url}/api/v1/runs/{run.pk}")),
            facets={"test": test_run.TestRunFacet(tests=[execution]), "nominalTime": nominal_time},
        ),
        inputs=[InputDataset(namespace=dataset.namespace, name=dataset.name, inputFacets=facets)],
    )


def _metric_facets(measurements: Iterable[Measurement]) -> dict[str, Any]:
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics_of_dataset

    row_count: int | None = None
    by_column: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in measurements:
        spec, value = row.metric, row.value or 0.0
        if not spec.columns and spec.name == ROWS and row_count is None:
            row_count = int(value)
        elif spec.columns and spec.name in OF_COLUMNS:
            by_column[spec.columns[0]][OF_COLUMNS[spec.name]] = int(value) if spec.name in COUNTS else value
    if row_count is None and not by_column:
        return {}
    metrics = {name: metrics_of_dataset.ColumnMetrics(**figures) for name, figures in by_column.items()}
    facet = metrics_of_dataset.DataQualityMetricsInputDatasetFacet(rowCount=row_count, columnMetrics=metrics)
    return {"dataQualityMetrics": facet}
