"""Read the rows of a range batch by batch, by an index, so that the last batch costs no more than the first."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Q

from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.runs.shown_results import Veil

from .files import FORMS
from .tables import TABLES, ExportTable

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
