"""What the incident manager does: by itself, and for users.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from incident_manager.backtests.services import UnableToBacktest, as_revised, backtest, untried_if_hard
from incident_manager.gate.rules import UnableToOverride
from incident_manager.gate.services import (
    WrittenWindow,
    answer_on,
    complete,
    end_override,
    foresee,
    gate,
    gate_of,
    gates_of,
    override,
    unjudged,
    unreadable_in,
)
from incident_manager.incidents.services import HasEnded, UnableToResolve, WrongEnd, handle_flip
from incident_manager.incidents.users import (
    UnknownPerson,
    WrongTime,
    accept,
    acknowledge,
    annotate,
    assign,
    end_piece,
    force_resolve,
    rerun,
)
from incident_manager.quality.look_ups import LookUpAnswer, ToRead, look_up, look_ups

from .digests import tell_digests
from .reports import (
    UnableToDecideReport,
    confirm_report,
    fix_report,
    join_report,
    offer,
    reject_report,
    remind_report,
    reply,
    report,
)
from .reruns import check_standing, follow_change, rejudge_revision
from .vital_signs import tell_signs
