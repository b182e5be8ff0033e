"""New revisions and retirements: what an older revision judged is judged anew, what a retired test found withdrawn."""

from datetime import datetime

from django.db.models import Q

from alerting.models import Standing
from alerting.services import end_waivers, put_off
from alerting.services import withdraw as leave_untested
from alerting.state import TROUBLED, State
from assay.catalog.selectors import slas
from assay.models import Category, DataTest, Revision, Scope
from assay.queue.claims import finish
from execution_engine.models import RunReason
from execution_engine.services import is_undeclared, request_run
from incident_manager.incidents.spoilt import heal, spoilt_of
from incident_manager.models import Resolution


def rejudge_revision(revision: Revision, now: datetime) -> None:
    """Have the windows that an older revision left in trouble or waived judged by the newest.

    A retired test marks its newest revision once more: what it found is withdrawn.
    """
    test = DataTest.objects.select_related("dataset", "revision").get(pk=revision.data_test_id)
    if test.retired_at is not None:
        withdraw(test, now)
    elif test.revision_id == revision.pk:
        judge_anew(test, revision, now)
    finish(revision, rejudged_at=now)


def judge_anew(test: DataTest, revision: Revision, now: datetime) -> None:
    """End the older waivers, and request a run of every window that an older revision left in trouble.

    Where a deadline was moved into the future, nothing is late any more before it has passed.
    """
    end_waivers(test, now=now)
    troubled = Q(state__in=TROUBLED) | Q(waiver__isnull=False)
    for standing in Standing.objects.filter(troubled, data_test=test).exclude(revision=revision):
        if is_undeclared(test, standing.window):
            heal(list(spoilt_of(test, standing.window)), Resolution.REDEFINED, now=now)
            leave_untested(standing, test, now)
            continue
        due_at = _due_at(test, standing, now)
        request_run(
            data_test=test,
            window=standing.window,
            reason=RunReason.REVISION,
            occasion=f"r{revision.number}",
            now=now,
            due_at=due_at,
        )
        if due_at > now:
            heal(list(spoilt_of(test, standing.window)), Resolution.REDEFINED, now=now)
            put_off(standing, test, due_at, now)


def _due_at(test: DataTest, standing: Standing, now: datetime) -> datetime:
    """When to look again: at once, but at a partition's freshness not before its deadline."""
    if test.category != Category.FRESHNESS or test.scope != Scope.PARTITION:
        return now
    return max(now, standing.window_end + slas(test.dataset).freshness)


def withdraw(test: DataTest, now: datetime) -> None:
    """Close what a retired test had found: nobody will look at it again."""
    heal(list(spoilt_of(test, None)), Resolution.WITHDRAWN, now=now)
    for standing in Standing.objects.filter(data_test=test).exclude(state=State.PASS.value):
        leave_untested(standing, test, now)
    Standing.objects.filter(data_test=test).update(next_check_at=None, next_age_at=None)
