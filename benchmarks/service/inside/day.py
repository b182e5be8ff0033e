"""What one day leaves behind in the tables of a company of 18,000 tests: made in bulk, as the stages would write it."""

from dataclasses import dataclass
from datetime import datetime

from .bulk import Columns, insert
from .company import ASSERTION, CATEGORIES, DATACENTERS, Company

METRIC = ASSERTION.partition(" ")[0]
PENDING = 3430  # more runs of each day, which wait to be claimed


@dataclass(frozen=True, kw_only=True)
class Day:
    """Day ``number`` of ``runs`` runs, each of a test over one hour; ids go on from day to day."""

    company: Company
    number: int
    midnight: datetime
    runs: int

    @property
    def first(self) -> int:
        """The number of its first row."""
        return self.number * (self.runs + PENDING)

    @property
    def at(self) -> str:
        """The number of a row within its day."""
        return f"(seq - {self.first})"

    @property
    def start(self) -> str:
        """The start of its window."""
        return f"(TIMESTAMP'{self.midnight:%Y-%m-%d} 00:00:00' + INTERVAL {self.at} DIV {self.company.data_tests} HOUR)"

    @property
    def data_test(self) -> str:
        """Its test."""
        return f"({self.at} MOD {self.company.data_tests} + 1)"

    @property
    def dataset(self) -> str:
        """The dataset of its test."""
        return f"({self.at} MOD {self.company.data_tests} DIV {len(CATEGORIES)} + 1)"

    @property
    def window(self) -> dict[str, str]:
        """The columns of its window."""
        return {"window_start": self.start, "window_end": f"({self.start} + INTERVAL 1 HOUR)"}

    @property
    def done(self) -> str:
        """When all was done with it."""
        return f"({self.start} + INTERVAL 2 HOUR)"


def load_day(day: Day) -> int:
    """Write everything; how many rows that were."""
    tables = {
        "execution_engine.Run": (_runs(day), day.runs),
        "execution_engine.Scan": (_scans(day), day.runs // len(CATEGORIES)),
        "execution_engine.Measurement": (_measurements(day), day.runs),
        "execution_engine.Ask": (
            {"run_id": "seq + 1", "measurement_id": "seq + 1", "operand": f"'{METRIC}'"},
            day.runs,
        ),
        "alerting.Standing": (_standings(day), day.runs),
        "alerting.Flip": (_flips(day), day.runs),
        "alerting.Notice": (_notices(day), day.runs // 100),
        "incident_manager.LookUp": (_look_ups(day), day.runs // 2),
        "assay.DataChange": (_changes(day), day.runs // 50),
        "incident_manager.Incident": (_incidents(day), day.runs // 100),
        "incident_manager.SpoiltWindow": (_spoilt_windows(day), day.runs // 100),
    }
    for label, (columns, total) in tables.items():
        insert(label, columns, total, first=day.first)
    return sum(total for _, total in tables.values())


def load_pending(day: Day) -> None:
    """Runs that are due and wait to be planned."""
    unplanned = dict.fromkeys(("planned_at", "ready_at", "evaluated_at", "judged_at"), "NULL")
    insert("execution_engine.Run", {**_runs(day), **unplanned}, PENDING, first=day.first + day.runs)


def _runs(day: Day) -> Columns:
    instants = ("requested_at", "due_at", "planned_at", "ready_at", "evaluated_at", "judged_at", "measured_at")
    return {
        "id": "seq + 1",
        "data_test_id": day.data_test,
        "revision_id": day.data_test,
        "reason": "'schedule'",
        "slot": f"CONCAT({day.data_test}, ':', {day.start}, ':schedule:', seq)",
        "outcome": "'held'",
        "sentence": f"'{METRIC} is 1, at least 0.99'",
        "value": "1",
        "late_at": f"({day.done} + INTERVAL 15 MINUTE)",
        **dict.fromkeys(instants, day.done),
        **day.window,
    }


def _scans(day: Day) -> Columns:
    return {
        "dataset_id": day.dataset,
        "datacenter": f"'{DATACENTERS[0]}'",
        "created_at": day.done,
        "ended_at": day.done,
        **day.window,
    }


def _measurements(day: Day) -> Columns:
    return {
        "id": "seq + 1",
        "dataset_id": day.dataset,
        "datacenter": f"'{DATACENTERS[0]}'",
        "spec_hash": f"MD5('{METRIC}')",
        "spec_text": f"'{METRIC}'",
        "requested_at": day.done,
        "measured_at": day.done,
        "value": "1",
        "state": "REPEAT('s', 100)",
        "fingerprint": "MD5(seq)",
        **day.window,
    }


def _standings(day: Day) -> Columns:
    fails = "seq MOD 2000 = 7"
    return {
        "id": "seq + 1",
        "data_test_id": day.data_test,
        "revision_id": day.data_test,
        "window_key": f"CONCAT({day.start}, '/')",
        "state": f"IF({fails}, 'FAIL', 'PASS')",
        "since": day.done,
        "due_at": day.done,
        "last_run_id": "seq + 1",
        "last_outcome": f"IF({fails}, 'broken', 'held')",
        **day.window,
    }


def _flips(day: Day) -> Columns:
    return {
        "standing_id": "seq + 1",
        "data_test_id": day.data_test,
        "revision_id": day.data_test,
        "run_id": "seq + 1",
        "old": "'PENDING'",
        "new": "'PASS'",
        "at": day.done,
        "handled_at": day.done,
        **day.window,
    }


def _notices(day: Day) -> Columns:
    instants = dict.fromkeys(("created_at", "due_at", "settled_at", "sent_at"), day.done)
    return {"key": "CONCAT('notice:', seq)", "event": "'opened'", "channel": "'email'", **instants}


def _look_ups(day: Day) -> Columns:
    return {"query": "REPLACE(UUID(), '-', '')", "dataset_id": day.dataset, "at": day.done, **day.window}


def _changes(day: Day) -> Columns:
    of = {"dataset_id": day.dataset, "datacenter": f"'{DATACENTERS[0]}'", "kind": "'completed'"}
    return {**of, "at": day.done, "followed_at": day.done, **day.window}


def _incidents(day: Day) -> Columns:
    """They stay for ever, and are over by the evening."""
    of = {"dataset_id": day.dataset, "category": "'custom'", "kind": "'detected'", "tier": "2", "resolution": "'auto'"}
    return {"id": "seq + 1", **of, "detected_at": day.done, "resolved_at": day.done}


def _spoilt_windows(day: Day) -> Columns:
    """One in a hundred is not healed yet."""
    of = {"incident_id": "seq + 1", "dataset_id": day.dataset, "data_test_id": day.data_test, "severity": "'hard'"}
    healed = f"IF(seq MOD 100 = 7, NULL, {day.done})"
    return {**of, "spoilt_at": day.done, "healed_at": healed, "how": "'auto'", **day.window}
