"""The core's tables, one idea a module."""

from assay.models.catalog import ChangeKind, DataChange, Dataset, LineageEdge, Replica
from assay.models.claimable import Claimable
from assay.models.clock import SimulatedClock
from assay.models.data_tests import CatchUp, Category, DataTest, Origin, Revision, Scope, Severity

__all__ = [
    "CatchUp",
    "Category",
    "ChangeKind",
    "Claimable",
    "DataChange",
    "DataTest",
    "Dataset",
    "LineageEdge",
    "Origin",
    "Replica",
    "Revision",
    "Scope",
    "Severity",
    "SimulatedClock",
]
