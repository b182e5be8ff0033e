"""What alerting does: standings judged, alerts decided, notices told.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from .alerts import close_alert, open_alert, release_after, update_alert
from .checks import after_check, is_checked, last_cost
from .decide import decide_alert
from .gaps import report_gap
from .judge import adopt_run, age_standing, judge_runs
from .notices import tell
from .pulls import tell_of_pull
from .scheduler import look_after_scheduler
from .send import send_due
from .silences import UnableToSilence, end_silence, silence, silences_of
from .standings import put_off, withdraw
from .waivers import end_waivers, judge_what_waivers_reach, waive

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
