"""When an alert that is silent must be decided about again before its time."""

from datetime import datetime

from django.db.models import QuerySet

from alerting.models import Alert, Standing
from alerting.state import State
from assay.models import Category, DataTest
from execution_engine.outcome import Outcome

from .causes import MISSING


def silent() -> QuerySet[Alert]:
    """The open alerts that were told to nobody because of something else."""
    return Alert.objects.filter(closed_at__isnull=True, told_at__isnull=True, inhibited_at__isnull=False)


def decide_again(standing: Standing, test: DataTest, *, was: str, now: datetime) -> None:
    """After a new result: decide its own alert if it is broken, and those that waited for it once it stops warning.

    What freshness counts anew may also say that the rows are lost, which others of its dataset wait for.
    """
    if standing.last_outcome == Outcome.BROKEN:
        own = silent().filter(dataset=test.dataset_id)
        categories = {*MISSING, test.category} if test.category == Category.FRESHNESS else {test.category}
        own.filter(category__in=categories).update(next_notice_at=now)
    if was == State.WARN and standing.state != State.WARN:
        decide_waiting(now)


def decide_waiting(now: datetime) -> None:
    """Decide again about what waits for a cause that may be about to fail."""
    silent().filter(cause__isnull=True).update(next_notice_at=now)
