"""Years of a company: 10 million runs, a million incidents, and how 18,000 tests stand."""

from dataclasses import dataclass
from datetime import datetime

from .bulk import Columns
from .company import CATEGORIES, Company

SLOTS_OF_INCIDENTS = 5  # categories of a dataset
STILL_OPEN = 300
STANDING_DAYS = 35  # which the catalogue shows


@dataclass(frozen=True, kw_only=True)
class Past:
    """What has happened until ``now``: row ``seq`` of each kind follows from its number alone, the oldest first."""

    company: Company
    now: datetime

    @property
    def midnight(self) -> str:
        """The last midnight, as SQL."""
        return f"TIMESTAMP'{self.now:%Y-%m-%d} 00:00:00'"

    def days_ago(self, total: int, daily: int) -> str:
        """How many days before today row ``seq`` of ``total`` was, as SQL."""
        return f"({max(total - 1, 0) // daily} - seq DIV {daily})"


def runs(past: Past, total: int) -> Columns:
    """One scheduled run of each test a day, six hours after its day's end, held and judged."""
    daily = past.company.data_tests
    start = f"({past.midnight} - INTERVAL ({past.days_ago(total, daily)} + 1) DAY)"
    test, due = f"(seq MOD {daily} + 1)", f"({start} + INTERVAL 30 HOUR)"
    instants = dict.fromkeys(
        ("requested_at", "due_at", "planned_at", "ready_at", "evaluated_at", "judged_at", "measured_at"), due
    )
    return {
        "data_test_id": test,
        "revision_id": test,
        "reason": "'schedule'",
        "slot": f"CONCAT({test}, ':', {start}, ':schedule:', seq)",
        "window_start": start,
        "window_end": f"({start} + INTERVAL 1 DAY)",
        **instants,
        "late_at": f"({due} + INTERVAL 15 MINUTE)",
        "outcome": "'held'",
        "sentence": "'completeness(email) is 1, at least 0.99'",
        "value": "1",
    }


def standings(past: Past, total: int) -> Columns:
    """The windows of the last runs: nearly all PASS, one in 2,000 FAIL."""
    daily = past.company.data_tests
    start = f"({past.midnight} - INTERVAL ({past.days_ago(total, daily)} + 1) DAY)"
    test, due = f"(seq MOD {daily} + 1)", f"({start} + INTERVAL 30 HOUR)"
    fails = "seq MOD 2000 = 7"
    return {
        "data_test_id": test,
        "revision_id": test,
        "window_key": f"CONCAT({start}, '/', {start} + INTERVAL 1 DAY)",
        "window_start": start,
        "window_end": f"({start} + INTERVAL 1 DAY)",
        "state": f"IF({fails}, 'FAIL', 'PASS')",
        "since": due,
        "due_at": due,
        "last_outcome": f"IF({fails}, 'broken', 'held')",
        "sentence": "'completeness(email) is 1, at least 0.99'",
    }


def incidents(past: Past, total: int) -> Columns:
    """Incidents of three years, of every dataset and category in turn; the newest 300 are open."""
    places = past.company.datasets * SLOTS_OF_INCIDENTS
    began = f"({past.midnight} - INTERVAL ({total} - seq) * {3 * 365 * 86400 // total} SECOND)"
    category = _category(f"seq DIV {past.company.datasets} MOD 5")
    is_open = f"seq >= {total - min(STILL_OPEN, places)}"
    return {
        "id": "seq + 1",
        "dataset_id": f"(seq MOD {past.company.datasets} + 1)",
        "category": category,
        "kind": "'detected'",
        "open_key": f"IF({is_open}, CONCAT(seq MOD {past.company.datasets} + 1, ':', {category}), NULL)",
        "tier": f"(seq MOD {past.company.datasets} + 1) MOD 6",
        "owner": "'owner'",
        "team": "'team'",
        "detected_at": began,
        "resolved_at": f"IF({is_open}, NULL, {began} + INTERVAL 5 HOUR)",
        "resolution": f"IF({is_open}, '', 'auto')",
    }


def episodes(past: Past, total: int) -> Columns:
    """The one episode of each incident."""
    of = incidents(past, total)
    return {"incident_id": of["id"], "opened_at": of["detected_at"], "closed_at": of["resolved_at"]}


def spoilt_windows(past: Past, total: int) -> Columns:
    """The spoilt day of each incident, unhealed while that is open."""
    of = incidents(past, total)
    day = f"(TIMESTAMP(DATE({of['detected_at']})) - INTERVAL 1 DAY)"
    test = f"(seq MOD {past.company.datasets}) * {len(CATEGORIES)} + seq DIV {past.company.datasets} MOD 5 + 1"
    return {
        "incident_id": of["id"],
        "dataset_id": of["dataset_id"],
        "data_test_id": test,
        "severity": "'hard'",
        "window_start": day,
        "window_end": f"({day} + INTERVAL 1 DAY)",
        "spoilt_at": of["detected_at"],
        "healed_at": of["resolved_at"],
        "how": of["resolution"],
    }


def tables(past: Past, *, runs_: int, incidents_: int) -> dict[str, tuple[Columns, int]]:
    """What to fill, by the name of the model: its columns, and how many rows."""
    windows = STANDING_DAYS * past.company.data_tests
    return {
        "incident_manager.Incident": (incidents(past, incidents_), incidents_),
        "incident_manager.Episode": (episodes(past, incidents_), incidents_),
        "incident_manager.SpoiltWindow": (spoilt_windows(past, incidents_), incidents_),
        "alerting.Standing": (standings(past, windows), windows),
        "execution_engine.Run": (runs(past, runs_), runs_),
    }


def _category(number: str) -> str:
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(CATEGORIES))
    return f"ELT({number} + 1, {names})"
