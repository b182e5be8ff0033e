"""A scan's measurements partition by partition: those over many are merged, those over one leave their states."""

from collections.abc import Sequence
from dataclasses import replace

from assay.models import Dataset
from execution_engine.engines.files import UnableToListFiles, partition_prints
from execution_engine.engines.protocol import Engine, Part, ScanReport, Table, Wanted
from execution_engine.incremental import Prints, can_merge, scan_merged
from execution_engine.services.part_states import PartStates, keeps_states


def scan_by_parts(
    engine: Engine, table: Table, part: Part, wanted: Sequence[Wanted], *, dataset: Dataset, datacenter: str
) -> ScanReport:
    """The report of a scan that reads no partition whose state is known."""
    mergeable = [item for item in wanted if can_merge(item.spec)]
    prints = _prints(table, part) if mergeable and keeps_states(dataset) else None
    if not prints:
        return engine.scan(table, part, wanted)
    repository = PartStates(dataset=dataset, datacenter=datacenter)
    if len(prints) == 1:
        return _keeping(engine, table, part, wanted, prints, repository)
    merged = scan_merged(engine, table, prints, mergeable, repository)
    known = {key: replace(found, state=None) for key, found in merged.measured.items()}
    rest = [item for item in wanted if item.key not in known]
    read = engine.scan(table, part, rest) if rest else None
    return ScanReport(
        measured=known | (dict(read.measured) if read else {}),
        spark_jobs=merged.spark_jobs + (read.spark_jobs if read else 0),
        seconds=merged.seconds + (read.seconds if read else 0.0),
        fingerprint=None,
    )


def _prints(table: Table, part: Part) -> Prints | None:
    try:
        return partition_prints(table, part)
    except UnableToListFiles:
        return None  # the scan says what is wrong


def _keeping(
    engine: Engine, table: Table, part: Part, wanted: Sequence[Wanted], prints: Prints, repository: PartStates
) -> ScanReport:
    """One partition is read as ever: what is kept of it is for windows that hold it later."""
    report = engine.scan(table, part, [replace(item, keep_state=can_merge(item.spec)) for item in wanted])
    ((key, print_),) = prints.items()
    if report.fingerprint != print_:
        return report  # rewritten since it was listed
    measured = dict(report.measured)
    for item in wanted:
        state = measured[item.key].state if can_merge(item.spec) and item.key in measured else None
        if state is not None:
            repository.save_parts(item.spec, {key: print_}, {key: state})
            measured[item.key] = replace(measured[item.key], state=None)
    return replace(report, measured=measured)
