"""What is told outside of runs: their outcome, and the figures that may be shown now."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from math import isfinite

from execution_engine.language.serialise import from_json
from execution_engine.language.tree import columns_named
from execution_engine.models import Ask, Run
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil

from .events import ToldFigure, ToldRun


def told(runs: Sequence[Run], now: datetime) -> list[ToldRun]:
    """The runs, each with its test, dataset and revision read.

    Nobody knows who reads what a receiver gets: of a dataset with readers it gets the verdict alone.
    """
    veil, figures = Veil(now), _figures(runs, now)
    return [_told(run, veil.hides_run(run), figures[run.pk]) for run in runs]


def _told(run: Run, is_hidden: bool, figures: Sequence[ToldFigure]) -> ToldRun:
    test, revision = run.data_test, run.revision
    is_limited = bool(test.dataset.readers)
    is_hidden = is_hidden or is_limited
    columns = columns_named(from_json(revision.tree))
    value = run.exact or (None if run.value is None else repr(run.value))
    return ToldRun(
        id=run.pk,
        namespace=test.dataset.namespace,
        dataset=test.dataset.name,
        test=test.name,
        category=test.category,
        assertion="" if is_limited else revision.assertion,
        is_hard=revision.severity == "hard",
        column=next(iter(columns)) if len(columns) == 1 and not is_limited else None,
        window=run.window,
        at=run.evaluated_at or run.requested_at,
        held=None if run.outcome not in (Outcome.HELD, Outcome.BROKEN) else run.outcome == Outcome.HELD,
        sentence="" if is_hidden else run.sentence,
        value=None if is_hidden else value,
        figures=() if is_limited else figures,
    )


def _figures(runs: Sequence[Run], now: datetime) -> dict[int, list[ToldFigure]]:
    """Of each run the plain measurements of its own dataset and window, without those that must not be told."""
    veil, found = Veil(now), defaultdict[int, list[ToldFigure]](list)
    by_id = {run.pk: run for run in runs}
    asks = Ask.objects.filter(run__in=by_id, measurement__value__isnull=False).select_related("measurement__dataset")
    for ask in asks.defer("measurement__state", "measurement__detail").order_by("pk"):
        row, run = ask.measurement, by_id[ask.run_id]
        spec = row.metric
        is_own = row.dataset_id == run.data_test.dataset_id and row.window == run.window
        is_plain = not (spec.where or spec.by or spec.options or spec.arguments) and len(spec.columns) < 2
        if is_own and is_plain and isfinite(row.value or 0.0) and not veil.hides_measurement(row):
            column = spec.columns[0] if spec.columns else None
            found[run.pk].append(ToldFigure(metric=spec.name, column=column, value=row.value or 0.0))
    return found
