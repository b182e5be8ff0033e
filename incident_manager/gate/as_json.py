"""The gate's answer for JSON, as the API and the commands give it."""

from typing import Any

from .rules import GateAnswer


def as_json(answer: GateAnswer) -> dict[str, Any]:
    """The decision and all reasons, strictest first."""
    return {
        "decision": answer.decision.value,
        "status": answer.status.value,
        "reasons": [
            {
                "decision": reason.decision.value,
                "dataset": reason.dataset,
                "datacenter": reason.datacenter or None,
                "window": reason.window.text,
                "text": reason.text,
                "test": reason.test,
                "incident": reason.incident_id,
                "report": reason.report_id,
            }
            for reason in answer.reasons
        ],
    }
