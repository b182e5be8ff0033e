"""What is exported: the rows of a range, read batch by batch by an index, and the cells of each row."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from types import MappingProxyType
from typing import Any

from django.db.models import Q, QuerySet

from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.models import Measurement, Run
from execution_engine.runs.shown_results import HIDDEN, Veil
from incident_manager.models import Incident

from .files import FORMS, CellKind, ExportColumn

# Which rows are exported, by which of their instants a range takes them, and the cells of each.

INSTANT, WHOLE, NUMBER, FLAG = CellKind.INSTANT, CellKind.WHOLE, CellKind.NUMBER, CellKind.FLAG


@dataclass(frozen=True, kw_only=True)
class ExportTable:
    """Rows of one kind. ``at`` is the instant that a range asks for; both it and the id are in the order of a file."""

    rows: QuerySet[Any]
    at: str
    dataset: str  # the path from a row to its dataset
    columns: tuple[ExportColumn, ...]
    cells: Callable[[Any, Veil], tuple[Any, ...]]


RUN = (
    *("data_test__name", "data_test__category"),
    *(f"data_test__dataset__{name}" for name in ("full_name", "columns", "place_limits")),
    *("revision__number", "revision__severity", "revision__tree", "window_start", "window_end", "reason"),
    *("requested_at", "due_at", "measured_at", "evaluated_at", "outcome", "error_reason", "transient"),
    *("value", "exact", "excess", "sentence"),
)  # all else of a run, its test and its dataset would be read and thrown away


def _columns(**kinds: CellKind | None) -> tuple[ExportColumn, ...]:
    return tuple(ExportColumn(name=name, kind=kind or CellKind.TEXT) for name, kind in kinds.items())


def _run(row: Run, veil: Veil) -> tuple[Any, ...]:
    test, is_hidden = row.data_test, veil.hides_run(row)
    return (
        row.pk, test.dataset.full_name, test.name, test.category, row.revision.number, row.revision.severity,
        row.window_start, row.window_end, row.reason, row.requested_at, row.due_at, row.measured_at, row.evaluated_at,
        row.outcome, row.error_reason, row.transient,
        *((None, None, None, HIDDEN) if is_hidden else (*_number(row), _finite(row.excess), row.sentence)),
    )  # fmt: skip


def _measurement(row: Measurement, veil: Veil) -> tuple[Any, ...]:
    return (
        row.pk, row.dataset.full_name, row.datacenter, row.spec_text, row.window_start, row.window_end,
        row.requested_at, row.measured_at, *((None, None) if veil.hides_measurement(row) else _number(row)),
        row.failure_reason, row.failure_detail, row.fingerprint,
    )  # fmt: skip


def _incident(row: Incident, _: Veil) -> tuple[Any, ...]:
    return (
        row.pk, row.dataset.full_name, row.category, row.kind, row.tier, row.owner, row.team, row.detected_at,
        row.resolved_at, row.resolution, row.acknowledged_at, row.acknowledged_by, row.assigned_to, row.root_cause,
        row.eta, row.backfill,
    )  # fmt: skip


def _number(row: Run | Measurement) -> tuple[float | None, str | None]:
    """The value as a float, and with all its digits."""
    value = _finite(row.value)
    return value, row.exact or (None if value is None else repr(value))


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


TABLES: Mapping[str, ExportTable] = MappingProxyType(
    {
        "runs": ExportTable(
            rows=Run.objects.select_related("data_test__dataset", "revision").only(*RUN),
            at="evaluated_at",
            dataset="data_test__dataset",
            columns=_columns(
                id=WHOLE, dataset=None, data_test=None, category=None, revision=WHOLE, severity=None,
                window_start=INSTANT, window_end=INSTANT, reason=None, requested_at=INSTANT, due_at=INSTANT,
                measured_at=INSTANT, evaluated_at=INSTANT, outcome=None, error_reason=None, transient=FLAG,
                value=NUMBER, exact=None, excess=NUMBER, sentence=None,
            ),
            cells=_run,
        ),
        "measurements": ExportTable(
            rows=Measurement.objects.select_related("dataset").defer("state", "detail"),
            at="measured_at",
            dataset="dataset",
            columns=_columns(
                id=WHOLE, dataset=None, datacenter=None, metric=None, window_start=INSTANT, window_end=INSTANT,
                requested_at=INSTANT, measured_at=INSTANT, value=NUMBER, exact=None, failure_reason=None,
                failure_detail=None, fingerprint=None,
            ),
            cells=_measurement,
        ),
        "incidents": ExportTable(
            rows=Incident.objects.select_related("dataset"),
            at="detected_at",
            dataset="dataset",
            columns=_columns(
                id=WHOLE, dataset=None, category=None, kind=None, tier=WHOLE, owner=None, team=None,
                detected_at=INSTANT, resolved_at=INSTANT, resolution=None, acknowledged_at=INSTANT,
                acknowledged_by=None, assigned_to=None, root_cause=None, eta=INSTANT, backfill=None,
            ),
            cells=_incident,
        ),
    }
)  # fmt: skip


# Read the rows of a range batch by batch, by an index, so that the last batch costs no more than the first.

AT_ONCE = 2000  # rows of one statement


def export(
    name: str, form: str, *, span: Window, dataset: Dataset | None, hidden: Collection[int], now: datetime
) -> Iterator[bytes]:
    """A file of the rows whose instant lies in ``span``, without those of ``hidden`` datasets (ids), part by part."""
    table = TABLES[name]
    batches = _batches(table, span, dataset, hidden, Veil(now))
    return FORMS[form].parts(table.columns, batches)


def _batches(
    table: ExportTable, span: Window, dataset: Dataset | None, hidden: Collection[int], veil: Veil
) -> Iterator[list[tuple[Any, ...]]]:
    """The cells of the rows, the oldest first; rows that come meanwhile at an instant that was passed are left out."""
    wanted = table.rows.filter(**{f"{table.at}__lt": span.end}).order_by(table.at, "pk")
    if dataset is not None:
        wanted = wanted.filter(**{table.dataset: dataset})
    if hidden:
        wanted = wanted.exclude(**{f"{table.dataset}__in": list(hidden)})
    after = Q(**{f"{table.at}__gte": span.start})
    while rows := list(wanted.filter(after)[:AT_ONCE]):
        yield [table.cells(row, veil) for row in rows]
        last = rows[-1]
        at = getattr(last, table.at)
        after = Q(**{f"{table.at}__gte": at}) & (Q(**{f"{table.at}__gt": at}) | Q(pk__gt=last.pk))
