"""What the incident manager does: by itself, and for users."""

from incident_manager.services.checks import check_standing
from incident_manager.services.endings import accept, end_piece, force_resolve
from incident_manager.services.follow import follow_change
from incident_manager.services.gates import ToRead, gate, gate_of
from incident_manager.services.handle import handle_flip
from incident_manager.services.incidents import UnableToResolve
from incident_manager.services.look_ups import LookUpAnswer, look_up
from incident_manager.services.rejudge import rejudge_revision
from incident_manager.services.reports import (
    UnableToDecide,
    confirm_report,
    fix_report,
    offer,
    reject_report,
    remind_report,
    reply,
    report,
)
from incident_manager.services.users import acknowledge, annotate, rerun

__all__ = [
    "LookUpAnswer",
    "ToRead",
    "UnableToDecide",
    "UnableToResolve",
    "accept",
    "acknowledge",
    "annotate",
    "check_standing",
    "confirm_report",
    "end_piece",
    "fix_report",
    "follow_change",
    "force_resolve",
    "gate",
    "gate_of",
    "handle_flip",
    "look_up",
    "offer",
    "reject_report",
    "rejudge_revision",
    "remind_report",
    "reply",
    "report",
    "rerun",
]
