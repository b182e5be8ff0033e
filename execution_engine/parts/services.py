"""A scan's measurements partition by partition: those over many are merged, those over one leave their states."""

from collections.abc import Sequence
from dataclasses import replace

from assay.models import Dataset
from execution_engine.engines.protocol import Engine, Part, ScanReport, Table, Wanted
from execution_engine.read_by import together

from .incremental import Prints, can_merge, scan_merged, state_spec
from .part_states import PartStates


def scan_by_parts(
    engine: Engine,
    table: Table,
    part: Part,
    wanted: Sequence[Wanted],
    *,
    dataset: Dataset,
    datacenter: str,
    keeps: bool,
) -> ScanReport:
    """The report of a scan that reads no partition whose state is known; ``keeps``: the dataset's states are kept."""
    mergeable = [item for item in wanted if can_merge(item.spec)]
    prints = engine.fingerprints_by_key(table, part) if mergeable and keeps else None
    if not prints:
        return engine.scan(table, part, wanted)
    repository = PartStates(dataset=dataset, datacenter=datacenter)
    if len(prints) == 1:
        return _keeping(engine, table, part, wanted, prints, repository)
    merged = scan_merged(engine, table, prints, mergeable, repository)
    rest = [item for item in wanted if item.key not in merged.measured]
    read = engine.scan(table, part, rest) if rest else None
    return ScanReport(
        measured=dict(merged.measured) | (dict(read.measured) if read else {}),
        spark_jobs=merged.spark_jobs + (read.spark_jobs if read else 0),
        seconds=merged.seconds + (read.seconds if read else 0.0),
        fingerprint=None,
        read_by=together([merged.read_by, *([read.read_by] if read else [])]),
    )


def _keeping(
    engine: Engine, table: Table, part: Part, wanted: Sequence[Wanted], prints: Prints, repository: PartStates
) -> ScanReport:
    """One partition is read as ever: what is kept of it is for windows that hold it later."""
    specs = dict.fromkeys(state_spec(item.spec) for item in wanted if can_merge(item.spec))
    kept = {f"state of {spec.text}": spec for spec in specs}
    asked = [Wanted(key=key, spec=spec, keep_state=True) for key, spec in kept.items()]
    report = engine.scan(table, part, [*wanted, *asked])
    ((key, print_),) = prints.items()
    if report.fingerprint == print_:  # else rewritten since it was listed
        states = {spec: state for name, spec in kept.items() if (state := report.measured[name].state)}
        repository.save_part(key, print_, states)
    return replace(report, measured={item.key: report.measured[item.key] for item in wanted})
