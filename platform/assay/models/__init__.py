"""The core's tables, one idea a module.

Rules on rows are beside the idea that they belong to.
"""

from .access import AccessToken, AuditEntry, Member
from .catalog import (
    Binding,
    ChangeKind,
    ColumnName,
    DataChange,
    Dataset,
    Deploy,
    EdgeTelling,
    LineageEdge,
    Replica,
    Strength,
    Telling,
    WriteMode,
)
from .data_tests import CatchUp, Category, DataTest, Origin, Revision, Scope, Severity
from .operation import Beat, Claimable, Pull, Round, SimulatedClock, Source, Tallied, Tally
