"""What alerting knows: verdicts, who can be reached, and how late a dataset usually is."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Max, QuerySet

from assay.catalog.selectors import slas
from assay.models import Category, Dataset, DataTest, LineageEdge, Scope
from assay.time.windows import Window
from execution_engine.language.evaluating.sentence import length_shown
from execution_engine.models import Measurement
from execution_engine.planning import hash_of
from execution_engine.selectors import period
from execution_engine.services.derive_freshness import TIME_TO_COMPLETE

from . import delay
from .channels import channels
from .evidence import Evidence, due_at, evidence_of
from .models import Standing
from .standing import State, Verdict, fold, unknown_after
from .streak import with_streak

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
    return verdict_of(standing, test, evidence_of(test, standing.window), now)


def _completeness_is_tested(test: DataTest) -> bool:
    return DataTest.objects.filter(
        dataset=test.dataset_id, category=Category.COMPLETENESS, scope=Scope.PARTITION, retired_at__isnull=True
    ).exists()


def spoilt_place(test: DataTest, home: str) -> str:
    """Where data is spoilt when the test breaks; empty for what home's tests find, as every datacenter shares it."""
    return place_of(test.datacenter, test.spoils, home)


def place_of(runs_in: str, spoils: str, home: str) -> str:
    """``spoilt_place`` of a test that runs in one datacenter and finds what is missing in another."""
    return spoils or ("" if runs_in == home else runs_in)


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


@dataclass(frozen=True, kw_only=True)
class Took:
    """How long a window took to be complete after its end, and how long it may by its SLA."""

    window: Window
    seconds: float
    allowed: timedelta

    @property
    def text(self) -> str:
        """As people read it: ``3h 20m of 4h``."""
        allowed = self.allowed.total_seconds()
        return f"{length_shown(Decimal(self.seconds))} of {length_shown(Decimal(allowed))}"


def complete_up_to(dataset: Dataset) -> datetime | None:
    """The end of the last complete window at home before the first that is not; None where none is known.

    Windows that were never tested say nothing, nor do those that somebody has accepted as they are.
    """
    if (at_home := dataset.replicas.first()) is None:
        return None
    lacking = Standing.objects.filter(
        data_test__dataset=dataset,
        data_test__category=Category.FRESHNESS,
        data_test__datacenter=at_home.datacenter,
        data_test__retired_at__isnull=True,
        state__in=(State.WARN.value, State.FAIL.value, State.UNKNOWN.value),
        waiver__isnull=True,
    )
    first = lacking.order_by("window_start").values_list("window_start", flat=True).first()
    found = _times_to_complete(dataset, at_home.datacenter)
    if first is not None:
        found = found.filter(window_end__lte=first)
    last: datetime | None = found.aggregate(last=Max("window_end"))["last"]
    return last


def times_to_complete(dataset: Dataset, datacenter: str, limit: int) -> list[Took]:
    """How long each of the last windows took in one datacenter, the newest first."""
    rows = _times_to_complete(dataset, datacenter).order_by("-window_start")[:limit]
    allowed = slas(dataset).freshness
    return [Took(window=row.window, seconds=row.value or 0.0, allowed=allowed) for row in rows.defer("state")]


def _times_to_complete(dataset: Dataset, datacenter: str) -> QuerySet[Measurement]:
    return Measurement.objects.filter(
        dataset=dataset, datacenter=datacenter, spec_hash=hash_of(TIME_TO_COMPLETE), value__isnull=False
    )
