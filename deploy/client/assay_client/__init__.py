"""Asks Assay whether data may be used, and tells it what was written: ``AssayClient(url, token)``.

Here is what a pipeline or a notebook needs; the server is never imported, only asked over HTTP.
"""

from .answers import (
    CompletedAnswer,
    Dataset,
    Decision,
    Edge,
    EdgeSource,
    GateAnswer,
    GateReason,
    Incident,
    IncidentInAnswer,
    Lineage,
    LineageDataset,
    Quality,
    QualityReason,
    QueryQuality,
    Reason,
    Report,
    Status,
)
from .client import AssayClient, Output
from .transport import AssayError, BadRequest, NotAllowed, NotFound, Unavailable

__all__ = [
    "AssayClient",
    "AssayError",
    "BadRequest",
    "CompletedAnswer",
    "Dataset",
    "Decision",
    "Edge",
    "EdgeSource",
    "GateAnswer",
    "GateReason",
    "Incident",
    "IncidentInAnswer",
    "Lineage",
    "LineageDataset",
    "NotAllowed",
    "NotFound",
    "Output",
    "Quality",
    "QualityReason",
    "QueryQuality",
    "Reason",
    "Report",
    "Status",
    "Unavailable",
]
