"""What the doctor finds in sick set-ups, and how each is mended."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import redis as redis_client
from django.db import connection
from pyarrow.fs import FileSelector
from pytest_django import DjangoDbBlocker

from alerting.models import Notice
from assay import clock
from assay.celery import app
from assay.config import config
from assay.models import Beat, Replica
from assay.scheduler.beat import beat
from assay.stores import stores_as_json
from execution_engine.models import Scan
from execution_engine.read_by import FallbackKind, Left, ReadBy
from tests.e2e.set_ups import default_database
from tests.factories import DAY, HOUR, NOW, DatasetFactory, NoticeFactory
from tests.integration.alerting.receivers import mail_server
from tests.integration.engines.stored import store
from tests.servers import MariaDB, Redis
from web import doctor
from web.doctor import disk_finding, examine, skew_finding, well


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def use(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
        config.cache_clear()

    yield use
    config.cache_clear()


def test_each_object_store_is_tried(use: Any) -> None:
    assert doctor.stores() == well("stores", "none is named")
    with store():
        assert doctor.stores() == well("stores", "s3://lake")
        (lake,) = config().object_stores
        use(stores=stores_as_json([replace(lake, prefix="s3://sea/fish"), replace(lake, secret_key="env:GONE")]))
        assert doctor.stores().found == (
            f"the store s3://sea/fish at {lake.endpoint} has no bucket sea: correct the location, or the endpoint in "
            f"ASSAY_STORES; the store s3://lake at {lake.endpoint} takes its secret_key from GONE, which is not set: "
            "set it where the workers and this command run"
        )


def test_a_cluster_that_does_not_answer_and_a_secret_of_its_settings_that_is_not_there_are_told_of(use: Any) -> None:
    assert doctor.cluster() == well("cluster", "none: Spark runs on this machine")
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        use(spark_master=f"spark://{place},spare:7077")
        assert doctor.cluster() == well("cluster", f"spark://{place} takes connections")
    assert "correct ASSAY_SPARK_MASTER" in doctor.cluster().mend
    use(spark_remote=f"sc://{place}/;token=hush")
    found = doctor.cluster()
    assert "correct ASSAY_SPARK_REMOTE" in found.mend
    assert "hush" not in str(found)
    use(spark_conf='{"spark.hadoop.fs.s3a.secret.key": "env:GONE"}')
    assert doctor.cluster().found.startswith(
        "ASSAY_SPARK_CONF takes spark.hadoop.fs.s3a.secret.key from GONE, which is"
    )


@pytest.mark.django_db
def test_executors_that_lack_what_kernels_need_are_told_of_until_a_scan_had_them() -> None:
    clock.simulate(NOW)
    why = "the executors' Python has no pyarrow"
    poor = ReadBy(left=(Left(kind=FallbackKind.EXECUTORS, why=why, values=3),)).to_json()
    day = {"window_start": NOW - DAY, "window_end": NOW, "created_at": NOW}
    trips, zones = DatasetFactory.create(name="trips"), DatasetFactory.create(name="zones")
    for dataset in (trips, zones):
        Scan.objects.create(dataset=dataset, ended_at=NOW - HOUR, read_by=poor, **day)
    assert doctor.executors().found == f"Spark read what kernels could not, of 2 datasets: {why}"
    for dataset in (trips, zones):
        Scan.objects.create(dataset=dataset, ended_at=NOW, read_by=ReadBy(kernels=3).to_json(), **day)
    assert doctor.executors().is_well


@pytest.mark.django_db
def test_a_store_that_is_away_is_asked_for_one_replica_alone(use: Any) -> None:
    for name in "abc":
        Replica.objects.filter(dataset=DatasetFactory.create(name=name)).update(location=f"s3://lake/{name}")
    use(stores='[{"prefix": "s3://lake", "endpoint": "http://127.0.0.1:9", "anonymous": true}]')
    started = monotonic()
    assert "s3://lake/c" in doctor.replicas().found
    assert monotonic() - started < 3


@pytest.mark.django_db
def test_a_silent_scheduler_is_found(use: Any) -> None:
    assert doctor.scheduling().is_well
    use(broker_url="memory://")
    assert "none has ever swept" in doctor.scheduling().found
    beat(timedelta(seconds=1))
    assert doctor.scheduling().is_well
    Beat.objects.update(swept_at=clock.database_now() - HOUR)
    found = doctor.scheduling()
    assert (found.is_well, "silent: the last sweep was 360" in found.found) == (False, True)
    assert "assay sweep" in found.mend


@pytest.mark.django_db
def test_the_rows_that_fail_most_are_named_by_their_ids() -> None:
    clock.simulate(NOW)
    assert doctor.failing().is_well
    made = [DatasetFactory.create(reconcile_at=NOW, attempts=attempts) for attempts in (0, 9, 3, 5, 2)]
    found = doctor.failing()
    named = ", ".join(f"reconcile {made[n].pk} ({made[n].attempts} tries)" for n in (1, 3, 2))
    assert (found.is_well, found.found) == (False, f"rows fail again and again in reconcile (4); worst {named}")


@pytest.mark.django_db
def test_work_that_nobody_does_is_found() -> None:
    clock.simulate(NOW)
    DatasetFactory.create(reconcile_at=NOW - HOUR / 12)
    assert doctor.waiting().is_well
    DatasetFactory.create(reconcile_at=NOW - HOUR)
    found = doctor.waiting()
    assert (found.is_well, found.found) == (False, "nobody has worked what is due in reconcile (60 min)")


@pytest.mark.parametrize(
    ("lease_ends_in", "told"),
    [(None, ""), (-HOUR, "workers have left"), (-HOUR / 60, ""), (HOUR / 6, ""), (2 * HOUR, "far into the future")],
)
@pytest.mark.django_db
def test_leases_that_nobody_takes_up_or_gives_back_are_found(lease_ends_in: timedelta | None, told: str) -> None:
    clock.simulate(NOW)
    until = clock.database_now() + lease_ends_in if lease_ends_in else None
    DatasetFactory.create(reconcile_at=NOW, lease_until=until)
    found = doctor.leases()
    assert (found.is_well, told in found.found) == (not told, True)
    assert ("reconcile (1)" in found.found) == bool(told)


@pytest.mark.django_db
def test_notices_that_were_given_up_lately_are_found_with_their_errors() -> None:
    clock.simulate(NOW)
    NoticeFactory.create()
    NoticeFactory.create(sent_at=None, suppressed="silenced")
    NoticeFactory.create(sent_at=None, settled_at=NOW - 8 * DAY, error="long ago")
    assert doctor.notices().is_well
    dead = NoticeFactory.create(sent_at=None, error="mailbox full")
    found = doctor.notices()
    assert (found.is_well, found.found.startswith("1 were given up")) == (False, True)
    assert (f"{dead.pk} to ada by email: mailbox full" in found.found, Notice.objects.count()) == (True, 4)


@pytest.mark.django_db
def test_the_clocks_of_one_machine_agree() -> None:
    assert doctor.clock_skew().is_well


@pytest.mark.parametrize(("ahead", "told"), [(4.9, ""), (-4.9, ""), (6, "6 s behind"), (-90, "90 s ahead of")])
def test_clocks_may_differ_by_five_seconds(ahead: float, told: str) -> None:
    found = skew_finding(NOW + timedelta(seconds=ahead), NOW)
    assert (found.is_well, told in found.found) == (not told, True)


@pytest.mark.django_db
def test_the_database_of_these_tests_is_set_right() -> None:
    assert doctor.server().is_well


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SET sql_mode = ''", "cuts values off"),
        ("SET time_zone = '+02:00'", "time zone is +02:00"),
        ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "REPEATABLE-READ"),
    ],
)
def test_a_mariadb_that_is_set_otherwise_is_found(
    mariadb_server: MariaDB, django_db_blocker: DjangoDbBlocker, statement: str, told: str
) -> None:
    with django_db_blocker.unblock(), default_database(mariadb_server.url):
        assert doctor.server().is_well
        with connection.cursor() as cursor:
            cursor.execute(statement)
        found = doctor.server()
    assert (found.is_well, told in found.found, bool(found.mend)) == (False, True, True)


def test_a_redis_that_evicts_or_forgets_is_found(
    redis_server: Redis, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(broker_url=redis_server.url)
    monkeypatch.setitem(app.conf, "broker_url", redis_server.url)
    assert doctor.broker().is_well
    with redis_client.Redis.from_url(redis_server.url) as client:
        assert "set appendonly yes" in doctor.redis().mend
        client.config_set("appendonly", "yes")
        assert doctor.redis().is_well
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert "set maxmemory-policy noeviction" in doctor.redis().mend
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("appendonly", "no")


def test_a_broker_that_is_away_is_found_without_its_password(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "redis://:hush@127.0.0.1:1/0"
    use(broker_url=url)
    monkeypatch.setitem(app.conf, "broker_url", url)
    for found in (doctor.broker(), doctor.redis()):
        assert (found.is_well, "hush" in found.found) == (False, False)


def test_states_in_a_service_must_lie_where_all_workers_see_them(use: Any, tmp_path: Path) -> None:
    use(home=str(tmp_path), broker_url="memory://")
    assert "ASSAY_STATE_STORE" in doctor.states().mend
    use(state_store=str(tmp_path / "states"))
    assert doctor.states().is_well
    assert "cannot be seen from here" in doctor.states().found


def test_a_store_that_takes_states_and_rows_is_written_to(use: Any) -> None:
    with store() as owner:
        (lake,) = config().object_stores
        use(
            broker_url="memory://",
            state_store="s3://lake/states",
            row_stores='{"bad": "s3://lake/rows"}',
            stores=stores_as_json([lake, replace(lake, prefix="s3://lake/kept", read_only=True)]),
        )
        assert doctor.states() == well("states", "s3://lake/states can be written")
        assert doctor.row_stores() == well("rows", "bad can be written")
        assert doctor.stores() == well("stores", "s3://lake, s3://lake/kept (read-only)")
        assert [file.base_name for file in owner.get_file_info(FileSelector("lake/states"))] == []
        use(state_store="s3://lake/kept/states", row_stores='{"bad": "s3://sea/rows"}')
        assert doctor.states().found.startswith(f"the store s3://lake/kept at {lake.endpoint} is read_only")
        assert "sea" in doctor.row_stores().found


def test_a_state_folder_that_cannot_be_written_is_found(use: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    use(state_store=str(tmp_path / "file" / "states"))
    assert not doctor.states().is_well


@pytest.mark.parametrize(("free", "total", "is_well"), [(2, 10, True), (0.9, 10, False), (4, 100, False)])
def test_little_space_is_found(free: float, total: float, is_well: bool) -> None:
    gibibyte = 1 << 30
    assert disk_finding([(Path("/"), int(free * gibibyte), int(total * gibibyte))]).is_well == is_well


def test_space_is_measured_where_assay_writes(use: Any, tmp_path: Path) -> None:
    use(home=str(tmp_path))
    assert "GB free" in doctor.disk().found


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://example.org/hook", "http is not permitted"),
        ("https://127.0.0.1/hook", "not an address of the public Internet"),
        ("https://nowhere.invalid/hook", "nowhere.invalid"),
    ],
)
def test_a_webhook_that_could_not_be_posted_to_is_found_before_anybody_must_be_told(
    use: Any, url: str, told: str
) -> None:
    assert doctor.reach() == well("channels", "log")
    use(webhook_url=url)
    found = doctor.reach()
    assert (found.is_well, told in found.found, "ASSAY_WEBHOOK_*" in found.mend) == (False, True, True)


def test_a_mail_server_that_is_away_or_there_is_found(use: Any) -> None:
    use(email_url="smtp://127.0.0.1:1")
    assert "email: ConnectionRefusedError" in doctor.reach().found
    with mail_server(250) as received:
        use(email_url=received.url)
        assert doctor.reach() == well("channels", "log, email")


def test_a_heartbeat_that_may_not_be_called_is_found_without_its_path_which_is_a_secret(use: Any) -> None:
    assert doctor.heartbeat().is_well
    use(heartbeat_url="https://169.254.169.254/token-hush")
    assert (doctor.heartbeat().is_well, "hush" in doctor.heartbeat().found) == (False, False)
    use(heartbeat_url="http://127.0.0.1/token-hush")
    assert doctor.heartbeat() == well("heartbeat", "127.0.0.1")


@pytest.mark.django_db
def test_every_ill_finding_says_how_to_mend_it() -> None:
    findings = list(examine())
    assert len(findings) == len({finding.check for finding in findings}) == 31
    assert all(bool(finding.mend) != finding.is_well for finding in findings)


@pytest.mark.django_db
def test_scans_that_wait_where_no_worker_takes_any_are_found_at_once() -> None:
    clock.simulate(NOW)
    for place, ended_at in (("sea", None), ("sea", NOW), ("ams", None), ("phx", None)):
        waits_since = NOW - HOUR / 20 if place != "phx" else NOW
        of = {"datacenter": place, "window_start": NOW - DAY, "window_end": NOW, "created_at": waits_since}
        Scan.objects.create(dataset=DatasetFactory.create(), ended_at=ended_at, **of)
    found = doctor.datacenters()
    assert (found.is_well, found.found) == (False, "no worker takes what waits in ams (1 scan, the oldest for 3 min)")
    assert ("-Q assay.DATACENTER" in found.mend, found in doctor.idle()) == (True, True)
