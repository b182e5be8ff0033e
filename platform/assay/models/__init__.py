"""The core's tables, one idea a module.

Rules on rows are beside the idea that they belong to.
"""

from .access import AccessToken, Member
from .audit import AuditEntry
from .beat import Beat
from .bindings import Binding, Strength
from .catalog import ChangeKind, DataChange, Dataset, LineageEdge, Replica, WriteMode
from .claimable import Claimable
from .clock import SimulatedClock
from .data_tests import CatchUp, Category, DataTest, Origin, Revision, Scope, Severity
from .digests import DigestRound
from .pruning import Pruning
from .source import Pull, Source
from .tally import Tallied, Tally

__all__ = [
    "AccessToken",
    "AuditEntry",
    "Beat",
    "Binding",
    "CatchUp",
    "Category",
    "ChangeKind",
    "Claimable",
    "DataChange",
    "DataTest",
    "Dataset",
    "DigestRound",
    "LineageEdge",
    "Member",
    "Origin",
    "Pruning",
    "Pull",
    "Replica",
    "Revision",
    "Scope",
    "Severity",
    "SimulatedClock",
    "Source",
    "Strength",
    "Tallied",
    "Tally",
    "WriteMode",
]
