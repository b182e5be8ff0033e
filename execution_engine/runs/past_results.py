"""What a test would have found of past windows, from the measurements that are stored; asks for those that are not."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from assay.database.statements import in_parts
from assay.models import DataTest
from assay.time.windows import Window
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import operands
from execution_engine.metrics.registry import METRICS
from execution_engine.models import Measurement, Run, RunReason, Scan
from execution_engine.planning.catalog_sources import Sources
from execution_engine.planning.planner import UnableToPlan, Want
from execution_engine.scans.ask import ask, flatten

from .evaluate_runs import judge
from .plan_runs import planner_of
from .shown_results import objection_to

if TYPE_CHECKING:
    from .accepted_past import AcceptedPasts

Key = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class PastResults:
    """What is known of past windows by stored measurements, without any run being written.

    ``runs`` are results in the order of their instants, of each window as often as any of its operands was measured.
    ``missing`` are the wants of windows that have none yet; ``unknowable`` says why others never will have one.
    """

    runs: dict[Window, list[Run]] = field(default_factory=dict)
    missing: dict[Window, tuple[Want, ...]] = field(default_factory=dict)
    unknowable: dict[Window, str] = field(default_factory=dict)


def past_results(
    test: DataTest,
    windows: Collection[Window],
    now: datetime,
    sources: Sources,
    as_of: Mapping[Window, Mapping[str, str]] = MappingProxyType({}),
) -> PastResults:
    """The results of a test, which may be one that is not written yet, over past windows.

    ``as_of`` says for windows which snapshots are read, as of a Run; the others are read as they are.
    """
    assert test.revision is not None
    test_operands = operands(from_json(test.revision.tree))
    objection = objection_to(test_operands, test.dataset.full_name, sources)
    results = PastResults(runs={}, missing={}, unknowable=dict.fromkeys(windows, objection) if objection else {})
    if objection:
        return results
    wants_by_window: dict[Window, dict[str, Want]] = {}
    for window in windows:
        try:
            planner = planner_of(test, window, None, sources, as_of.get(window, {}))
            wants_by_window[window] = {operand.text: planner.want(operand) for operand in test_operands}
        except UnableToPlan as refused:
            results.unknowable[window] = refused.failure.detail
    all_wants = [want for wants in wants_by_window.values() for want in wants.values()]
    names = {sources.dataset(name).pk: name for name in {want.dataset for want in all_wants}}
    measured = Measurement.objects.filter(
        dataset__in=names,
        datacenter__in={want.datacenter for want in all_wants},
        spec_hash__in={want.spec_hash for want in all_wants},
        measured_at__isnull=False,
    ).select_related("dataset")
    stored: dict[Key, list[Measurement]] = defaultdict(list)
    for starts in in_parts({want.window.start for want in all_wants}):
        for row in measured.filter(window_start__in=starts).defer("state").order_by("measured_at", "pk"):
            stored[names[row.dataset_id], row.datacenter, row.window.text, row.spec_hash].append(row)
    from .accepted_past import AcceptedPasts  # with it scipy, for which no gate should wait

    pasts = AcceptedPasts(now)
    for window, wants in wants_by_window.items():
        rows = {text: stored.get(want.key, []) for text, want in wants.items()}
        if all(rows.values()):
            results.runs[window] = _judged(test, window, rows, now, sources, pasts)
        elif late := [want.spec.text for want in wants.values() if METRICS[want.spec.name].waits_for_sla]:
            # they say when rows were there: what is measured later says nothing of that
            why = f"{', '.join(late)} was not measured when it could be, and stored times alone tell it"
            results.unknowable[window] = why
        else:
            results.missing[window] = tuple(wants.values())
    return results


def ask_for_missing(results: PastResults, now: datetime, sources: Sources) -> int:
    """Ask for the measurements that are missing, as any run would; how many scans are then open for them."""
    wants = [want for wants in results.missing.values() for want in wants]
    measurements = ask(wants, sources=sources, now=now, are_made_up_for=True) if wants else {}
    return len({row.scan_id for row in measurements.values() if row.scan_id is not None and row.measured_at is None})


def scans_for_missing(results: PastResults) -> int:
    """How many scans would be needed: one for each place and window."""
    places = {
        (want.dataset, want.datacenter, want.window.text)
        for wants in results.missing.values()
        for want in flatten(wants)
    }
    return len(places)


def usual_seconds(dataset_id: int, most: int = 50) -> float | None:
    """The median seconds of the last scans of a dataset; None where there was none."""
    ended = Scan.objects.filter(dataset=dataset_id, ended_at__isnull=False, taken__gt=0).order_by("-ended_at")
    seconds = sorted(ended.values_list("seconds", flat=True)[:most])
    return seconds[len(seconds) // 2] if seconds else None


def _judged(
    test: DataTest,
    window: Window,
    rows: Mapping[str, Sequence[Measurement]],
    now: datetime,
    sources: Sources,
    pasts: "AcceptedPasts",
) -> list[Run]:
    """A result for each instant at which an operand was measured, from when all of them had been."""
    instants = sorted(
        {row.measured_at for operand_rows in rows.values() for row in operand_rows if row.measured_at is not None}
    )
    begun = max(
        operand_rows[0].measured_at for operand_rows in rows.values() if operand_rows[0].measured_at is not None
    )
    runs = []
    for number, instant in enumerate(at for at in instants if at >= begun):
        run = Run(
            id=-1 - number,  # unsaved; results of one instant keep their order
            data_test=test,
            revision=test.revision,
            reason=RunReason.BACKTEST,
            window_start=window.start,
            window_end=window.end,
            due_at=window.end,
            requested_at=instant,
        )
        latest = {
            text: [row for row in taken if row.measured_at is not None and row.measured_at <= instant][-1]
            for text, taken in rows.items()
        }
        judge(run, latest, now, sources, pasts)
        run.measured_at = instant
        runs.append(run)
    return runs
