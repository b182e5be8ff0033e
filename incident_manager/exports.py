"""Exports: runs, measurements and incidents of a range as files, written piece by piece however many there are.

Who may see which rows is decided by whoever asks.
"""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.db.models import Q, QuerySet

from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.models import Measurement, Run
from execution_engine.runs.shown_results import HIDDEN, Veil

from .models import Incident

# Rows as CSV or Parquet, in parts that can be sent while the next rows are read.

Batch = Sequence[tuple[Any, ...]]
MEDIA_TYPES = MappingProxyType({"csv": "text/csv", "parquet": "application/vnd.apache.parquet"})  # by the kind of file
ROWS_OF_A_GROUP = 50_000  # of Parquet, held in memory until they are written
# what a spreadsheet may take for a formula at the beginning of a cell, by OWASP, with the wide forms of the same
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
WHOLE, NUMBER, FLAG, INSTANT = pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us", tz="UTC")


def csv_parts(schema: pa.Schema, batches: Iterable[Batch]) -> Iterator[bytes]:
    """RFC 4180, in UTF-8 with a line of names; instants in UTC, null is an empty cell.

    A text that a spreadsheet might run as a formula begins with an apostrophe, which spreadsheets do not show. Numbers
    are written as they are: a number with a sign is no formula.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(schema.names)
    for batch in batches:
        writer.writerows(map(_cell, row) for row in batch)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    if text.tell():
        yield text.getvalue().encode()


def _cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case str():
            return f"'{value}" if value.startswith(RISKY) else value
    return value


def parquet_parts(schema: pa.Schema, batches: Iterable[Batch]) -> Iterator[bytes]:
    """Parquet with a type for each column; at most one group of rows is held at a time."""
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        rows: list[tuple[Any, ...]] = []

        def write_group() -> None:
            cells = zip(zip(*rows, strict=True), schema.types, strict=True)
            writer.write_table(pa.table([pa.array(column, kind) for column, kind in cells], schema=schema))
            rows.clear()

        for batch in batches:
            rows.extend(batch)
            if len(rows) >= ROWS_OF_A_GROUP:
                write_group()
                yield from sink.take()
        if rows:
            write_group()
    yield from sink.take()


class _Sink(io.RawIOBase):
    """A file that hands on what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Keep it until it is taken."""
        self.parts.append(bytes(data))
        return len(self.parts[-1])

    def take(self) -> list[bytes]:
        """What was written since the last time."""
        parts, self.parts = self.parts, []
        return parts


# Which rows are exported, by which of their instants a range takes them, and the cells of each.


@dataclass(frozen=True, kw_only=True)
class ExportTable:
    """Rows of one kind. ``at`` is the instant that a range asks for; both it and the id are in the order of a file."""

    rows: QuerySet[Any]
    at: str
    dataset: str  # the path from a row to its dataset
    schema: pa.Schema
    cells: Callable[[Any, Veil], tuple[Any, ...]]


RUN = (
    *("data_test__name", "data_test__category"),
    *(f"data_test__dataset__{name}" for name in ("full_name", "columns", "place_limits")),
    *("revision__number", "revision__severity", "revision__tree", "window_start", "window_end", "reason"),
    *("requested_at", "due_at", "measured_at", "evaluated_at", "outcome", "error_reason", "transient"),
    *("value", "exact", "excess", "sentence"),
)  # all else of a run, its test and its dataset would be read and thrown away


KINDS = dict.fromkeys(("id", "revision", "tier"), WHOLE) | dict.fromkeys(("window_start", "window_end", "eta"), INSTANT)
KINDS |= {"value": NUMBER, "excess": NUMBER, "transient": FLAG}  # of columns; instants also end with _at


def _schema(names: str) -> pa.Schema:
    """The columns in their order, which are texts unless their names say otherwise."""
    kinds = {name: INSTANT if name.endswith("_at") else KINDS.get(name, pa.string()) for name in names.split()}
    return pa.schema(kinds.items())


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
            schema=_schema(
                "id dataset data_test category revision severity window_start window_end reason requested_at due_at"
                " measured_at evaluated_at outcome error_reason transient value exact excess sentence"
            ),
            cells=_run,
        ),
        "measurements": ExportTable(
            rows=Measurement.objects.select_related("dataset").defer("state", "detail"),
            at="measured_at",
            dataset="dataset",
            schema=_schema(
                "id dataset datacenter metric window_start window_end requested_at measured_at value exact"
                " failure_reason failure_detail fingerprint"
            ),
            cells=_measurement,
        ),
        "incidents": ExportTable(
            rows=Incident.objects.select_related("dataset"),
            at="detected_at",
            dataset="dataset",
            schema=_schema(
                "id dataset category kind tier owner team detected_at resolved_at resolution acknowledged_at"
                " acknowledged_by assigned_to root_cause eta backfill"
            ),
            cells=_incident,
        ),
    }
)


# Read the rows of a range batch by batch, by an index, so that the last batch costs no more than the first.

AT_ONCE = 2000  # rows of one statement


def export(
    name: str, form: str, *, span: Window, dataset: Dataset | None, hidden: Collection[int], now: datetime
) -> Iterator[bytes]:
    """A file of the rows whose instant lies in ``span``, without those of ``hidden`` datasets (ids), part by part."""
    table, veil = TABLES[name], Veil(now)
    candidates = table.rows.filter(**{f"{table.at}__lt": span.end}).order_by(table.at, "pk")
    if dataset is not None:
        candidates = candidates.filter(**{table.dataset: dataset})
    if hidden:
        candidates = candidates.exclude(**{f"{table.dataset}__in": list(hidden)})

    def batches() -> Iterator[Batch]:
        """The cells of the rows, the oldest first; what comes meanwhile at an instant that was passed is left out."""
        after = Q(**{f"{table.at}__gte": span.start})
        while rows := list(candidates.filter(after)[:AT_ONCE]):
            yield [table.cells(row, veil) for row in rows]
            at = getattr(rows[-1], table.at)
            after = Q(**{f"{table.at}__gte": at}) & (Q(**{f"{table.at}__gt": at}) | Q(pk__gt=rows[-1].pk))

    return (csv_parts if form == "csv" else parquet_parts)(table.schema, batches())
