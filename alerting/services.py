"""What alerting does: standings judged, alerts decided, notices told.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from alerting.alerts.services import (
    acknowledge_alert,
    assign_alert,
    close_alert,
    decide_alert,
    open_alert,
    release_after,
    update_alert,
    wake,
)
from alerting.alerts.texts import evidence_of
from alerting.notices.operators import look_after_scheduler, report_gap, tell_of_pull
from alerting.notices.send import send_due
from alerting.notices.services import UnableToSilence, ask, end_silence, silence, silences_of, tell
from alerting.standings.judge_runs import (
    adopt_run,
    age_standing,
    end_waivers,
    judge_runs,
    judge_what_waivers_reach,
    waive,
)
from alerting.standings.refold import after_check, is_checked, last_cost, put_off, withdraw

from .emissions import emit_due
from .slices import explain_due, explanation_of, search_worst
from .trials import weigh_due
