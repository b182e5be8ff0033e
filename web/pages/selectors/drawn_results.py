"""The results of one data test over its windows, ready to be drawn."""

from datetime import datetime
from math import isfinite
from typing import Any

from alerting.selectors import times_to_complete
from assay.models import Category, DataTest, Revision
from assay.time.partition_names import keys_of
from execution_engine.exact import from_json as from_stored
from execution_engine.language.evaluating.anomaly import EXPECTED
from execution_engine.language.serialise import from_json
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from web.pages.plot_bounds import PlotBounds, bounds
from web.shown.groups import ShownGroups, groups_of

LONGEST = 1000


def history(data_test: DataTest, veil: Veil) -> dict[str, Any]:
    """Parallel columns by window, oldest first: key, start (seconds), value, outcome and the bounds of its revision.

    ``was`` is the value that was first seen broken, whatever the newest result is: what is mended stays in sight.
    Of freshness the value is how long the window took to be complete. What must not be told now has no value.
    """
    # what held or broke, by window and then as it was measured, oldest first
    judged = data_test.runs.filter(outcome__in=(Outcome.HELD, Outcome.BROKEN)).exclude(reason=RunReason.BACKTEST)
    joined = judged.select_related("revision", "data_test__dataset")
    seen, took = list(reversed(joined.order_by("-window_start", "-measured_at", "-pk")[:LONGEST])), _took(data_test)
    for run in seen:
        if veil.hides_run(run):
            run.value = None
    runs = list({run.window_start: run for run in seen}.values())
    first_broken = {run.window_start: run for run in reversed(seen) if run.outcome == Outcome.BROKEN}
    limits = {
        revision.pk: bounds(from_json(revision.tree))
        for revision in Revision.objects.filter(pk__in={run.revision_id for run in runs})
    }
    of_run = [expected(run, limits.get(run.revision_id, PlotBounds())) for run in runs]
    return {
        "test": data_test.name,
        "duration": any(bound.is_duration for bound in of_run),
        "key": [keys_of(run.window, data_test.dataset.partitioning) for run in runs],
        "start": [int(run.window_start.timestamp()) for run in runs],
        "value": [took.get(run.window_start, shown(run)) if run.value == 0 else shown(run) for run in runs],
        "was": [shown(first_broken.get(run.window_start)) for run in runs],
        "outcome": [run.outcome for run in runs],
        "low": [bound.low for bound in of_run],
        "high": [bound.high for bound in of_run],
    }


def newest_groups(data_test: DataTest, veil: Veil) -> ShownGroups | None:
    """The groups of its newest window, where it is by columns and what it found may be told."""
    judged = data_test.runs.filter(outcome__in=(Outcome.HELD, Outcome.BROKEN)).exclude(reason=RunReason.BACKTEST)
    run = judged.select_related("revision", "data_test__dataset").order_by("-window_start", "-measured_at").first()
    return None if run is None or veil.hides_run(run) else groups_of(veil.findings(run))


def _took(data_test: DataTest) -> dict[datetime, float]:
    """The seconds that windows took, where the test asks for them and they are known."""
    if data_test.category != Category.FRESHNESS:
        return {}
    found = times_to_complete(data_test.dataset, data_test.datacenter, LONGEST)
    return {took.window.start: took.seconds for took in found if took.is_known}


def expected(run: Run, limits: PlotBounds) -> PlotBounds:
    """The bounds of a run: of an anomaly the interval that was expected then, as wide as the test lets it be."""
    found = _finding(run)
    if limits.widths is None or found is None:
        return limits
    low, high = found["low"], found["high"]
    if low is None or high is None:
        return PlotBounds(low=low, high=high)
    middle, reach = low / 2 + high / 2, (high / 2 - low / 2) * limits.widths
    return PlotBounds(low=middle - reach, high=middle + reach)


def shown(run: Run | None) -> float | None:
    """The run's value; of an anomaly that of its metric, which its bounds are of."""
    if run is None or run.value is None or not isfinite(run.value):
        return None
    found = _finding(run)
    value = None if found is None else from_stored(found["value"])
    return run.value if value is None else float(value)


def _finding(run: Run) -> dict[str, Any] | None:
    """What the one anomaly that a run asked for found."""
    found = run.findings.get(EXPECTED, [])
    return found[0] if len(found) == 1 else None
