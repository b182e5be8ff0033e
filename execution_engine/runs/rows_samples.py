"""What is known of the failing rows of windows: how many, where, and a few of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assay.catalog.selectors import sensitive_columns
from assay.time.windows import Window, keys_of
from execution_engine.metrics.expressions import is_hidden
from execution_engine.models import RowsExport
from execution_engine.rows.requests import WHOLE_TABLE

from .shown_results import Veil

BROKEN = "assay_broken"


@dataclass(frozen=True, kw_only=True)
class RowsSample:
    """The failing rows of a test on one window; ``values`` has a few of them as texts, in the order of ``columns``.

    ``note`` says why there are none, or not all. ``folder`` is where all of them lie, empty until they are written.
    """

    test: str
    key: str  # of the partition, or the window in UTC
    run: int | None  # whose rows they are
    rows: int
    note: str = ""
    folder: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()

    @property
    def text(self) -> str:
        """The rows in one line, for messages and terminals."""
        if not self.folder:
            return self.note or "the failing rows are being written"
        rows = [", ".join(f"{name}={value}" for name, value in self._pairs(row)) for row in self.values]
        count = "1 failing row" if self.rows == 1 else f"{self.rows:,} failing rows"
        return f"{count} in {self.folder}{': ' if rows else ''}{' | '.join(rows)}"

    def _pairs(self, row: tuple[str | None, ...]) -> list[tuple[str, str | None]]:
        return [(name, value) for name, value in zip(self.columns, row, strict=True) if name != BROKEN]


def rows_samples(windows: Collection[tuple[int, Window]], veil: Veil) -> list[RowsSample]:
    """Of each test, by its id, and window whose failing rows are kept; values that are hidden now are left out."""
    exports = RowsExport.objects.filter(
        data_test__in={test for test, _ in windows},
        window_start__in={window.start for _, window in windows},
        run__isnull=False,
    ).select_related("data_test__dataset", "run__revision")
    return [
        sample_of(export, veil) for export in exports.order_by("pk") if (export.data_test_id, export.window) in windows
    ]


def sample_of(export: RowsExport, veil: Veil) -> RowsSample:
    """What is shown of one export."""
    dataset = export.data_test.dataset
    key = keys_of(export.window, None if export.place == WHOLE_TABLE else dataset.partitioning)
    hides_all = export.run is None or veil.hides(export.run.revision, dataset)
    columns = () if hides_all else _columns(export, sensitive_columns(dataset))
    return RowsSample(
        test=export.data_test.name,
        key=key,
        run=export.run_id,
        rows=export.rows,
        note=export.note,
        folder=export.folder if export.written_at and export.rows else "",
        columns=columns,
        values=() if hides_all else tuple(tuple(_text(row.get(name)) for name in columns) for row in export.sample),
    )


def _columns(export: RowsExport, sensitive: Collection[str]) -> tuple[str, ...]:
    """Those of the sample, what each row breaks first."""
    names: Sequence[str] = list(dict.fromkeys(name for row in export.sample for name in row))
    return (
        *[BROKEN for name in names if name == BROKEN],
        *(n for n in names if n != BROKEN and not is_hidden(n, sensitive)),
    )


def _text(value: object) -> str | None:
    return ", ".join(map(str, value)) if isinstance(value, list) else None if value is None else str(value)
