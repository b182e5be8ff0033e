"""What alerting knows: verdicts, who can be reached, and how late a dataset usually is."""

from datetime import datetime, timedelta

from alerting import delay
from alerting.channels import channels
from alerting.evidence import Evidence, due_at, evidence, runs_of
from alerting.models import Standing
from alerting.standing import Verdict, fold, unknown_after
from alerting.streak import with_streak
from assay.models import Category, DataTest, LineageEdge, Scope
from execution_engine.models import Measurement
from execution_engine.selectors import period
from execution_engine.services.derive_freshness import TIME_TO_COMPLETE

USUAL_WINDOWS = 14


def verdict_of(standing: Standing, test: DataTest, found: Evidence, now: datetime) -> Verdict:
    """The fold of the evidence at ``now``, with what its streak adds."""
    assert test.revision is not None
    sustain = test.revision.sustain
    whole = test.scope == Scope.TABLE
    folded = fold(
        found.results,
        due_at=due_at(test, standing.window, found.runs) or standing.due_at,
        sustain=sustain,
        now=now,
        unknown_after=unknown_after(period=period(test), sustain=sustain),
        settles=test.category == Category.FRESHNESS and len(found.results) > 1 and _completeness_is_tested(test),
        last_due_at=found.last_due_at if whole else None,
    )
    return folded if whole else with_streak(folded, standing.streak_at)


def verdict(standing: Standing, test: DataTest, now: datetime) -> Verdict:
    """What all results of the newest revision say of a standing at ``now``."""
    return verdict_of(standing, test, evidence(runs_of(test, standing.window)), now)


def _completeness_is_tested(test: DataTest) -> bool:
    return DataTest.objects.filter(
        dataset=test.dataset_id, category=Category.COMPLETENESS, scope=Scope.PARTITION, retired_at__isnull=True
    ).exists()


def spoilt_place(test: DataTest, home: str) -> str:
    """Where data is spoilt when the test breaks; empty for what home's tests find, as every datacenter shares it."""
    if test.spoils:
        return test.spoils
    return "" if test.datacenter == home else test.datacenter


def usual_delay(dataset_id: int) -> timedelta:
    """How long after its direct upstreams a dataset's windows are usually complete, by the last weeks."""
    upstreams = LineageEdge.objects.filter(downstream=dataset_id).values_list("upstream", flat=True)
    return delay.usual_delay(_completions(dataset_id), [_completions(upstream) for upstream in upstreams])


def _completions(dataset_id: int) -> list[float]:
    """The seconds from each of the last windows' end to when it was found complete."""
    rows = Measurement.objects.filter(dataset=dataset_id, spec_text=TIME_TO_COMPLETE.text, value__isnull=False)
    values = rows.order_by("-window_start").values_list("value", flat=True)[:USUAL_WINDOWS]
    return [value for value in values if value is not None]


def is_reachable(recipient: str) -> bool:
    """Whether any channel but the log reaches a recipient."""
    return any(channel.name != "log" and channel.reaches(recipient) for channel in channels())
