"""When a dataset's windows were complete, up to when it is, and on which of them tests are broken."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Max, Q, QuerySet

from assay.catalog.selectors import slas
from assay.models import Category, Dataset
from assay.time.windows import Window
from execution_engine.freshness.derive_freshness import TIME_TO_COMPLETE
from execution_engine.language.evaluating.sentence import length_shown
from execution_engine.models import Measurement
from execution_engine.outcome import Outcome
from execution_engine.planning.planner import hash_of

from .models import Standing
from .state import BROKEN, TROUBLED, State


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


def broken_starts(tests: Iterable[int], starts: Collection[datetime]) -> frozenset[datetime]:
    """Of windows that start then those on which any of the tests, by its id, is broken, be it before it is due."""
    is_broken = Q(state__in=BROKEN) | Q(state=State.PENDING, last_outcome=Outcome.BROKEN)
    rows = Standing.objects.filter(is_broken, data_test__in=list(tests), window_start__in=list(starts))
    return frozenset(rows.values_list("window_start", flat=True))


def complete_up_to(dataset: Dataset) -> datetime | None:
    """The end of the last complete window at home before the first that is not; None where none is known.

    Windows that were never tested do not count, and windows that somebody has accepted as they are do not count either.
    """
    if (at_home := dataset.replicas.first()) is None:
        return None
    lacking = Standing.objects.filter(
        data_test__dataset=dataset,
        data_test__category=Category.FRESHNESS,
        data_test__datacenter=at_home.datacenter,
        data_test__retired_at__isnull=True,
        state__in=TROUBLED,
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
