"""Rows that have had their time go, and no verdict, answer or score changes with them."""

import os
import time
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest

from alerting.models import Flip, Notice, Standing, Waiver
from alerting.tasks import judge
from assay import clock
from assay.config import config
from assay.models import Dataset, DataTest, Scope, Tallied
from assay.queue.claims import totals
from execution_engine.models import Ask, Measurement, PartState, Run, Scan, Watch
from execution_engine.parts.state_store import store_state
from incident_manager.models import LookUp
from incident_manager.retention import prune
from incident_manager.scores.metric_reporter import scores
from tests.factories import (
    DAY,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    NoticeFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.incident_manager.old_rows import OLD, YOUNG, judged, measured

pytestmark = pytest.mark.usefixtures("a_week")


def windows_of(model: Any) -> list[datetime]:
    return list(model.objects.order_by("window_start").values_list("window_start", flat=True))


def test_a_window_that_has_long_held_goes_with_all_that_is_known_of_it(custom: DataTest) -> None:
    judged(custom, OLD), judged(custom, YOUNG)
    assert prune() == 1
    assert [windows_of(model) for model in (Standing, Run, Measurement)] == [[YOUNG.start]] * 3
    assert Ask.objects.count() == 1
    assert totals()[Tallied.PRUNED] == {"standings": 1.0, "runs": 1.0, "measurements": 1.0}


@pytest.mark.parametrize("state", ["WARN", "FAIL", "UNKNOWN"])
def test_all_runs_of_a_window_in_trouble_stay(custom: DataTest, state: str) -> None:
    judged(custom, OLD, state=state, outcome="broken")
    RunFactory.create(data_test=custom, window=OLD, reason="check", outcome="broken")
    prune()
    assert (Run.objects.count(), Measurement.objects.count(), Standing.objects.get().state) == (2, 1, state)


def test_a_waived_window_stays(custom: DataTest) -> None:
    assert custom.revision is not None
    judged(custom, OLD)
    waiver = Waiver.objects.create(
        data_test=custom, revision=custom.revision, kind="forced", window_start=OLD.start, window_end=OLD.end,
        reason="known", author="ada", starts_at=OLD.end,
    )  # fmt: skip
    Standing.objects.update(waiver=waiver)
    prune()
    assert (Run.objects.count(), Standing.objects.count()) == (1, 1)


def test_a_window_that_is_still_spoilt_stays(custom: DataTest) -> None:
    judged(custom, OLD)
    incident = IncidentFactory.create(dataset=custom.dataset, detected_at=OLD.end)
    SpoiltWindowFactory.create(incident=incident, data_test=custom, window=OLD)
    prune()
    assert (Run.objects.count(), Standing.objects.count()) == (1, 1)


def test_a_window_with_a_flip_that_nobody_has_handled_stays(custom: DataTest) -> None:
    assert custom.revision is not None
    run = judged(custom, OLD)
    flip = Flip.objects.create(
        standing=Standing.objects.get(), data_test=custom, revision=custom.revision, run=run, window_start=OLD.start,
        window_end=OLD.end, old="WARN", new="PASS", at=OLD.end,
    )  # fmt: skip
    prune()
    assert Standing.objects.count() == 1
    Flip.objects.filter(pk=flip.pk).update(handled_at=NOW)
    clock.simulate(NOW + DAY)
    prune()
    assert (Standing.objects.count(), Flip.objects.count(), Run.objects.count()) == (0, 0, 0)


def test_a_run_that_has_no_outcome_yet_stays_however_old_it_is(custom: DataTest) -> None:
    RunFactory.create(data_test=custom, window=OLD, judged_at=None)
    prune()
    assert Run.objects.count() == 1


def test_of_a_whole_table_the_newest_result_stays(custom: DataTest) -> None:
    table = DataTestFactory.create(dataset=custom.dataset, scope=Scope.TABLE, schedule="weekly")
    RunFactory.create(data_test=table, window=day("2026-01-01"))
    newest = RunFactory.create(data_test=table, window=OLD)
    StandingFactory.create(data_test=table, window=OLD, window_key="table", last_run=newest)
    prune()
    assert list(Run.objects.all()) == [newest]
    assert Standing.objects.get().last_run == newest


def test_the_verdict_on_a_broken_table_rests_on_all_that_was_seen(custom: DataTest) -> None:
    table = DataTestFactory.create(dataset=custom.dataset, scope=Scope.TABLE, schedule="weekly")
    runs = [RunFactory.create(data_test=table, window=day(d), outcome="broken") for d in ("2026-01-01", "2026-01-08")]
    StandingFactory.create(data_test=table, window=OLD, window_key="table", last_run=runs[1], last_outcome="broken")
    prune()
    assert Run.objects.count() == 2


def test_a_window_that_was_pruned_and_runs_again_is_judged_again(custom: DataTest) -> None:
    judged(custom, OLD), prune()
    RunFactory.create(data_test=custom, window=OLD, requested_at=NOW, judged_at=None, outcome="broken")
    judge()
    assert Standing.objects.get().state == "WARN"


def test_measurements_that_a_test_looks_back_to_stay(custom: DataTest) -> None:
    looking = DataTestFactory.create(dataset=custom.dataset, assertion="mean(max(fare), last=28) > 0")
    near, far = day("2026-02-10"), day("2026-01-10")
    for window in (near, far):
        judged(custom, window), judged(looking, window)
    prune()
    assert Run.objects.count() == 0
    assert windows_of(Measurement) == [near.start, near.start]


def test_what_tells_how_many_rows_a_day_usually_has_stays_for_some_weeks(custom: DataTest) -> None:
    for window in (day("2026-02-10"), day("2026-01-01")):
        measured(custom.dataset, window, metric="row_count")
        measured(custom.dataset, window, metric="max")
    prune()
    assert list(Measurement.objects.values_list("spec_text", "window_start")) == [
        ("row_count(fare)", day("2026-02-10").start)
    ]


def test_what_a_kept_measurement_builds_on_stays(custom: DataTest) -> None:
    part = measured(custom.dataset, OLD, metric="sample", state=b"keys")
    user = measured(custom.dataset, YOUNG)
    user.inputs.add(part)
    prune()
    kept = Measurement.objects.get(pk=part.pk)
    assert bytes(kept.state or b"") == b"keys"  # probed again by the next check
    user.delete()
    clock.simulate(NOW + DAY)
    prune()
    assert Measurement.objects.count() == 0


def test_a_state_goes_before_its_value_and_is_taken_for_no_other(custom: DataTest) -> None:
    row = measured(custom.dataset, day("2026-03-05"), state=b"large", state_path="ab/x", state_length=5)
    waited_for = measured(custom.dataset, day("2026-03-05"), state=b"wanted")
    waiting = measured(custom.dataset, day("2026-03-05"), measured_at=None)
    waiting.inputs.add(waited_for)
    prune()
    row.refresh_from_db()
    waited_for.refresh_from_db()
    assert (row.value, row.state, row.state_path, row.fingerprint) == (1.0, None, "", "")
    assert waited_for.state is not None


def test_files_of_the_state_store_go_when_no_row_names_them(custom: DataTest) -> None:
    named, orphan, fresh = (store_state(config().states, text)[0] for text in (b"named", b"orphan", b"fresh"))
    measured(custom.dataset, YOUNG, state_path=named)
    for stored in (named, orphan):
        os.utime(config().states / stored, (time.time() - 2 * 86400,) * 2)
    prune()
    assert [(config().states / each).exists() for each in (named, orphan, fresh)] == [True, False, True]


def test_scans_changes_watches_notices_and_look_ups_go(custom: DataTest) -> None:
    window = {"window_start": OLD.start, "window_end": OLD.end}
    for at in (OLD.end, NOW):
        Scan.objects.create(dataset=custom.dataset, datacenter="sea", created_at=at, ended_at=at, **window)
        custom.dataset.changes.create(datacenter="sea", kind="completed", at=at, followed_at=at, **window)
        NoticeFactory.create(settled_at=at)
        look_up(custom.dataset, at, failed=False)
    Watch.objects.create(dataset=custom.dataset, datacenter="sea", **window)
    prune()
    counts = [Scan.objects.count(), custom.dataset.changes.count(), Notice.objects.count(), LookUp.objects.count()]
    assert (counts, Watch.objects.count()) == ([1, 1, 1, 1], 0)


def test_notices_of_an_open_alert_say_who_was_told_and_stay() -> None:
    incident = IncidentFactory.create(dataset=DatasetFactory.create(), detected_at=OLD.end)
    NoticeFactory.create(alert=incident.alert, settled_at=OLD.end)
    prune()
    assert Notice.objects.count() == 1


def test_states_of_partitions_go_once_no_test_reads_the_whole_table(custom: DataTest) -> None:
    def keep(dataset: Dataset, key: str) -> None:
        PartState.objects.create(
            dataset=dataset, datacenter="sea", spec_hash="h", key=key, fingerprint="f", kept_at=OLD.end, state=b"s"
        )

    table = DataTestFactory.create(scope=Scope.TABLE, dataset=DatasetFactory.create(retention=30 * DAY))
    for dataset, key in ((custom.dataset, "2026-01-10"), (table.dataset, "2026-01-10"), (table.dataset, "2026-03-01")):
        keep(dataset, key)
    prune()
    assert list(PartState.objects.values_list("dataset", "key")) == [(table.dataset_id, "2026-03-01")]


def test_scores_of_a_range_that_is_kept_stay_as_they_were(custom: DataTest) -> None:
    incident = IncidentFactory.create(
        dataset=custom.dataset, detected_at=NOW - 5 * DAY, resolved_at=NOW - 4 * DAY, resolution="auto", open_key=None
    )
    SpoiltWindowFactory.create(incident=incident, data_test=custom, window=YOUNG, healed_at=NOW)
    judged(custom, OLD), judged(custom, YOUNG)
    look_up(custom.dataset, NOW - DAY, failed=True, incidents=[incident.pk])
    look_up(custom.dataset, OLD.end, failed=False)
    before = scores(start=NOW - 7 * DAY, end=NOW, now=NOW)
    prune()
    assert LookUp.objects.count() == 1
    assert scores(start=NOW - 7 * DAY, end=NOW, now=NOW) == before


def look_up(dataset: Dataset, at: datetime, *, failed: bool, incidents: list[int] | None = None) -> None:
    LookUp.objects.create(
        query=uuid4(), dataset=dataset, at=at, failed=failed, incidents=incidents or [], window_start=OLD.start,
        window_end=OLD.end,
    )  # fmt: skip
