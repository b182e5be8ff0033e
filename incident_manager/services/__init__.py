"""What the incident manager does: by itself, and for users.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from .checks import check_standing
from .endings import accept, end_piece, force_resolve
from .follow import follow_change
from .gates import ToRead, gate, gate_of
from .handle import handle_flip
from .incidents import UnableToResolve
from .look_ups import LookUpAnswer, look_up
from .rejudge import rejudge_revision
from .reports import UnableToDecide, confirm_report, fix_report, offer, reject_report, remind_report, reply, report
from .users import acknowledge, annotate, rerun

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
