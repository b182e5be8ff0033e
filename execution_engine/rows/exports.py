"""Write the rows of broken runs, replace those of the window's earlier run, and remove what has had its time.

A row of ``RowsExport`` says what must be there (``requests``). A worker that is lost leaves its lease, and the next
one writes the same file again under the same name.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2s
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import structlog
from django.conf import settings
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.profile import RowsTarget
from assay.catalog.selectors import profile_of, sensitive_columns
from assay.catalog.selectors import replica as replica_of
from assay.queue.claims import UnableToFinish, claims, finish, heartbeat, log_ids
from assay.queue.flow import stage
from execution_engine.engines.files.listing import UnableToListFiles, open_root
from execution_engine.engines.protocol import ROWS_FILE, RowsRequest, WrittenRows
from execution_engine.metrics.expressions import is_hidden
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import MAX_ATTEMPTS, Ask, RowsExport, Run
from execution_engine.outcome import ABNORMAL, Outcome
from execution_engine.storage import engine_of, extent_of, table_of

from .requests import UnableToKeepRows, check_target, location_of

log = structlog.get_logger(__name__)

SAMPLE_ROWS = 5  # that pages, notices and commands show
NOT_IN_SAMPLES = ("assay_run", "assay_window", "assay_key", "assay_fingerprint")
MOST_CHARACTERS = 200  # of a value in the sample
RETRY = timedelta(minutes=15)  # until a store or an engine that was away is tried again
MARKER = "_assay.json"
AT_A_TIME = 50


class UnableToWriteYet(Exception):
    """The store or the engine is away, and may be back later; the sentence says which."""


def write_pending_rows(datacenter: str | None = None) -> int:
    """Work what is due, one after another; how many there were."""
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    now, total = clock.now(), 0
    for (row,) in claims(stage("rows"), now=now, limit=AT_A_TIME, part=1, **filters):
        total += 1
        with _log_failure(row), heartbeat(row):
            _work(row, now)
    return total


@contextmanager
def _log_failure(row: RowsExport) -> Iterator[None]:
    with bound_contextvars(**log_ids("rows", row)):
        try:
            yield
        except UnableToFinish as lost:
            log.warning("lease lost", of=str(row), why=str(lost))
        except Exception:
            log.exception("rows failed", of=str(row), attempts=row.attempts)


def _work(row: RowsExport, now: datetime) -> None:
    run, revision = row.run, row.data_test.revision
    target = RowsTarget(**revision.keep_rows) if revision and revision.keep_rows else None
    term = timedelta(days=target.days if target else 0)
    is_over = row.requested_at + term <= now
    try:
        if run is None or target is None or run.outcome == Outcome.HELD or is_over:
            _remove(row)
            RowsExport.objects.filter(pk=row.pk, epoch=row.epoch).delete()
            return
        try:
            if row.attempts > MAX_ATTEMPTS:
                raise UnableToKeepRows(f"{MAX_ATTEMPTS} workers were lost while they wrote them")
            changes = _write(row, run, target)
        except UnableToKeepRows as error:
            _remove(row)  # rows of an earlier run are not what is broken now
            changes = {"note": str(error), "rows": 0, "is_cut": False, "sample": [], "folder": ""}
    except (OSError, UnableToListFiles, UnableToUseLocation, UnableToWriteYet) as error:
        finish(row, note=str(error)[:1000], due_at=now + RETRY)
        return
    finish(row, **changes, written_at=now, due_at=row.requested_at + term)


def _write(row: RowsExport, run: Run, target: RowsTarget) -> dict[str, Any]:
    """Write the rows of a run in place of those that are there; what is to be noted of them."""
    dataset = row.data_test.dataset
    check_target(target, profile_of(dataset))
    folder = folder_of(row, location_of(target))
    if row.folder and row.folder != folder:
        _remove(row)
    replica = replica_of(dataset, row.datacenter)
    if replica is None:
        raise UnableToKeepRows(f"{dataset} has no replica in {row.datacenter} any more")
    specs, is_whole = _specs(run, row.datacenter)
    with TemporaryDirectory(prefix="assay-rows-") as scratch:
        request = RowsRequest(
            specs=specs,
            bad=scratch,
            limit=target.limit,
            constants={"assay_run": str(run.pk), "assay_window": run.window.text},
            hidden=sensitive_columns(dataset),
            hash_key=hash_key() if target.sensitive == "hash" else None,
            row_key=tuple(dataset.primary_key),
        )
        if specs:
            engine, table = engine_of(replica), table_of(dataset, replica)
            extent = extent_of(dataset, run.window, engine, table, with_strays=is_whole)
            written = engine.write_rows(table, extent.whole if is_whole else extent.part, request)
        else:
            written = write_lost_keys(run, request)
        if written.failures:
            failure = next(iter(written.failures.values()))
            is_away = failure.transient and failure.reason not in ABNORMAL
            raise (UnableToWriteYet if is_away else UnableToKeepRows)(str(failure))
        # named before it is there, so that it goes in time even if this worker is lost now
        if RowsExport.objects.filter(pk=row.pk, epoch=row.epoch).update(folder=folder) != 1:
            raise UnableToFinish(f"{row}: claimed again since epoch {row.epoch}")
        row.folder = folder
        try:
            publish(folder, Path(scratch) / ROWS_FILE, {"test": row.data_test_id, "run": run.pk})
        except (OSError, UnableToListFiles) as error:
            raise UnableToWriteYet(f"{folder} takes no rows: {error}") from error
        note = f"there are more than the {target.limit:,} that the test keeps" if written.is_cut else ""
        sample = _sample(Path(scratch) / ROWS_FILE, request.hidden)
    return {"note": note, "rows": written.bad, "is_cut": written.is_cut, "sample": sample, "folder": folder}


def _specs(run: Run, datacenter: str) -> tuple[tuple[MetricSpec, ...], bool]:
    """The metrics of a run that single rows of its own table break, and whether rows in no partition are among them.

    None where it has lost keys instead. Raises UnableToKeepRows.
    """
    asks = Ask.objects.filter(run=run, measurement__dataset=run.data_test.dataset_id).select_related("measurement")
    own = [
        ask.measurement
        for ask in asks
        if ask.measurement.datacenter == datacenter and ask.measurement.window == run.window
    ]
    of_rows = [row for row in own if METRICS[row.metric.name].is_of_rows]
    if not of_rows and not lost_keys(run):
        texts = ", ".join(sorted({row.spec_text for row in own})) or run.revision.assertion
        raise UnableToKeepRows(f"{texts:.200} is of all rows together: no single row breaks it")
    specs = dict.fromkeys(replace(row.metric, by=()) for row in of_rows)
    return tuple(specs), any(row.is_of_whole_table for row in of_rows)


def lost_keys(run: Run) -> list[dict[str, Any]]:
    """The keys that a run misses, as far as it names them, by their columns."""
    found = (detail.get("lost") for detail in run.findings.values() if isinstance(detail, dict))
    return [key for keys in found if isinstance(keys, list) for key in keys if isinstance(key, dict)]


def write_lost_keys(run: Run, request: RowsRequest) -> WrittenRows:
    """Write the keys that a run misses: there are no rows of them here."""
    import pyarrow as pa

    from execution_engine.engines.row_files import RowsFile, bad_rows

    keys = lost_keys(run)[: request.limit]
    names = list(dict.fromkeys(name for key in keys for name in key))
    texts = {name: [None if key.get(name) is None else str(key[name]) for key in keys] for name in names}
    rows = pa.table({name: pa.array(values, pa.string()) for name, values in texts.items()})
    broken = pa.array([[run.revision.assertion]] * len(keys), pa.list_(pa.string()))
    with RowsFile(request.bad) as file:
        file.add(bad_rows(rows, broken, replace(request, row_key=tuple(names))))
    return WrittenRows(bad=len(keys), by="findings")


def hash_key() -> bytes:
    """The key of this installation under which values of sensitive columns are hashed."""
    return blake2s(settings.SECRET_KEY.encode(), person=b"rows").digest()


def _sample(file: Path, hidden: frozenset[str]) -> list[dict[str, Any]]:
    """A few rows as texts, without what is hidden."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        batch = next(parquet.iter_batches(SAMPLE_ROWS), None)
    rows = batch.to_pylist() if batch is not None else []
    return [
        {
            name: value if name == "assay_broken" or value is None else str(value)[:MOST_CHARACTERS]
            for name, value in row.items()
            if name not in NOT_IN_SAMPLES and not is_hidden(name, hidden)
        }
        for row in rows
    ]


