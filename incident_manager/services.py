"""What the incident manager does: by itself, and for users.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from incident_manager.backtests.services import UnableToBacktest, as_revised, backtest, untried_if_hard
from incident_manager.digests.services import tell_digests
from incident_manager.gate.completing import WrittenWindow, answer_on, complete, unjudged
from incident_manager.gate.overrides import UnableToOverride
from incident_manager.gate.overriding import end_override, override
from incident_manager.gate.services import ToRead, foresee, gate, gate_of, unreadable_in
from incident_manager.incidents.endings import accept, end_piece, force_resolve
from incident_manager.incidents.handle import handle_flip
from incident_manager.incidents.services import HasEnded, UnableToResolve, WrongEnd
from incident_manager.incidents.users import WrongTime, annotate, rerun
from incident_manager.incidents.workers import UnknownPerson, acknowledge, assign
from incident_manager.quality.look_ups import Asked, LookUpAnswer, look_up, look_ups
from incident_manager.reports.services import (
    UnableToDecide,
    confirm_report,
    fix_report,
    join_report,
    offer,
    reject_report,
    remind_report,
    reply,
    report,
)
from incident_manager.reruns.check_standing import check_standing
from incident_manager.reruns.follow import follow_change
from incident_manager.reruns.rejudge import rejudge_revision

__all__ = [
    "Asked",
    "HasEnded",
    "LookUpAnswer",
    "ToRead",
    "UnableToBacktest",
    "UnableToDecide",
    "UnableToOverride",
    "UnableToResolve",
    "UnknownPerson",
    "WrittenWindow",
    "WrongEnd",
    "WrongTime",
    "accept",
    "acknowledge",
    "annotate",
    "answer_on",
    "as_revised",
    "assign",
    "backtest",
    "check_standing",
    "complete",
    "confirm_report",
    "end_override",
    "end_piece",
    "fix_report",
    "follow_change",
    "force_resolve",
    "foresee",
    "gate",
    "gate_of",
    "handle_flip",
    "join_report",
    "look_up",
    "look_ups",
    "offer",
    "override",
    "reject_report",
    "rejudge_revision",
    "remind_report",
    "reply",
    "report",
    "rerun",
    "tell_digests",
    "unjudged",
    "unreadable_in",
    "untried_if_hard",
]
