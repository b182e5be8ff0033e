"""Which scans one process may take together: those that would find the same, and be as many, one after another."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection

from assay.clock import instant_of
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.freshness.derive import is_derived
from execution_engine.models import Measurement, Scan
from execution_engine.planning.turns import turn

from .open_scans import Place


@dataclass(frozen=True, kw_only=True)
class WaitingMeasurement:
    """A measurement without a scan, for want of its inputs."""

    place: Place
    turn: int  # of the scan that it will have
    derived: bool  # from its inputs alone: it will have none
    inputs: set[int] = field(default_factory=set)  # those that are not in: ids


@dataclass(frozen=True, kw_only=True)
class Awaited:
    """What waits for the measurements of some scans."""

    measurements: dict[int, WaitingMeasurement]  # by id
    scans: dict[int, set[int]]  # ids of their inputs, by the id of the scan that takes them


def apart(scans: list[Scan]) -> list[Scan]:
    """Of free scans, in their order, the first ones: as many as change nothing for each other.

    One ends before the next begins: what it wakes may be asked of the next one's place, and be read with it, or may
    come before it. Then the next one waits. A scan that was tried before is taken alone, as its worker may have died
    of it.
    """
    if len(scans) == 1 or scans[0].attempts:
        return scans[:1]
    known = awaited(scans)
    taken: list[Scan] = []
    places: set[Place] = set()
    turns: set[int] = set()
    measured: set[int] = set()
    for scan in scans:
        place = (scan.dataset_id, scan.datacenter, scan.window)
        if place in places or any(earlier < scan.turn for earlier in turns):
            break
        taken.append(scan)
        places.add(place)
        measured |= known.scans.get(scan.pk, set())
        for woken in _woken(known, measured):
            places.add(woken.place)
            turns.add(woken.turn)
    return taken


def _woken(known: Awaited, measured: set[int]) -> list[WaitingMeasurement]:
    """What is to be scanned once these are measured; adds to them what is derived from them."""
    ready: dict[int, WaitingMeasurement] = {}
    while new := {pk: row for pk, row in known.measurements.items() if pk not in ready and row.inputs <= measured}:
        ready |= new
        measured |= {pk for pk, row in new.items() if row.derived}
    return [row for row in ready.values() if not row.derived]


def awaited(scans: Sequence[Scan]) -> Awaited:
    """What waits for these scans, at once or through what is derived in between: one statement."""
    quote = connection.ops.quote_name
    marks = ", ".join(["%s"] * len(scans))
    tables = {
        "links": quote(Measurement.inputs.through._meta.db_table),
        "measurements": quote(Measurement._meta.db_table),
        "datasets": quote(Dataset._meta.db_table),
    }
    with connection.cursor() as cursor:
        cursor.execute(_AWAITED.format(marks=marks, **tables), [scan.pk for scan in scans])
        found = cursor.fetchall()
    known = Awaited(measurements={}, scans={})
    for pk, spec, dataset_id, datacenter, start, end, tier, part, scan_id in found:
        if pk not in known.measurements:
            name = json.loads(spec)["name"]
            window = Window(start=instant_of(start), end=instant_of(end))
            known.measurements[pk] = WaitingMeasurement(
                place=(dataset_id, datacenter, window), turn=turn(tier), derived=is_derived(name)
            )
        known.measurements[pk].inputs.add(part)
        known.scans.setdefault(scan_id, set()).add(part)
    return known


_AWAITED = """
    WITH RECURSIVE users (id) AS (
        SELECT link.from_measurement_id FROM {measurements} own JOIN {links} link ON link.to_measurement_id = own.id
        WHERE own.scan_id IN ({marks}) AND own.measured_at IS NULL
        UNION
        SELECT link.from_measurement_id FROM users JOIN {links} link ON link.to_measurement_id = users.id
    )
    SELECT waiting.id, waiting.spec, waiting.dataset_id, waiting.datacenter, waiting.window_start, waiting.window_end,
        dataset.tier, part.id, part.scan_id
    FROM users
    JOIN {measurements} waiting ON waiting.id = users.id
    JOIN {datasets} dataset ON dataset.id = waiting.dataset_id
    JOIN {links} link ON link.from_measurement_id = waiting.id
    JOIN {measurements} part ON part.id = link.to_measurement_id
    WHERE waiting.measured_at IS NULL AND waiting.scan_id IS NULL AND part.measured_at IS NULL
"""
