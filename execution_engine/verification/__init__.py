"""Unit tests for data: checks written in Python or YAML, run on a DataFrame or a table.

It needs no server and no database; the service's tests are in ``test_generator`` and ``runs``.
"""

from execution_engine.anomalies.adaptive import Adaptive
from execution_engine.anomalies.expectation import Predictive
from execution_engine.anomalies.seasons import HoltWinters, SeasonalTrend
from execution_engine.anomalies.strategies import (
    AbsoluteChange,
    BatchNormal,
    OnlineNormal,
    RelativeRateOfChange,
    SimpleThreshold,
)
from execution_engine.verification.checks.check import SIZE, Check
from execution_engine.verification.checks.constrained import metric
from execution_engine.verification.constraints.assertion import UnableToAssert
from execution_engine.verification.constraints.constraints import (
    ConstraintStatus,
    Level,
    Status,
    above,
    at_least,
    at_most,
    below,
    between,
    equal_to,
)
from execution_engine.verification.constraints.histogram import Histogram

from .profile import Profile, UnableToProfile
from .repository import (
    FileRepository,
    FolderOfStates,
    InMemoryRepository,
    MetricsRepository,
    ResultKey,
    StoredMetrics,
    UnableToReadRepository,
)
from .results import CheckResult, ConstraintResult, VerificationResult
from .suite import Verification, VerificationSuite

__all__ = [
    "SIZE",
    "AbsoluteChange",
    "Adaptive",
    "BatchNormal",
    "Check",
    "CheckResult",
    "ConstraintResult",
    "ConstraintStatus",
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
]
