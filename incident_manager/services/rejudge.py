"""New revisions and retirements: what was judged by a test that is no more what it was."""

from datetime import datetime

from django.db.models import Q

from alerting.models import Standing
from alerting.services import end_waivers
from alerting.standing import State
from assay.models import DataTest, Revision
from assay.queue import finish
from execution_engine.models import RunReason
from execution_engine.services import request_run
from incident_manager.models import Resolution
from incident_manager.services.spoilt import heal, spoilt_of

TROUBLED = (State.WARN.value, State.FAIL.value, State.UNKNOWN.value)


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
    """End the older waivers, and request a run of every window that an older revision left in trouble."""
    end_waivers(test, now=now)
    troubled = Q(state__in=TROUBLED) | Q(waiver__isnull=False)
    for standing in Standing.objects.filter(troubled, data_test=test).exclude(revision=revision):
        request_run(
            data_test=test,
            window=standing.window,
            reason=RunReason.REVISION,
            occasion=f"r{revision.number}",
            now=now,
        )


def withdraw(test: DataTest, now: datetime) -> None:
    """Close what a retired test had found: nobody will look at it again."""
    heal(list(spoilt_of(test, None)), Resolution.WITHDRAWN, now=now)
    Standing.objects.filter(data_test=test).update(next_check_at=None, next_age_at=None)
