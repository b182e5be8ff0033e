"""How incidents and reports have ended, as scores count them."""

from incident_manager.incidents.lifecycle import How
from incident_manager.models import ReportState, Resolution

CONFIRMED = (ReportState.CONFIRMED, ReportState.FIXED)
HOW = {how.value: how for how in How} | {Resolution.FIXED.value: How.AUTO, Resolution.REJECTED.value: How.FORCED}
