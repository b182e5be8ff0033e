"""The states of a dataset's partitions in one datacenter, kept in the database, the large ones in the state store."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2s

from django.db import transaction
from django.db.models import QuerySet

from assay.clock import now
from assay.models import Dataset
from execution_engine.engines.protocol import Engine, MeasurementRequest, Part, ScanReport, Table
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import UnableToReadState
from execution_engine.models import PartState
from execution_engine.planning.planner import hash_of
from execution_engine.read_by import together

from .incremental import Prints, Rollup, can_merge, scan_merged, state_spec
from .state_store import UnableToLoadState, keep_state, state_of

AT_ONCE = 100  # rows of one statement: MariaDB takes 16 MB at a time
MOST_ROWS = 1_000  # that one query reads, with up to 64 kB in each
MOST_UNIONS = 2  # of one metric; each is as large as all its partitions' states together


@dataclass(frozen=True, kw_only=True)
class PartStates:
    """The repository of one dataset in one datacenter."""

    dataset: Dataset
    datacenter: str

    def parts(self, specs: Sequence[MetricSpec], prints: Prints) -> dict[MetricSpec, dict[str, bytes]]:
        """Of each metric the states of those partitions that are known with these fingerprints, by key."""
        states: dict[MetricSpec, dict[str, bytes]] = defaultdict(dict)
        at_once = max(1, MOST_ROWS // len(prints))
        for at in range(0, len(specs), at_once):
            by_hash = {hash_of(spec): spec for spec in specs[at : at + at_once]}
            for row in self._of(by_hash).filter(key__in=list(prints)):
                if row.fingerprint == prints[row.key]:
                    with suppress(UnableToReadState):  # its file is gone or damaged: it is measured again
                        states[by_hash[row.spec_hash]][row.key] = _load(row)
        return dict(states)

    def rollups(self, specs: Sequence[MetricSpec]) -> dict[MetricSpec, list[Rollup]]:
        """Of each metric the states over several partitions, the newest first."""
        by_hash, rollups = {hash_of(spec): spec for spec in specs}, defaultdict(list)
        for row in self._of(by_hash).filter(key="").defer("state").order_by("-pk"):
            rollups[by_hash[row.spec_hash]].append(Rollup(prints=dict(row.prints), load=partial(_load, row)))
        return dict(rollups)

    def save_parts(self, prints: Prints, states: Mapping[MetricSpec, Mapping[str, bytes]]) -> None:
        """Keep the states of partitions, in place of those that their older data had."""
        at = now()
        alike: dict[tuple[str, ...], list[PartState]] = defaultdict(list)  # an older state goes for a newer one alone
        for spec, by_key in states.items():
            alike[tuple(by_key)] += [self._row(spec, key, prints[key], state, at) for key, state in by_key.items()]
        for rows in alike.values():
            older = self._of({row.spec_hash for row in rows}).filter(key__in={row.key for row in rows})
            with transaction.atomic():
                older.delete()
                PartState.objects.bulk_create(rows, AT_ONCE, ignore_conflicts=True)

    def save_rollups(self, prints: Prints, states: Iterable[tuple[MetricSpec, bytes]]) -> None:
        """Keep the states over all these partitions, and only the newest few of each metric."""
        lines = "\n".join(f"{key}={print_}" for key, print_ in sorted(prints.items()))
        fingerprint = blake2s(lines.encode(), digest_size=16).hexdigest()
        at = now()
        rows = [self._row(spec, "", fingerprint, state, at) for spec, state in states]
        for row in rows:
            row.prints = dict(prints)
        PartState.objects.bulk_create(rows, AT_ONCE, ignore_conflicts=True)
        unions = self._of({row.spec_hash for row in rows}).filter(key="")
        count: Counter[str] = Counter()
        old = []
        for pk, spec_hash in unions.order_by("-pk").values_list("pk", "spec_hash"):
            count[spec_hash] += 1
            if count[spec_hash] > MOST_UNIONS:
                old.append(pk)
        if old:
            unions.filter(pk__in=old).delete()

    def _of(self, hashes: Collection[str]) -> QuerySet[PartState]:
        return PartState.objects.filter(dataset=self.dataset, datacenter=self.datacenter, spec_hash__in=hashes)

    def _row(self, spec: MetricSpec, key: str, fingerprint: str, state: bytes, stored_at: datetime) -> PartState:
        row = PartState(
            dataset=self.dataset,
            datacenter=self.datacenter,
            spec_hash=hash_of(spec),
            key=key,
            fingerprint=fingerprint,
            kept_at=stored_at,
        )
        keep_state(row, state)
        return row


def _load(row: PartState) -> bytes:
    try:
        return state_of(row)
    except UnableToLoadState as error:
        raise UnableToReadState(f"the state {row.state_path} is gone") from error


# A scan's measurements partition by partition: those over many are merged, those over one leave their states.


def scan_by_parts(
    engine: Engine,
    table: Table,
    part: Part,
    requests: Sequence[MeasurementRequest],
    *,
    dataset: Dataset,
    datacenter: str,
    keeps: bool,
) -> ScanReport:
    """The report of a scan that reads no partition whose state is known; ``keeps``: the dataset's states are kept."""
    mergeable = [item for item in requests if can_merge(item.spec)]
    prints = engine.fingerprints_by_key(table, part) if mergeable and keeps else None
    if not prints:
        return engine.scan(table, part, requests)
    repository = PartStates(dataset=dataset, datacenter=datacenter)
    if len(prints) == 1:  # it is read as ever: what is kept of it is for windows that hold it later
        specs = dict.fromkeys(state_spec(item.spec) for item in mergeable)
        specs_by_name = {f"state of {spec.text}": spec for spec in specs}
        states_asked = [MeasurementRequest(key=key, spec=spec, keep_state=True) for key, spec in specs_by_name.items()]
        report = engine.scan(table, part, [*requests, *states_asked])
        ((key, print_),) = prints.items()
        if report.fingerprint == print_:  # else rewritten since it was listed
            states = {
                spec: {key: state} for name, spec in specs_by_name.items() if (state := report.measured[name].state)
            }
            repository.save_parts(prints, states)
        return replace(report, measured={item.key: report.measured[item.key] for item in requests})
    merged = scan_merged(engine, table, prints, mergeable, repository)
    others = [item for item in requests if item.key not in merged.measured]
    if not others:
        return merged
    report = engine.scan(table, part, others)
    return ScanReport(
        measured={**merged.measured, **report.measured},
        spark_jobs=merged.spark_jobs + report.spark_jobs,
        seconds=merged.seconds + report.seconds,
        fingerprint=None,
        read_by=together([merged.read_by, report.read_by]),
    )