# The folders: one for each dataset, test and window, with one file, so that a reader sees all rows of a run or none.


def folder_of(row: RowsExport, location: str) -> str:
    """The folder of a window's rows, hive-style."""
    test = row.data_test
    names = {"dataset": test.dataset.full_name, "test": test.name, "window": row.place}
    return "/".join([location, *(f"{name}={quote(value, safe='')}" for name, value in names.items())])


def publish(folder: str, file: Path, marker: dict[str, Any]) -> None:
    """Let a file be the rows of a folder from now on; raises UnableToKeepRows where others have written there."""
    from pyarrow import fs

    root = open_root(folder)
    existing = root.filesystem.get_file_info(fs.FileSelector(root.path, allow_not_found=True))
    if existing and MARKER not in {info.base_name for info in existing}:
        raise UnableToKeepRows(f"{folder} holds what Assay has not written: name another store or folder")
    root.filesystem.create_dir(root.path, recursive=True)
    with root.filesystem.open_output_stream(f"{root.path}/{MARKER}") as stream:
        stream.write(json.dumps(marker).encode())
    hidden = f"{root.path}/_{ROWS_FILE}"
    fs.copy_files(str(file), hidden, destination_filesystem=root.filesystem, source_filesystem=fs.LocalFileSystem())
    root.filesystem.move(hidden, f"{root.path}/{ROWS_FILE}")


def _remove(row: RowsExport) -> None:
    """Remove the folder of rows, if it is there and ours."""
    if not row.folder:
        return
    from pyarrow import fs

    root = open_root(row.folder)
    names = {info.base_name for info in root.filesystem.get_file_info(fs.FileSelector(root.path, allow_not_found=True))}
    if MARKER in names:
        root.filesystem.delete_dir(root.path)
