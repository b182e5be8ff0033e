"""Unit tests for data: checks written in Python or YAML, run on a DataFrame or a table."""

from .assertion import UnableToAssert
from .bounds import above, at_least, at_most, below, between, equal_to
from .check import Check
from .constrained import metric
from .growing import FolderOfStates
from .histogram import Histogram
from .levels import ConstraintStatus, Level, Status
from .over_time import SIZE
from .repository import InMemoryRepository, MetricsRepository, ResultKey, StoredMetrics
from .repository_file import FileRepository, UnableToReadRepository
from .results import CheckResult, ConstraintResult, VerificationResult
from .strategies import AbsoluteChange, BatchNormal, OnlineNormal, RelativeRateOfChange, SimpleThreshold
from .suite import Verification, VerificationSuite

__all__ = [
    "SIZE",
    "AbsoluteChange",
    "BatchNormal",
    "Check",
    "CheckResult",
    "ConstraintResult",
    "ConstraintStatus",
    "FileRepository",
    "FolderOfStates",
    "Histogram",
    "InMemoryRepository",
    "Level",
    "MetricsRepository",
    "OnlineNormal",
    "RelativeRateOfChange",
    "ResultKey",
    "SimpleThreshold",
    "Status",
    "StoredMetrics",
    "UnableToAssert",
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
