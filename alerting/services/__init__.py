"""What alerting does: standings judged, alerts decided, notices told."""

from alerting.services.alerts import close_alert, open_alert, release_after, update_alert
from alerting.services.checks import after_check, is_checked, last_cost
from alerting.services.decide import decide_alert
from alerting.services.gaps import report_gap
from alerting.services.judge import adopt_run, age_standing, judge_runs
from alerting.services.notices import tell
from alerting.services.pulls import tell_of_pull
from alerting.services.scheduler import look_after_scheduler
from alerting.services.send import send_due
from alerting.services.silences import UnableToSilence, end_silence, silence, silences_of
from alerting.services.standings import put_off, withdraw
from alerting.services.waivers import end_waivers, judge_what_waivers_reach, waive

__all__ = [
    "UnableToSilence",
    "adopt_run",
    "after_check",
    "age_standing",
    "close_alert",
    "decide_alert",
    "end_silence",
    "end_waivers",
    "is_checked",
    "judge_runs",
    "judge_what_waivers_reach",
    "last_cost",
    "look_after_scheduler",
    "open_alert",
    "put_off",
    "release_after",
    "report_gap",
    "send_due",
    "silence",
    "silences_of",
    "tell",
    "tell_of_pull",
    "update_alert",
    "waive",
    "withdraw",
]
