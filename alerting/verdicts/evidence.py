"""What the runs of a test's newest revision saw of one window (or, for a whole table, of all)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import QuerySet

from alerting.models import Standing
from assay.catalog.selectors import slas
from assay.models import Category, DataTest, Scope
from assay.time.windows import Window
from execution_engine.exact import from_json as number
from execution_engine.language.serialise import from_json
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome, Reason
from execution_engine.runs.shown_results import HIDDEN, Veil
from execution_engine.selectors import period

from .sustain import Counts, SeenRun, Verdict, fold, holds_without, in_order, unknown_after, with_streak

TABLE_KEY = "table"
MOST_RUNS = 500  # of a whole table, the newest
COLUMNS = (
    *("window_start", "window_end", "reason", "due_at", "requested_at", "evaluated_at", "measured_at", "outcome"),
    *("error_reason", "value", "excess", "sentence", "data_test_id"),
)


def window_key(test: DataTest, window: Window) -> str:
    """What tells the standings of one test apart."""
    return TABLE_KEY if test.scope == Scope.TABLE else window.text


def evaluated(*tests: DataTest) -> QuerySet[Run]:
    """The runs of the newest revision of each test that enter standings."""
    rows = Run.objects.filter(
        data_test__in=[test.pk for test in tests],
        revision__in=[test.revision_id for test in tests],
        evaluated_at__isnull=False,
    )
    return rows.exclude(reason=RunReason.BACKTEST).only(*COLUMNS)


def seen(run: Run) -> SeenRun:
    """What one evaluated run saw; an error that measured nothing counts from its evaluation."""
    measured_at = run.measured_at or run.evaluated_at
    assert measured_at is not None
    return SeenRun(
        run_id=run.pk,
        measured_at=measured_at,
        outcome=Outcome(run.outcome),
        reason=Reason(run.error_reason) if run.error_reason else None,
        value=run.value,
        excess=run.excess,
        of_change=run.reason == RunReason.TRIGGER,
    )


def due_at(test: DataTest, window: Window, runs: Iterable[Run]) -> datetime | None:
    """When the window is due: as it was scheduled, else by the freshness SLA; None if neither says."""
    scheduled = [run.due_at for run in runs if run.reason == RunReason.SCHEDULE]
    if scheduled:
        return min(scheduled)
    partition = test.scope == Scope.PARTITION and test.revision is not None and test.revision.schedule == "partition"
    return window.end + slas(test.dataset).freshness if partition else None


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    """The runs that a standing rests on, in the order of their measurements."""

    runs: tuple[Run, ...]
    results: tuple[SeenRun, ...]
    sentences: Mapping[int, str] = field(default_factory=dict)  # by run, where more is to be said than it saw itself

    def sentence(self, run: Run | None) -> str:
        """What a run says of the data."""
        return self.sentences.get(run.pk, run.sentence) if run else ""

    @property
    def newest(self) -> Run | None:
        """The run that measured last."""
        return self.runs[-1] if self.runs else None

    @property
    def judged(self) -> bool:
        """Whether any of them held or broke."""
        return any(result.outcome is not Outcome.ERROR for result in self.results)

    @property
    def held_at(self) -> datetime | None:
        """When the window last held."""
        holds = [result.measured_at for result in self.results if result.outcome is Outcome.HELD]
        return max(holds, default=None)

    @property
    def last_due_at(self) -> datetime | None:
        """The latest due instant among scheduled runs."""
        return max((run.due_at for run in self.runs if run.reason == RunReason.SCHEDULE), default=None)

    def run(self, run_id: int | None) -> Run | None:
        """The run with this id."""
        return next((run for run in self.runs if run.pk == run_id), None)


def evidence_of(test: DataTest, window: Window) -> RunEvidence:
    """All that counts of a window; of a whole table all, without what was accepted or forced of its partitions.

    There a broken result that the waived windows explain counts as held.
    """
    if test.scope != Scope.TABLE:
        rows = evaluated(test).filter(window_start=window.start, window_end=window.end)
        return evidence(rows.order_by("pk"))
    newest = evaluated(test).only(*COLUMNS, "operands").order_by("-pk")[:MOST_RUNS]
    whole = evidence(reversed(newest))
    if all(result.outcome is not Outcome.BROKEN for result in whole.results):
        return whole
    assert test.revision is not None
    tree, waived = from_json(test.revision.tree), waived_counts(test)
    results, sentences = list(whole.results), {}
    for place, (run, result) in enumerate(zip(whole.runs, whole.results, strict=True)):
        if result.outcome is not Outcome.BROKEN:
            continue
        inside = [counts for part, counts in waived.items() if run.window.contains(part)]
        counts_of_run = {text: number(value) for text, value in run.operands.items()}
        if (left := holds_without(tree, counts_of_run, inside)) is not None:
            value = None if left.value is None else float(left.value)
            results[place] = replace(result, outcome=Outcome.HELD, value=value, excess=0.0)
            windows = "1 window that was" if len(inside) == 1 else f"{len(inside)} windows that were"
            text = f"without {windows} accepted or called a false positive: {left.sentence}"
            sentences[run.pk] = f"{run.sentence}; {text}"
    return replace(whole, results=tuple(results), sentences=sentences)


def evidence(runs: Iterable[Run]) -> RunEvidence:
    """The runs that count: those asked for before their window was due, and found incomplete, do not."""
    by_id = {run.pk: run for run in runs}
    results = tuple(in_order(seen(run) for run in by_id.values()))
    return RunEvidence(runs=tuple(by_id[result.run_id] for result in results), results=results)


def waived_parts(test: DataTest) -> QuerySet[Standing]:
    """The broken windows that are waived, of the partitions' own test of what a whole table's test asserts."""
    assert test.revision is not None
    return Standing.objects.filter(
        data_test__dataset=test.dataset_id,
        data_test__category=test.category,
        data_test__datacenter=test.datacenter,
        data_test__spoils=test.spoils,
        data_test__scope=Scope.PARTITION,
        data_test__retired_at__isnull=True,
        revision__assertion=test.revision.assertion,
        waiver__isnull=False,
        last_outcome=Outcome.BROKEN,
    )


def waived_counts(test: DataTest) -> dict[Window, Counts]:
    """What was last counted of each of these windows."""
    places = set(waived_parts(test).values_list("data_test", "window_start", "window_end"))
    runs = Run.objects.filter(
        data_test__in={test_id for test_id, _, _ in places},
        window_start__in={start for _, start, _ in places},
        outcome=Outcome.BROKEN,
    ).exclude(reason=RunReason.BACKTEST)
    columns = ("data_test_id", "window_start", "window_end", "operands")
    return {
        Window(start=start, end=end): {text: number(value) for text, value in operands.items()}
        for test_id, start, end, operands in runs.order_by("measured_at", "pk").values_list(*columns)
        if (test_id, start, end) in places
    }


# The verdict of a standing by all that is stored of its window, and the place that its data is in.


def verdict_of(standing: Standing, test: DataTest, evidence: RunEvidence, now: datetime) -> Verdict:
    """The fold of the evidence at ``now``, with what its streak adds."""
    assert test.revision is not None
    sustain = test.revision.sustain
    is_whole = test.scope == Scope.TABLE
    completeness = DataTest.objects.filter(
        dataset=test.dataset_id, category=Category.COMPLETENESS, scope=Scope.PARTITION, retired_at__isnull=True
    )
    folded = fold(
        evidence.results,
        due_at=due_at(test, standing.window, evidence.runs) or standing.due_at,
        sustain=sustain,
        now=now,
        unknown_after=unknown_after(period=period(test), sustain=sustain),
        settles=test.category == Category.FRESHNESS and len(evidence.results) > 1 and completeness.exists(),
        last_due_at=evidence.last_due_at if is_whole else None,
    )
    return folded if is_whole else with_streak(folded, standing.streak_at)


def verdict(standing: Standing, test: DataTest, now: datetime) -> Verdict:
    """What all results of the newest revision say of a standing at ``now``."""
    return verdict_of(standing, test, evidence_of(test, standing.window), now)


def of_the_past(standings: Sequence[Standing]) -> set[int]:
    """The standings, by id, that only a back-fill has asked about: no schedule has come to their windows."""
    runs = Run.objects.filter(
        data_test__in={row.data_test_id for row in standings},
        window_start__in={row.window_start for row in standings},
        reason__in=(RunReason.SCHEDULE, RunReason.BACKFILL),
    )
    reasons: dict[tuple[int, datetime, datetime], set[str]] = defaultdict(set)
    for test, start, end, reason in runs.values_list("data_test_id", "window_start", "window_end", "reason").distinct():
        reasons[test, start, end].add(reason)
    return {
        row.pk
        for row in standings
        if reasons[row.data_test_id, row.window_start, row.window_end] == {RunReason.BACKFILL.value}
    }


def spoilt_place(test: DataTest, home: str) -> str:
    """Where data is spoilt when the test breaks; empty for what home's tests find, as every datacenter shares it."""
    return place_of(test.datacenter, test.spoils, home)


def place_of(runs_in: str, spoils: str, home: str) -> str:
    """``spoilt_place`` of a test that runs in one datacenter and finds what is missing in another."""
    return spoils or ("" if runs_in == home else runs_in)


# What a standing says of data, as it may be shown now.


def is_hidden(standing: Standing, veil: Veil) -> bool:
    """Whether what it last held or broke by must not be told any more."""
    return standing.last_outcome != "" and veil.hides(standing.revision, standing.data_test.dataset)


def sentence_of(standing: Standing, veil: Veil) -> str:
    """Its sentence, or that there is none to show."""
    return HIDDEN if is_hidden(standing, veil) else standing.sentence
