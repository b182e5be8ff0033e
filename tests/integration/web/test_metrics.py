"""What Prometheus reads, taken by its own parser: what it counts, and that counting stays cheap and never falls."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from alerting.notices.policy import Event, Hush, NoticeStep, PlannedNotice
from alerting.notices.services import write_down
from alerting.services import send_due, tell
from assay import clock
from assay.config import config
from assay.models import AccessToken, DataTest
from assay.scheduler.beat import beat
from execution_engine.models import Run, Scan
from tests.factories import (
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    NoticeFactory,
    RunFactory,
    StandingFactory,
    day,
)
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop
from tests.integration.execution_engine.conftest import loop as loop
from web import probes

pytestmark = pytest.mark.django_db

MOST_STATEMENTS = 16  # where every stage is idle; one more for each that has work


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.simulate(NOW)
    probes.DATASET_COUNTS.at = float("-inf")


def read(name: str, **headers: str) -> dict[tuple[str, ...], float]:
    text = Client().get("/metrics", headers=headers).content.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {tuple(sample.labels.values()): sample.value for sample in samples if sample.name == name}


def token() -> dict[str, str]:
    return {"Authorization": f"Bearer {AccessToken.objects.create(User.objects.create_user('prometheus'))[1]}"}


def test_runs_and_scans_are_counted_as_they_end_and_stay_counted(loop: Loop) -> None:
    table = DatasetFactory.create(name="trips")
    loop.write(table, "2026-03-09", rows(120))
    for assertion in ("row_count() >= 100", "row_count() >= 119", "row_count() >= 1000"):
        loop.run(DataTestFactory.create(dataset=table, assertion=assertion), day("2026-03-09"))
    Run.objects.all().delete()
    Scan.objects.all().delete()
    assert read("assay_runs_total") == {("held",): 2, ("broken",): 1, ("error",): 0}
    assert read("assay_scans_total") == {("sea", "ok"): 3, ("sea", "error"): 0}
    assert read("assay_scan_seconds_total").keys() == {("sea",)}


def test_a_run_that_can_never_be_measured_counts_as_an_error(loop: Loop) -> None:
    loop.run(DataTestFactory.create(assertion="row_count(dataset='no.such') > 0"), day("2026-03-09"))
    assert read("assay_runs_total")["error",] == 1


@pytest.mark.logs_a_failure
def test_a_scan_that_failed_counts_as_one(loop: Loop) -> None:
    def die() -> None:
        raise OSError("the disk is gone")

    loop.lake.while_reading.append(die)
    table = DatasetFactory.create()
    loop.write(table, "2026-03-09", rows(120))
    loop.run(DataTestFactory.create(dataset=table), day("2026-03-09"))
    assert read("assay_scans_total") == {("sea", "ok"): 0, ("sea", "error"): 1}


def test_notices_are_counted_as_they_are_settled() -> None:
    for name in ("ada", "bob"):
        tell(event="gaps", recipient=name, subject="s", body="b", facts={}, key="k", now=NOW)
    send_due()
    assert read("assay_notices_total") == {("sent",): 0, ("logged",): 2, ("suppressed",): 0, ("dead",): 0}


def test_a_notice_that_is_given_up_counts_as_dead() -> None:
    NoticeFactory.create(channel="pager", due_at=NOW, settled_at=None, sent_at=None)  # one that is not configured
    send_due()
    assert read("assay_notices_total") == {("sent",): 0, ("logged",): 0, ("suppressed",): 0, ("dead",): 1}


def test_a_stage_tells_how_much_waits_how_long_and_in_vain() -> None:
    RunFactory.create(judged_at=None, evaluated_at=NOW - HOUR, attempts=3)
    assert (read("assay_stage_pending")["judge",], read("assay_stage_failing")["judge",]) == (1, 1)
    assert read("assay_stage_oldest_due_seconds")["judge",] == 3600
    assert read("assay_stage_oldest_due_seconds")["plan",] == 0


def test_what_is_open_or_in_trouble_is_counted_now() -> None:
    incident = IncidentFactory.create(dataset=DatasetFactory.create())
    IncidentFactory.create(dataset=DatasetFactory.create(), open_key=None, resolved_at=NOW)
    for state in ("UNKNOWN", "PASS", "UNKNOWN", "FAIL"):
        StandingFactory.create(state=state)
    assert read("assay_incidents_open")[incident.category,] == 1
    assert {state: count for (state,), count in read("assay_standings").items() if count} == {"UNKNOWN": 2, "FAIL": 1}


def test_skipped_slots_are_counted() -> None:
    for skipped in (0, 3, 4):
        DataTestFactory.create(skipped_slots=skipped)
    assert (DataTest.objects.count(), read("assay_slots_skipped_total")) == (3, {(): 7})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASSAY_BROKER_URL", "memory://")
    config.cache_clear()
    yield
    config.cache_clear()


def test_the_last_sweep_is_told_by_its_instant(service: None) -> None:
    assert read("assay_scheduler_last_sweep_timestamp_seconds") == {(): 0}
    beat(timedelta(seconds=1))
    (told,) = read("assay_scheduler_last_sweep_timestamp_seconds").values()
    assert 0 <= clock.database_now().timestamp() - told < 60


def test_without_a_broker_there_is_no_sweep_to_tell_of() -> None:
    assert read("assay_scheduler_last_sweep_timestamp_seconds") == {}


def test_readiness_tells_of_a_silent_scheduler_and_stays_ready(service: None, client: Client) -> None:
    silent = client.get("/readyz")
    assert (silent.status_code, silent.json()["scheduler"]["status"]) == (200, "silent")
    beat(timedelta(seconds=1))
    assert client.get("/readyz").json()["scheduler"]["status"] == "ok"


def test_reading_takes_few_statements_however_many_rows_there_are(django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(MOST_STATEMENTS):
        read("assay_up")
    for _ in range(20):
        RunFactory.create()
    with django_assert_max_num_queries(MOST_STATEMENTS):
        assert read("assay_up") == {(): 1}


def test_where_the_database_is_away_we_are_not_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise DatabaseError("gone away")

    monkeypatch.setattr(probes, "totals", away)
    assert (read("assay_up"), read("assay_runs_total")) == ({(): 0}, {})


def test_names_follow_the_conventions_of_prometheus(client: Client) -> None:
    families = list(text_string_to_metric_families(client.get("/metrics").content.decode()))
    assert len({family.name for family in families}) == len(families) == 19
    for family in families:
        assert re.fullmatch(r"assay_[a-z]+(_[a-z]+)*", family.name)
        assert family.documentation
        assert not re.search("_(ms|minutes|hours|kb|percent)$", family.name)
        assert {sample.name.endswith("_total") for sample in family.samples} <= {family.type == "counter"}


def test_open_incidents_are_told_by_tier_team_and_category() -> None:
    for team, tier, count in (("rides", 1, 2), ("", 3, 1)):
        for n in range(count):
            dataset = DatasetFactory.create(name=f"of {team} {n}")
            IncidentFactory.create(dataset=dataset, team=team, tier=tier, category="freshness")
    ended = IncidentFactory.create(team="rides", tier=1, open_key=None, resolved_at=NOW)
    assert read("assay_team_incidents_open") == {("freshness", "(others)", "1"): 2, ("freshness", "", "3"): 1}
    known = read("assay_team_incidents_open", **token())
    assert known == {("freshness", "rides", "1"): 2, ("freshness", "", "3"): 1}
    assert read("assay_team_incidents_open", Authorization="Token wrong") != known
    assert ended.resolved_at is not None


def test_however_many_teams_there_are_fifty_are_named() -> None:
    for n in range(60):
        IncidentFactory.create(dataset=DatasetFactory.create(name=f"of {n}"), team=f"team {n}", tier=0)
    found = read("assay_team_incidents_open", **token())
    assert (len({team for _, team, _ in found}), sum(found.values())) == (51, 60)
    assert sum(count for (_, team, _), count in found.items() if team == "(others)") == 10


def test_datasets_are_counted_by_the_answer_that_look_ups_give() -> None:
    good, bad = (DatasetFactory.create(name=name, tier=tier) for name, tier in (("good", 0), ("bad", 4)))
    DatasetFactory.create(name="untested", tier=4)
    StandingFactory.create(data_test=DataTestFactory.create(dataset=good))
    StandingFactory.create(data_test=DataTestFactory.create(dataset=bad), state="FAIL", last_outcome="broken")
    found = read("assay_datasets")
    assert len(found) == 30
    some = {("good", "0"): 1, ("bad", "4"): 1, ("untested", "4"): 1}
    assert {labels: count for labels, count in found.items() if count} == some


def test_counts_of_datasets_are_kept_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    DatasetFactory.create(tier=2)
    assert read("assay_datasets")["untested", "2"] == 1
    DatasetFactory.create(name="another", tier=2)
    assert read("assay_datasets")["untested", "2"] == 1
    monkeypatch.setattr(probes, "FRESH_FOR", -1.0)
    assert read("assay_datasets")["untested", "2"] == 2


def test_the_lag_of_a_tier_is_that_of_the_window_that_is_due_longest() -> None:
    late = DataTestFactory.create(
        dataset=DatasetFactory.create(name="late", tier=1), category="freshness", assertion="freshness() < 4h"
    )
    for key, hours, state in (("2026-03-09", 3, "WARN"), ("2026-03-08", 27, "FAIL"), ("2026-03-07", 51, "PASS")):
        StandingFactory.create(data_test=late, window=day(key), state=state, due_at=NOW - hours * HOUR)
    StandingFactory.create(state="FAIL", due_at=NOW - 90 * HOUR)  # of another category
    found = read("assay_freshness_lag_seconds")
    assert found == {(str(tier),): 27 * 3600.0 if tier == 1 else 0.0 for tier in range(6)}


def test_a_suppressed_notice_counts_once_and_by_its_reason_however_often_it_is_planned() -> None:
    alert = IncidentFactory.create().alert
    assert alert is not None
    hushed: dict[str, Any] = {"step": NoticeStep.SUPPRESS, "reason": Hush.SILENCED, "due_at": NOW}
    planned = PlannedNotice(key="k", event=Event.OPENED, recipient="ada", channel="log", **hushed)
    for _ in range(2):
        write_down(planned, alert=alert, subject="s", body="b", facts={}, now=NOW)
    assert read("assay_notices_total") == {("sent",): 0, ("logged",): 0, ("suppressed",): 1, ("dead",): 0}
    assert read("assay_notices_suppressed_total") == {(hush.value,): hush is Hush.SILENCED for hush in Hush}
