"""Examples for the OpenAPI document: one story, of the day on which ``raw.trips`` lost rows."""

from typing import Any

DAY = "2026-03-09T00:00:00Z/2026-03-10T00:00:00Z"
TEXT = "completeness is broken (FAIL): row_count() is 0.62 of that of app.trips, not above 0.999"

GATE_QUESTION: dict[str, Any] = {"datasets": ["raw.trips"], "window": "2026-03-09", "pipeline": "nightly_fares"}
GATE_VERDICT: dict[str, Any] = {
    "decision": "block",
    "status": "bad",
    "reasons": [
        {
            "decision": "block",
            "dataset": "raw.trips",
            "datacenter": "sea",
            "window": DAY,
            "text": TEXT,
            "test": "completeness",
            "incident": 17,
            "report": None,
        }
    ],
}
COMPLETION: dict[str, Any] = {
    "outputs": [{"dataset": "raw.trips", "window": "2026-03-09", "rows": 1_250_000}],
    "run": "2026-03-10T01:00",
    "wait": 60,
}
COMPLETION_VERDICT = {"judged": True, "waits_for": [], "completions": [41], **GATE_VERDICT}

NEW_RUNS: dict[str, Any] = {
    "dataset": "raw.trips",
    "window": "2026-03-09",
    "tests": ["completeness", "duplicates"],
    "key": "2026-03-10T01:00",
}

NEW_OVERRIDE: dict[str, Any] = {
    "dataset": "raw.trips",
    "window": "2026-03-09",
    "pipeline": "nightly_fares",
    "ends_at": "2026-03-10T12:00:00Z",
    "reason": "the report of the board needs the day as it is",
}
OVERRIDE: dict[str, Any] = {
    **NEW_OVERRIDE,
    "id": 4,
    "window": DAY,
    "starts_at": "2026-03-10T08:00:00Z",
    "author": "ada",
}

RANGE_QUALITY: dict[str, Any] = {
    "dataset": "raw.trips",
    "from": "2026-03-09T00:00:00Z",
    "to": "2026-03-10T00:00:00Z",
    "datacenter": "sea",
    "status": "bad",
    "reasons": [
        {
            "status": "bad",
            "text": TEXT,
            "category": "completeness",
            "test": "completeness",
            "hard": True,
            "windows": [DAY],
            "more_windows": 0,
            "incident": 17,
            "report": None,
        }
    ],
    "incidents": [
        {
            "id": 17,
            "category": "completeness",
            "root_cause": "a disk was full",
            "eta": "2026-03-10T16:00:00Z",
            "hard": True,
            "windows": [DAY],
            "more_windows": 0,
        }
    ],
    "reports": [],
}
BULK_QUESTION: dict[str, Any] = {
    "look_ups": [{"dataset": "raw.trips", "from": "2026-03-09T00:00:00Z", "to": "2026-03-10T00:00:00Z"}]
}
BULK_ANSWER: dict[str, Any] = {"status": "bad", "answers": [RANGE_QUALITY]}
SQL_QUESTION: dict[str, Any] = {"sql": "select sum(fare) from raw.trips where datestr = '2026-03-09'"}
QUERY_ANSWER: dict[str, Any] = {"status": "bad", "tables": [RANGE_QUALITY], "unknown": [], "widened": False}

INCIDENT: dict[str, Any] = {
    "id": 17,
    "dataset": "raw.trips",
    "category": "completeness",
    "kind": "detected",
    "tier": 1,
    "owner": "ada",
    "team": "rides",
    "detected_at": "2026-03-10T05:00:00Z",
    "resolved_at": None,
    "resolution": "",
    "acknowledged_at": "2026-03-10T05:20:00Z",
    "acknowledged_by": "ada",
    "assigned_to": "ada",
    "root_cause": "a disk was full",
    "eta": "2026-03-10T16:00:00Z",
    "backfill": "half done",
    "cause": None,
}
WHOLE_INCIDENT: dict[str, Any] = {
    **INCIDENT,
    "spoilt_windows": [
        {
            "window": DAY,
            "data_test": "completeness",
            "datacenter": "",
            "severity": "hard",
            "whole_table": False,
            "partitions": [],
            "spoilt_at": "2026-03-10T05:00:00Z",
            "healed_at": None,
            "how": "",
        }
    ],
    "more_windows": 0,
    "ending": None,
    "timeline": [
        {"at": "2026-03-10T05:00:00Z", "actor": "", "event": "opened", "text": TEXT},
        {"at": "2026-03-10T05:20:00Z", "actor": "ada", "event": "acknowledged", "text": ""},
    ],
    "reports": [],
    "silences": [],
    "notices": [
        {
            "event": "opened",
            "recipient": "ada@example.org",
            "channel": "email",
            "delivery": "sent",
            "suppressed": "",
            "due_at": "2026-03-10T05:15:00Z",
            "sent_at": "2026-03-10T05:15:01Z",
        }
    ],
}
ANNOTATION: dict[str, Any] = {"root_cause": "a disk was full", "eta": "2026-03-10T16:00:00Z", "backfill": "half done"}
ASSIGNMENT: dict[str, Any] = {"to": "ada"}
ACCEPTANCE: dict[str, Any] = {"reason": "The source has lost these rows for good."}
FORCE: dict[str, Any] = {"reason": "Half of the cities moved to another table.", "scope": "window"}

NEW_REPORT: dict[str, Any] = {
    "dataset": "raw.trips",
    "window": DAY,
    "saw": "rows twice",
    "description": "Fares of 9 March are twice as high as on any other day.",
}
REPORT: dict[str, Any] = {
    "id": 4,
    "dataset": "raw.trips",
    "window": DAY,
    "datacenter": "",
    "reporter": "grace",
    "saw": "rows twice",
    "description": "Fares of 9 March are twice as high as on any other day.",
    "state": "open",
    "created_at": "2026-03-10T09:30:00Z",
    "decided_at": None,
    "decided_by": "",
    "closed_at": None,
    "joined": [],
    "incident": 18,
    "offered": None,
}
REPORT_ANSWER = {**REPORT, "message": "Thank you. ada hears of it, as incident 18."}
CONFIRMATION: dict[str, Any] = {"offered": 311}
REPORT_REJECTION: dict[str, Any] = {"reason": "There was a strike of the trains: people took taxis."}

BUSINESS_METRIC: dict[str, Any] = {
    "name": "business.fare_per_trip",
    "description": "What a finished trip costs.",
    "owner": "mia",
    "team": "pricing",
    "tier": 1,
    "expression": "sum(fare, where=\"status = 'done'\") / row_count()",
    "dimensions": ["city"],
    "status": "good",
    "newest": {"window": DAY, "value": 12.4},
    "sources": [{"name": "raw.trips", "status": "bad"}],
    "served": [],
    "tolerance": 0.001,
    "values": [{"window": DAY, "value": 12.4}],
    "score": 0.98,
    "quality": {**RANGE_QUALITY, "dataset": "business.fare_per_trip", "status": "good", "reasons": [], "incidents": []},
    "gate": {
        "decision": "block",
        "status": "bad",
        "reasons": [
            {
                **GATE_VERDICT["reasons"][0],
                "datacenter": None,
                "text": f"{TEXT}; business.fare_per_trip is computed from raw.trips",
            }
        ],
    },
}
