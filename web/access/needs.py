"""What each address needs: the resource and its action, or its method where it has none. What is missing nobody may."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay.access.roles import Action

NEEDS: Mapping[tuple[str, str], Action] = MappingProxyType(
    {
        ("Login", "post"): Action.MAKE_TOKEN,
        ("Logout", "post"): Action.LEAVE,
        ("Datasets", "list"): Action.READ,
        ("Datasets", "retrieve"): Action.READ,
        ("Datasets", "update"): Action.PUSH,
        ("BusinessMetrics", "list"): Action.READ,
        ("BusinessMetrics", "retrieve"): Action.READ,
        ("BusinessMetrics", "update"): Action.PUSH,
        ("Lineage", "get"): Action.READ,
        ("Lineage", "post"): Action.PUSH,
        ("DataTests", "list"): Action.READ,
        ("DataTests", "retrieve"): Action.READ,
        ("DataTests", "create"): Action.TEST,
        ("DataTests", "partial_update"): Action.TEST,
        ("DataTests", "destroy"): Action.TEST,
        ("Backtests", "get"): Action.READ,
        ("Backtests", "post"): Action.RUN,
        ("Suggestions", "list"): Action.READ,
        ("Suggestions", "retrieve"): Action.READ,
        ("Suggestions", "reading"): Action.READ,
        ("Suggestions", "create"): Action.TEST,
        ("Suggestions", "accept"): Action.TEST,
        ("Suggestions", "reject"): Action.TEST,
        ("Suggestions", "take_back"): Action.TEST,
        ("Templates", "list"): Action.READ,
        ("Runs", "list"): Action.READ,
        ("Runs", "retrieve"): Action.READ,
        ("Runs", "create"): Action.RUN,
        ("Runs", "bulk"): Action.RUN,
        ("Measurements", "list"): Action.READ,
        ("Incidents", "list"): Action.READ,
        ("Incidents", "retrieve"): Action.READ,
        ("Incidents", "annotations"): Action.ACT,
        ("Incidents", "acknowledge"): Action.ACT,
        ("Incidents", "assign"): Action.ACT,
        ("Incidents", "rerun"): Action.ACT,
        ("Incidents", "force_resolve"): Action.ACT,
        ("Incidents", "accept"): Action.ACT,
        ("Quarantines", "list"): Action.READ,
        ("Quarantines", "retrieve"): Action.READ,
        ("Quarantines", "lift"): Action.LIFT,
        ("Silences", "list"): Action.READ,
        ("Silences", "retrieve"): Action.READ,
        ("Silences", "create"): Action.SILENCE,
        ("Silences", "end"): Action.SILENCE,
        ("GateOverrides", "list"): Action.READ,
        ("GateOverrides", "retrieve"): Action.READ,
        ("GateOverrides", "create"): Action.OVERRIDE,
        ("GateOverrides", "end"): Action.OVERRIDE,
        ("Publications", "list"): Action.READ,
        ("Publications", "retrieve"): Action.READ,
        ("Reports", "list"): Action.READ,
        ("Reports", "retrieve"): Action.READ,
        ("Reports", "create"): Action.REPORT,
        ("Reports", "confirm"): Action.ACT,
        ("Reports", "reject"): Action.ACT,
        ("Reports", "fix"): Action.ACT,
        ("Reports", "join"): Action.ACT,
        ("Quality", "get"): Action.ASK,
        ("QueryQuality", "post"): Action.ASK,
        ("BulkQuality", "post"): Action.ASK,
        ("Gate", "post"): Action.ASK,
        ("Badge", "get"): Action.ASK,
        ("Completed", "get"): Action.ASK,
        ("Export", "get"): Action.READ,
        ("CalendarFeed", "get"): Action.READ,
        ("Completed", "post"): Action.PUSH,
        ("PipelineQuality", "get"): Action.READ,
        ("Scores", "get"): Action.READ,
        ("Coverage", "get"): Action.READ,
        ("Columns", "get"): Action.READ,
        ("Tokens", "list"): Action.SHOW_TOKENS,
        ("Tokens", "create"): Action.MAKE_TOKEN,
        ("Tokens", "destroy"): Action.SHOW_TOKENS,
        ("Members", "list"): Action.MANAGE,
        ("Members", "retrieve"): Action.MANAGE,
        ("Members", "update"): Action.MANAGE,
        ("Audit", "list"): Action.AUDIT,
    }
)


def need_of(view: Any, method: str) -> Action | None:
    """What a request to a view needs; None: no rule says so."""
    if method == "OPTIONS":
        return Action.READ
    name = getattr(view, "action", None) or ("get" if method == "HEAD" else method.lower())
    return NEEDS.get((type(view).__name__, name))
