"""The core's tables, one idea a module."""

from assay.models.access import AccessToken, Member
from assay.models.audit import AuditEntry
from assay.models.beat import Beat
from assay.models.catalog import ChangeKind, DataChange, Dataset, LineageEdge, Replica, WriteMode
from assay.models.claimable import Claimable
from assay.models.clock import SimulatedClock
from assay.models.data_tests import CatchUp, Category, DataTest, Origin, Revision, Scope, Severity
from assay.models.pruning import Pruning
from assay.models.source import Pull, Source
from assay.models.tally import Tallied, Tally

__all__ = [
    "AccessToken",
    "AuditEntry",
    "Beat",
    "CatchUp",
    "Category",
    "ChangeKind",
    "Claimable",
    "DataChange",
    "DataTest",
    "Dataset",
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
    "Tallied",
    "Tally",
    "WriteMode",
]
