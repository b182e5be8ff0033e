"""One story, from a catalog in YAML to a healed incident and its score, in every set-up that Assay has."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoDbBlocker
from sqlalchemy import create_engine, text

from alerting.models import Notice, Standing
from assay import clock
from assay.access import Role
from assay.config import config
from assay.models import Member
from assay.queue.drain import backlogs
from incident_manager.models import Incident, SpoiltWindow
from tests.e2e.company import Company, at
from tests.e2e.processes import Processes, assay
from tests.e2e.set_ups import Embedded, Service, SetUp, default_database, environment
from tests.integration.alerting.receivers import Received, webhook
from tests.servers import MariaDB, Redis

pytestmark = pytest.mark.timeout(900)

MONDAY, TUESDAY = "2026-03-09", "2026-03-10"
MONDAYS_TRIPS, TUESDAYS_TRIPS = range(1000, 1300), range(2000, 2300)
HELD, FAILED, UNABLE = 0, 1, 3  # exit codes


@pytest.fixture
def receiver() -> Iterator[Received]:
    """Where notices are posted to."""
    with webhook(200) as received:
        yield received


@pytest.fixture(params=["embedded", "service"])
def company(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    receiver: Received,
    monkeypatch: pytest.MonkeyPatch,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Company]:
    """The company, with Assay set up in one of its ways and the clock at the noon of Monday."""
    variables = in_service(request) if request.param == "service" else embedded(tmp_path)
    given = environment(tmp_path, {"ASSAY_WEBHOOK_URL": receiver.url, **variables})
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as stack:
        config.cache_clear()
        stack.callback(config.cache_clear)
        subprocess.run([assay(), "migrate"], env=given, check=True, capture_output=True)
        stack.enter_context(django_db_blocker.unblock())
        stack.enter_context(default_database(given["ASSAY_DATABASE_URL"]))
        clock.simulate(at(f"{MONDAY} 12:00"))
        client = Client()
        ann = get_user_model().objects.create_user("ann")
        Member.objects.create(user=ann, role=Role.ADMIN)
        client.force_login(ann)
        set_up = start_service(stack, tmp_path, given) if request.param == "service" else Embedded()
        yield Company(folder=tmp_path, set_up=set_up, environment=given, receiver=receiver, client=client)


def embedded(folder: Path) -> dict[str, str]:
    """SQLite for Assay, and for the shop."""
    return {
        "ASSAY_DATABASE_URL": f"sqlite:///{folder}/assay.db",
        "ASSAY_BROKER_URL": "",
        "ASSAY_LOCATION_ORDERS": f"sqlite:///{folder}/shop.db",
    }


def in_service(request: pytest.FixtureRequest) -> dict[str, str]:
    """MariaDB for Assay, and beside it for the shop; Redis. What a lost worker held is free again within seconds."""
    mariadb: MariaDB = request.getfixturevalue("mariadb_server")
    redis: Redis = request.getfixturevalue("redis_server")
    server = create_engine(mariadb.url)
    with server.begin() as connection:
        connection.execute(text("create database shop"))
    server.dispose()
    return {
        "ASSAY_DATABASE_URL": mariadb.url,
        "ASSAY_BROKER_URL": redis.url,
        "ASSAY_BROKER_VISIBILITY_TIMEOUT": "10",
        "ASSAY_LEASE_SECONDS": "8",
        "PYSPARK_SUBMIT_ARGS": "--driver-memory 768m pyspark-shell",  # several share this machine
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # and none lives long
        "ASSAY_LOCATION_ORDERS": mariadb.url.removesuffix(mariadb.database) + "shop",
    }


def start_service(stack: ExitStack, folder: Path, given: dict[str, str]) -> SetUp:
    """All processes, until the test ends."""
    processes = Processes(environment=given, logs=folder / "logs")
    stack.callback(processes.stop_all)
    service = Service(processes=processes)
    service.start("dca", "phx")
    return service


def test_lost_rows_are_caught_told_healed_and_measured(company: Company) -> None:
    company.open()
    a_healthy_day_passes(company)
    a_day_that_its_pipeline_completed_passes_early(company)
    rows_lost_later_block_at_once(company)
    and_become_an_incident_that_its_owner_is_told_of(company)
    the_rewritten_day_heals_by_itself(company)
    all_of_it_is_measured(company)
    every_notice_came_once(company.receiver)
    company.set_up.assert_worked_as_it_should()


def a_healthy_day_passes(company: Company) -> None:
    company.until(f"{TUESDAY} 00:30")
    company.land(MONDAY, MONDAYS_TRIPS)
    company.until(f"{TUESDAY} 03:00")
    assert {name: states(name, MONDAY) for name in ("ops.orders", "raw.trips", "lake.trips")} == {
        "ops.orders": {"freshness": "PASS", "duplicates": "PASS"},
        "raw.trips": {
            "freshness": "PASS",
            "completeness-sample:ops.orders": "PASS",
            "duplicates": "PASS",
            "novelty": "LEARNING",
        },
        "lake.trips": {
            "freshness": "PASS",
            "freshness@phx": "PASS",
            "completeness:raw.trips": "PASS",
            "duplicates": "PASS",
            "consistency-count:dca>phx": "PASS",
            "consistency-count:phx>dca": "PASS",
            "consistency-bloom:dca>phx": "PASS",
            "consistency-bloom:phx>dca": "PASS",
            "novelty": "LEARNING",
        },
    }
    assert company.assay("gate", "lake.trips", "--window", MONDAY) == HELD


def a_day_that_its_pipeline_completed_passes_early(company: Company) -> None:
    company.until("2026-03-11 00:30")
    company.land(TUESDAY, TUESDAYS_TRIPS)
    outputs = [{"dataset": "lake.trips", "window": TUESDAY, "datacenter": place} for place in ("dca", "phx")]
    company.post("pipelines/load_trips/completed", {"outputs": outputs})
    company.until("2026-03-11 00:30")
    assert states("lake.trips", TUESDAY)["completeness:raw.trips"] == "PASS"
    company.until("2026-03-11 03:10")
    assert set(states("lake.trips", TUESDAY).values()) == {"PASS", "LEARNING"}


def rows_lost_later_block_at_once(company: Company) -> None:
    company.set_up.lose_worker("phx")
    company.copy(TUESDAY, TUESDAYS_TRIPS[:150])
    company.until("2026-03-11 04:00")  # the next look at what the files look like
    broken = {name: state for name, state in states("lake.trips", TUESDAY).items() if state not in ("PASS", "LEARNING")}
    assert broken == {"completeness:raw.trips": "WARN"}
    assert company.assay("gate", "lake.trips", "--window", TUESDAY) == FAILED
    assert company.assay("gate", "lake.trips", "--window", MONDAY) == HELD
    assert company.assay("gate", "lake.trips", "--window", "Tuesday") == UNABLE
    assert company.assay("gate", "--window", TUESDAY) == UNABLE


def and_become_an_incident_that_its_owner_is_told_of(company: Company) -> None:
    company.until("2026-03-11 05:00")  # it was broken for the sustain period of tier 1
    incident = Incident.objects.get()
    assert (incident.category, incident.detected_at) == ("completeness", at("2026-03-11 05:00"))
    assert quality(company, TUESDAY) == ("bad", ["completeness"])
    assert quality(company, MONDAY) == ("good", [])
    assert not company.receiver.bodies  # the grace has not passed
    company.until("2026-03-11 05:30")
    (notice,) = map(json.loads, company.receiver.bodies)
    assert notice["recipient"] == "ann@example.com"
    assert "lake.trips" in notice["subject"]


def the_rewritten_day_heals_by_itself(company: Company) -> None:
    company.until("2026-03-11 05:41")
    company.copy(TUESDAY, TUESDAYS_TRIPS)  # no completion event
    company.until("2026-03-11 06:10")
    incident = Incident.objects.get()
    assert (incident.resolution, incident.resolved_at) == ("auto", at("2026-03-11 05:45"))
    assert list(SpoiltWindow.objects.values_list("how", "healed_at")) == [("auto", at("2026-03-11 05:45"))]
    assert set(states("lake.trips", TUESDAY).values()) == {"PASS", "LEARNING"}
    assert quality(company, TUESDAY) == ("good", [])
    assert company.assay("gate", "lake.trips", "--window", TUESDAY) == HELD


def all_of_it_is_measured(company: Company) -> None:
    about = ("--dataset", "lake.trips", "--category", "completeness")
    (row,) = company.answer("report", "--from", "2026-03-11T00:00", "--to", "2026-03-11T06:00", *about)["rows"]
    assert (row["precision"], row["recall"], row["false_positive_seconds"]) == (1.0, 1.0, 0.0)
    assert timedelta(seconds=row["true_positive_seconds"]) == timedelta(minutes=45)
    assert row["data_quality"] == 1 - 45 / 360


def every_notice_came_once(receiver: Received) -> None:
    sent = Notice.objects.filter(channel="webhook", suppressed="").order_by("sent_at")
    assert [notice.event for notice in sent] == ["opened", "recovered"]
    assert [headers["Idempotency-Key"] for headers in receiver.headers] == [notice.key for notice in sent]
    assert all(notice.sent_at for notice in sent)
    assert sum(backlog.waiting + backlog.failing for backlog in backlogs()) == 0


def states(dataset: str, day: str) -> dict[str, str]:
    """Where the tests of a dataset's partitions stand on a day, by their names."""
    rows = Standing.objects.filter(data_test__dataset__full_name=dataset, window_start=at(day))
    return dict(rows.values_list("data_test__name", "state"))


def quality(company: Company, day: str) -> tuple[str, list[str]]:
    """What the API says of a day: the status, and the incidents' categories."""
    end = (at(day) + timedelta(days=1)).isoformat()
    answer = company.get("quality", **{"dataset": "lake.trips", "from": at(day).isoformat(), "to": end})
    return answer["status"], [incident["category"] for incident in answer["incidents"]]
