"""Turn wants into measurements: share those that are pending, order the others, and give each its scan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection

from execution_engine.engines.protocol import Measured
from execution_engine.freshness.derive import is_derived, settle_derived
from execution_engine.metrics.definition import OTHER_SIDE
from execution_engine.metrics.registry import METRICS
from execution_engine.models import WHOLE_TABLE, Measurement, Scan
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import Want

from .open_scans import Place, hurry, open_scans, scans_for

Key = tuple[str, str, str, str]


def ask(
    wants: Sequence[Want], *, sources: Sources, now: datetime, are_made_up_for: bool = False
) -> dict[Key, Measurement]:
    """The measurement of every want and of all its inputs, by the wants' keys.

    A pending one is shared as long as its scan has not begun. The open scans are locked first, so none can begin
    before this transaction ends. What is made up for after an outage is scanned after what is current.
    """
    order = _Order(wants=flatten(wants), sources=sources, now=now, are_made_up_for=are_made_up_for)
    order.find()
    order.create()
    return order.found


def flatten(wants: Iterable[Want]) -> list[Want]:
    """Every want once, inputs before what builds on them; of equal ones the strictest."""
    flat: dict[Key, Want] = {}

    def add(want: Want) -> None:
        known = flat.get(want.key)
        if known is None or _stricter(want.accept_from, known.accept_from):
            for part in want.inputs:
                add(part)
            flat[want.key] = want

    for want in wants:
        add(want)
    return list(flat.values())


@dataclass
class _Order:
    """One call of ``ask``: what was found, and what must be made."""

    wants: list[Want]
    sources: Sources
    now: datetime
    are_made_up_for: bool
    found: dict[Key, Measurement] = field(default_factory=dict)
    new: dict[Key, Measurement] = field(default_factory=dict)
    scans: dict[Place, Scan] = field(default_factory=dict)

    def find(self) -> None:
        """Take what is pending or kept; prepare a row for the rest."""
        self.scans = open_scans({self._place(want) for want in self.wants if not is_derived(want.spec.name)})
        if not self.are_made_up_for:
            hurry(self.scans.values())
        pending = self._pending()
        kept = self._kept()
        stricter: list[Measurement] = []
        for want in self.wants:
            shared = kept.get(want.key) or self._shared(want, pending.get(want.key, ()))
            self.found[want.key] = shared or self._make(want)
            if shared and not shared.measured_at and _stricter(want.accept_from, shared.accept_from):
                stricter.append(shared)
                shared.accept_from = want.accept_from
        for measurement in stricter:
            Measurement.objects.filter(pk=measurement.pk).update(accept_from=measurement.accept_from)

    def create(self) -> None:
        """Write the new rows with their inputs and scans, and compute what needs no data."""
        if not self.new:
            return
        scanned = [want for want in self.wants if want.key in self.new and self._is_wanted(want)]
        places = [self._place(want) for want in scanned]
        datasets = {self._dataset_id(want): self.sources.dataset(want.dataset) for want in scanned}
        scans = scans_for(places, self.scans, self.now, datasets=datasets, are_made_up_for=self.are_made_up_for)
        for want in scanned:
            self.new[want.key].scan = scans[self._place(want)]
        _insert(list(self.new.values()))
        self._link_inputs()
        self._derive()

    def _is_wanted(self, want: Want) -> bool:
        return not is_derived(want.spec.name) and all(self.found[part.key].measured_at for part in want.inputs)

    def _link_inputs(self) -> None:
        link = Measurement.inputs.through
        pairs = [
            link(from_measurement=self.new[want.key], to_measurement=self.found[part.key])
            for want in self.wants
            if want.key in self.new
            for part in want.inputs
        ]
        if pairs:
            link.objects.bulk_create(pairs)

    def _derive(self) -> None:
        for want in self.wants:
            inputs = [self.found[part.key] for part in want.inputs]
            if want.key in self.new and is_derived(want.spec.name) and all(part.measured_at for part in inputs):
                settle_derived({self.new[want.key]: inputs}, self.now)

    def _pending(self) -> dict[Key, list[tuple[Measurement, set[int]]]]:
        """Unmeasured rows of these wants, with the ids of their inputs, by key."""
        rows = list(
            Measurement.objects.filter(
                measured_at__isnull=True,
                dataset__in={self._dataset_id(want) for want in self.wants},
                spec_hash__in={want.spec_hash for want in self.wants},
                window_start__in={want.window.start for want in self.wants},
            )
        )
        inputs = input_ids(rows) if any(want.inputs for want in self.wants) else {}
        names = {self._dataset_id(want): want.dataset for want in self.wants}
        pending: dict[Key, list[tuple[Measurement, set[int]]]] = {}
        for row in rows:
            key = (names[row.dataset_id], row.datacenter, row.window.text, row.spec_hash)
            pending.setdefault(key, []).append((row, inputs.get(row.pk, set())))
        return pending

    def _shared(self, want: Want, candidates: Iterable[tuple[Measurement, set[int]]]) -> Measurement | None:
        if any(part.key in self.new for part in want.inputs):
            return None
        inputs = {self.found[part.key].pk for part in want.inputs}
        waiting = {None} if want.inputs else set()
        open_ids = waiting | {scan.pk for scan in self.scans.values()}
        return next((row for row, ids in candidates if ids == inputs and row.scan_id in open_ids), None)

    def _kept(self) -> dict[Key, Measurement]:
        """The newest one taken of which some has not been found yet: what is missed is looked for again."""
        wants = [want for want in self.wants if want.kept_while_missed]
        if not wants:
            return {}
        rows = Measurement.objects.filter(
            dataset__in={self._dataset_id(want) for want in wants},
            datacenter__in={want.datacenter for want in wants},
            window_start__in={want.window.start for want in wants},
            spec_hash__in={want.spec_hash for want in wants},
            failure_reason="",
            value__gt=0,
            measured_at__isnull=False,
        ).select_related("dataset")
        newest = {
            (row.dataset.full_name, row.datacenter, row.window.text, row.spec_hash): row
            for row in rows.order_by("measured_at", "pk")
        }
        missed = _missed(newest.values())
        return {want.key: newest[want.key] for want in wants if want.key in newest and newest[want.key].pk in missed}

    def _make(self, want: Want) -> Measurement:
        self.new[want.key] = Measurement(
            dataset_id=self._dataset_id(want),
            datacenter=want.datacenter,
            window_start=want.window.start,
            window_end=want.window.end,
            spec=want.spec.to_json() | ({WHOLE_TABLE: True} if want.whole_table else {}),
            spec_hash=want.spec_hash,
            spec_text=want.spec.text,
            requested_at=self.now,
            accept_from=want.accept_from,
        )
        return self.new[want.key]

    def _place(self, want: Want) -> Place:
        return self._dataset_id(want), want.datacenter, want.window

    def _dataset_id(self, want: Want) -> int:
        return self.sources.dataset(want.dataset).pk


def input_ids(rows: Iterable[Measurement]) -> dict[int, set[int]]:
    """The ids of the inputs of each measurement that has any."""
    link = Measurement.inputs.through
    found: dict[int, set[int]] = {}
    pairs = link.objects.filter(from_measurement__in=[row.pk for row in rows])
    for user, part in pairs.values_list("from_measurement_id", "to_measurement_id"):
        found.setdefault(user, set()).add(part)
    return found


def _missed(rows: Iterable[Measurement]) -> set[int]:
    """The ids of those of which something that builds on them found less, when it last looked."""
    values = {row.pk: row.value or 0.0 for row in rows}
    links = Measurement.inputs.through.objects.filter(
        to_measurement__in=values,
        from_measurement__measured_at__isnull=False,
        from_measurement__failure_reason="",
        from_measurement__value__isnull=False,
    ).order_by("from_measurement__measured_at", "from_measurement_id")
    columns = ("to_measurement_id", "from_measurement__spec_text", "from_measurement__value")
    last = {(pk, text): value for pk, text, value in links.values_list(*columns)}
    return {pk for (pk, _), value in last.items() if value < values[pk]}


def _insert(rows: list[Measurement]) -> None:
    """Write new rows so that each knows its id, in one statement where the database tells the ids."""
    if connection.features.can_return_rows_from_bulk_insert:
        Measurement.objects.bulk_create(rows)
        return
    for row in rows:
        row.save(force_insert=True)


def _stricter(accept_from: datetime | None, other: datetime | None) -> bool:
    return accept_from is not None and (other is None or accept_from > other)


# Measurements that their inputs settle, so that no data is read.


def settled_by(name: str, states: Mapping[str, bytes], key: bytes | None) -> Measured | None:
    """What the states of its inputs give of a metric; None where data must be read."""
    settle = METRICS[name].settle
    found = settle(states, key) if settle else None
    return None if found is None else Measured(value=found[0], detail=found[1])


def input_name(measurement: Measurement, part: Measurement) -> str:
    """What an engine knows an input by: its metric and, where it is taken of both sides, whose it is."""
    name = part.metric.name
    is_other = METRICS[name].both_sides and part.datacenter != measurement.datacenter
    return name + OTHER_SIDE if is_other else name
