"""A judged run as an OpenLineage event, made of the stock client's own models (pure).

The facets: ``dataQualityAssertions`` 1-1-0 and ``dataQualityMetrics`` 1-0-3 of the dataset, ``test`` 1-0-1 and
``nominalTime`` of the run. A run without a verdict has no assertion, and its test was skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    data_quality_assertions_dataset,
    data_quality_metrics_input_dataset,
    nominal_time_run,
    test_run,
)
from openlineage.client.serde import Serde

from assay.time.windows import Window
from execution_engine.metrics.registry import COUNTS, OF_COLUMNS, ROWS

NAMESPACE = "assay"  # of the jobs, which are our data tests
MOST_TEXT = 1000  # characters of a sentence


@dataclass(frozen=True, kw_only=True)
class ToldFigure:
    """One measurement of the window that a run asked for: of the whole table, or of one column."""

    metric: str
    column: str | None
    value: float


@dataclass(frozen=True, kw_only=True)
class ToldRun:
    """What is told of a run; ``value`` is None where there is none, or it must not be told."""

    id: int
    namespace: str
    dataset: str  # its name within the namespace
    test: str
    category: str
    assertion: str  # empty: it must not be told
    is_hard: bool
    column: str | None  # the only one that the test names
    window: Window
    at: datetime
    held: bool | None  # None: it gave no verdict
    sentence: str
    value: str | None
    figures: Sequence[ToldFigure] = ()


def run_event(run: ToldRun, *, url: str) -> RunEvent:
    """The event; the same run gives the same one, so that whoever hears of it twice can tell."""
    severity = "error" if run.is_hard else "warn"
    said: dict[str, Any] = {
        "severity": severity,
        "name": run.test,
        "description": run.sentence[:MOST_TEXT] or None,
        "actual": run.value,
        "content": run.assertion or None,
        "contentType": "expression" if run.assertion else None,
    }
    status = {True: "pass", False: "fail", None: "skip"}[run.held]
    return RunEvent(
        eventType=RunState.FAIL if run.held is None else RunState.COMPLETE,
        eventTime=run.at.isoformat(),
        producer=url,
        job=Job(namespace=NAMESPACE, name=f"{run.namespace}.{run.dataset}/{run.test}"),
        run=Run(
            runId=str(uuid5(NAMESPACE_URL, f"{url}/api/v1/runs/{run.id}")),
            facets={
                "test": test_run.TestRunFacet(tests=[test_run.TestExecution(status=status, type=run.category, **said)]),
                "nominalTime": nominal_time_run.NominalTimeRunFacet(
                    nominalStartTime=run.window.start.isoformat(), nominalEndTime=run.window.end.isoformat()
                ),
            },
        ),
        inputs=[InputDataset(namespace=run.namespace, name=run.dataset, inputFacets=_input_facets(run, said))],
    )


def as_body(event: RunEvent) -> bytes:
    """The event as its client would post it."""
    return Serde.to_json(event).encode()


def _input_facets(run: ToldRun, said: dict[str, Any]) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if run.held is not None:
        assertion = data_quality_assertions_dataset.Assertion(
            assertion=run.category, success=run.held, column=run.column, **said
        )
        facets["dataQualityAssertions"] = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
            assertions=[assertion]
        )
    rows = next((int(each.value) for each in run.figures if each.metric == ROWS and each.column is None), None)
    columns: dict[str, dict[str, Any]] = {}
    for each in run.figures:
        if each.column is not None and each.metric in OF_COLUMNS:
            is_count = each.metric in COUNTS
            columns.setdefault(each.column, {})[OF_COLUMNS[each.metric]] = int(each.value) if is_count else each.value
    if rows is not None or columns:
        facets["dataQualityMetrics"] = data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
            rowCount=rows,
            columnMetrics={
                name: data_quality_metrics_input_dataset.ColumnMetrics(**known) for name, known in columns.items()
            },
        )
    return facets
