"""A confirmed report whose offered test holds on its windows is fixed."""

from datetime import datetime

from alerting.models import Flip, Standing
from alerting.standing import State
from incident_manager.coverage import split
from incident_manager.models import Report, ReportState
from incident_manager.services.reports import fix_report


def note_held(flip: Flip, now: datetime) -> None:
    """Fix the confirmed reports whose missing test, written since, now holds on all that they claim."""
    reports = Report.objects.filter(
        offered=flip.data_test_id,
        state=ReportState.CONFIRMED,
        window_start__lt=flip.window_end,
        window_end__gt=flip.window_start,
    )
    for report in reports:
        standings = Standing.objects.filter(data_test=flip.data_test_id, state=State.PASS.value)
        held = [row.window for row in standings.filter(window_start__lt=report.window_end)]
        if not split(report.window, [(report.pk, window) for window in held]).uncovered:
            fix_report(report, author="assay", now=now)
