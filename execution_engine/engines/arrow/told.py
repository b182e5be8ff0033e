"""A scan of a small local table that is answered in this process: no Spark, and so no Java, need be started for it."""

from collections.abc import Sequence
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from pyarrow import ArrowException

from execution_engine.engines.columns.spark_sql import expressions
from execution_engine.engines.columns.spec_check import kinds_of, sifted
from execution_engine.engines.files.footer_statistics import footer_statistics, told
from execution_engine.engines.files.footers import read_columns, shown_columns
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part
from execution_engine.engines.gathering.assembly import measured_of, plan
from execution_engine.engines.gathering.selects import Keyed
from execution_engine.engines.protocol import WHOLE, Measured, ScanReport, Table, Wanted
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.read_by import ReadBy

from .gather import answers
from .values import UnableToTell


def told_without_spark(table: Table, wanted: Sequence[Wanted], *, reads_rows: bool = True) -> ScanReport | None:
    """The report of a whole table, as Spark would give it; None where anything asked for is Spark's to answer.

    By the footers of parquet files, and with ``reads_rows`` by their rows. What cannot be listed or read is None too:
    the engine says what is wrong with it. So is what does not lie on this machine: a store that hangs is left after a
    time by the engine alone.
    """
    started = monotonic()
    if table.storage != "parquet" or urlsplit(table.location).scheme not in ("", "file"):
        return None
    try:
        listing = list_part(table, WHOLE)
        found = _measured(table, listing, wanted, reads_rows) if listing.files else None
    except (UnableToListFiles, UnableToTell, ArrowException, OSError):
        return None
    if found is None:
        return None
    measured, read_by = found
    return ScanReport(
        measured=measured,
        spark_jobs=0,
        seconds=monotonic() - started,
        fingerprint=listing.fingerprint,
        read_by=read_by,
    )


def _measured(
    table: Table, listing: Listing, wanted: Sequence[Wanted], reads_rows: bool
) -> tuple[dict[str, Measured], ReadBy] | None:
    stored = read_columns(listing.root, listing.newest) | dict.fromkeys(listing.folder_columns, "string")
    columns = shown_columns(stored)
    sound, refused = sifted(wanted, columns, kinds_of(columns), table.name)
    if any(item.spec.by or METRICS[item.spec.name].kind not in SHARED for item in sound):
        return None
    planned = plan(sound, expressions(columns))
    footers = footer_statistics(listing.root, listing.files)
    found = told(footers, planned.asked)
    keys: dict[Keyed, Any] = {keyed: Frequencies() for keyed in planned.keyed} if footers and footers.rows == 0 else {}
    left = [one for one in planned.asked if one not in found], [one for one in planned.keyed if one not in keys]
    read_by = ReadBy(footers=len(found) + len(keys), kernels=len(left[0]) + len(left[1]))
    if any(left):
        # hashes of keys that are kept must be those of Spark, as its own are merged with them
        if not reads_rows or footers is None or any(item.keep_state for item in sound):
            return None
        gathered, counted = answers(listing, stored, footers.rows, *left)
        found, keys = found | gathered, keys | counted
    return refused | {item.key: measured_of(item, planned, found, keys) for item in sound}, read_by
