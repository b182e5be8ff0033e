"""What work has left behind goes, and beside each row that goes one stays that differs in one thing."""

from datetime import datetime
from typing import Any

import pytest

from alerting.models import Alert, Notice
from assay.models import DataChange, Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import PartState, Scan, Watch
from incident_manager.retention import prune
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, IncidentFactory, NoticeFactory, StandingFactory
from tests.integration.incident_manager.old_rows import OLD, YOUNG, measured

pytestmark = pytest.mark.usefixtures("a_week")

WINDOW = {"window_start": OLD.start, "window_end": OLD.end}


def pruned(model: Any, *rows: Any) -> list[bool]:
    """Whether each of these rows is gone after a pass."""
    assert prune() == 1
    left = set(model.objects.values_list("pk", flat=True))
    return [row.pk not in left for row in rows]


def scan(dataset: Dataset, **more: Any) -> Scan:
    given = {"created_at": OLD.end, "ended_at": OLD.end, **WINDOW, **more}
    return Scan.objects.create(dataset=dataset, datacenter="sea", **given)


def change(dataset: Dataset, window: Window = OLD, followed_at: datetime | None = OLD.end) -> DataChange:
    return DataChange.objects.create(
        dataset=dataset,
        datacenter="sea",
        kind="rewritten",
        at=OLD.end,
        followed_at=followed_at,
        window_start=window.start,
        window_end=window.end,
    )


def test_notices_of_ended_alerts_go_and_those_of_open_ones_and_unsent_ones_stay(custom: DataTest) -> None:
    ended, still = (IncidentFactory.create(dataset=DatasetFactory.create(), detected_at=OLD.end) for _ in range(2))
    Alert.objects.filter(incident=ended).update(closed_at=OLD.end, open_key=None)
    of_ended, of_open = (NoticeFactory.create(alert=each.alert, settled_at=OLD.end) for each in (ended, still))
    of_none, unsent = NoticeFactory.create(settled_at=OLD.end), NoticeFactory.create(settled_at=None, due_at=OLD.end)
    assert pruned(Notice, of_ended, of_open, of_none, unsent) == [True, False, True, False]


def test_scans_go_but_for_those_of_measurements_and_those_that_have_not_ended(custom: DataTest) -> None:
    asked, idle, open_ = scan(custom.dataset), scan(custom.dataset), scan(custom.dataset, ended_at=None)
    measured(custom.dataset, YOUNG, scan=asked)
    assert pruned(Scan, asked, idle, open_) == [False, True, False]


def test_changes_go_but_for_those_of_bad_windows_and_those_that_nobody_has_followed(custom: DataTest) -> None:
    bad = DataTestFactory.create()
    StandingFactory.create(data_test=bad, window=OLD, state="FAIL")
    rows = [
        change(custom.dataset),
        change(bad.dataset),
        change(custom.dataset, followed_at=None),
        change(custom.dataset, window=YOUNG),
        change(bad.dataset, window=Window(start=OLD.start - 9 * DAY, end=OLD.start - 8 * DAY)),
    ]
    assert pruned(DataChange, *rows) == [True, False, False, False, True]


def test_watches_go_but_for_those_of_bad_windows_and_those_that_are_watched_closely(custom: DataTest) -> None:
    bad = DataTestFactory.create()
    StandingFactory.create(data_test=bad, window=OLD, state="WARN")
    rows = [
        Watch.objects.create(dataset=custom.dataset, datacenter="sea", **WINDOW),
        Watch.objects.create(dataset=custom.dataset, datacenter="phx", closely=True, **WINDOW),
        Watch.objects.create(dataset=bad.dataset, datacenter="sea", **WINDOW),
    ]
    assert pruned(Watch, *rows) == [True, False, False]


def test_states_go_with_their_partition_and_with_the_last_test_that_reads_them(custom: DataTest) -> None:
    table = DataTestFactory.create(scope=Scope.TABLE, dataset=DatasetFactory.create(retention=30 * DAY)).dataset
    whole = DataTestFactory.create(scope=Scope.TABLE, dataset=DatasetFactory.create(partition_column="")).dataset

    def part(dataset: Dataset, key: str, kept_at: datetime = OLD.end) -> PartState:
        return PartState.objects.create(
            dataset=dataset, datacenter="sea", spec_hash="h", key=key, fingerprint="f", kept_at=kept_at, state=b"s"
        )

    rows = {
        "of a partition that is kept": (part(table, "2026-03-01"), False),
        "of a partition that is kept no more": (part(table, "2026-01-10"), True),
        "of a key that no partition has now": (part(table, "2026-01-10-07"), True),
        "of all partitions": (part(table, ""), False),
        "of a table without partitions": (part(whole, "all"), False),
        "of a table without such a test": (part(custom.dataset, "2026-03-01"), True),
        "of yesterday": (part(custom.dataset, "2026-03-02", kept_at=NOW - DAY), False),
    }
    gone = pruned(PartState, *(row for row, _ in rows.values()))
    assert dict(zip(rows, gone, strict=True)) == {name: expected for name, (_, expected) in rows.items()}
