"""Unit tests for data: checks written in Python or YAML, run on a DataFrame or a table.

It needs no server and no database; the service's tests are in ``test_generator`` and ``runs``.
"""

from execution_engine.anomalies.forecasts import Adaptive, HoltWinters, SeasonalTrend
from execution_engine.anomalies.strategies import (
    AbsoluteChange,
    BatchNormal,
    OnlineNormal,
    Predictive,
    RelativeRateOfChange,
    SimpleThreshold,
)

from .batches import BatchResult, BatchStates, verify_batch
from .check import SIZE, Check, metric
from .constraints import (
    ConstraintStatus,
    Histogram,
    Level,
    Status,
    UnableToAssert,
    above,
    at_least,
    at_most,
    below,
    between,
    equal_to,
)
from .profile import Profile, UnableToProfile
from .repository import (
    DeltaStates,
    FileRepository,
    FolderOfStates,
    InMemoryRepository,
    MetricsRepository,
    ResultKey,
    StoredMetrics,
    UnableToReadRepository,
)
from .suite import CheckResult, ConstraintResult, Verification, VerificationResult, VerificationSuite

__all__ = [
    "SIZE",
    "AbsoluteChange",
    "Adaptive",
    "BatchNormal",
    "BatchResult",
    "BatchStates",
    "Check",
    "CheckResult",
    "ConstraintResult",
    "ConstraintStatus",
    "DeltaStates",
    "FileRepository",
    "FolderOfStates",
    "Histogram",
    "HoltWinters",
    "InMemoryRepository",
    "Level",
    "MetricsRepository",
    "OnlineNormal",
    "Predictive",
    "Profile",
    "RelativeRateOfChange",
    "ResultKey",
    "SeasonalTrend",
    "SimpleThreshold",
    "Status",
    "StoredMetrics",
    "UnableToAssert",
    "UnableToProfile",
    "UnableToReadRepository",
    "Verification",
    "VerificationResult",
    "VerificationSuite",
    "above",
    "at_least",
    "at_most",
    "below",
    "between",
    "equal_to",
    "metric",
    "verify_batch",
]
