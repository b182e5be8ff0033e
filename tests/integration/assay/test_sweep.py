"""The sweep: hints for what waits, no more of them than are of use, and nothing lost where no broker takes them."""

import pytest
from redis import Redis as Client

from assay import clock
from assay.celery import app
from assay.queue.claims import claim, pending
from assay.queue.flow import stage
from assay.scheduler.sweep import MOST_WAITING, hint_times, look_on, sweep
from execution_engine.models import Watch
from tests.factories import NOW, DatasetFactory, day
from tests.servers import Redis

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon() -> None:
    """The clock, and empty queues in this process."""
    clock.simulate(NOW)
    hint_times.clear()
    for name in ("assay", "assay.phx"):
        drop(name)


def drop(queue: str) -> None:
    with app.connection_for_write() as broker:
        broker.default_channel.queue_purge(queue)  # type: ignore[attr-defined]


def hints(queue: str) -> int:
    """How many hints wait in a queue."""
    with app.connection_for_write() as broker:
        broker.default_channel.queue_declare(queue)  # type: ignore[attr-defined]
        return int(broker.default_channel.queue_declare(queue, passive=True).message_count)  # type: ignore[attr-defined]


def test_what_is_due_is_hinted_at_and_what_a_worker_holds_is_not() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    assert sweep() == 1
    claim(stage("reconcile"), now=NOW, limit=1)
    assert sweep() == 0
    assert hints("assay") == 1


def test_work_of_a_datacenter_is_hinted_at_in_its_own_queue() -> None:
    dataset = DatasetFactory.create(datacenters=("sea", "phx"))
    window = day("2026-03-09")
    Watch.objects.create(
        dataset=dataset, datacenter="phx", window_start=window.start, window_end=window.end, next_look_at=NOW
    )
    assert sweep() == 1
    assert (hints("assay.phx"), hints("assay")) == (1, 0)


def test_hints_that_no_worker_takes_do_not_pile_up() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    assert sum(sweep() for _ in range(MOST_WAITING + 10)) == MOST_WAITING == hints("assay")


def test_a_hint_does_not_expire_as_clocks_of_workers_may_be_fast() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    sweep()
    with app.connection_for_write() as broker:
        message = broker.default_channel.basic_get("assay", no_ack=True)  # type: ignore[attr-defined]
    assert message.headers["task"] == stage("reconcile").task
    assert message.headers["expires"] is None


def test_a_worker_that_found_work_tells_of_what_is_left() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    look_on(result=0)
    assert hints("assay") == 0
    look_on(result=1)
    assert hints("assay") == 1


def test_a_worker_does_not_tell_again_at_once_of_what_it_has_just_told() -> None:
    DatasetFactory.create(reconcile_at=NOW)
    look_on(result=1)
    look_on(result=1)
    assert hints("assay") == 1


def test_rows_wait_while_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    DatasetFactory.create(reconcile_at=NOW)
    monkeypatch.setitem(app.conf, "broker_url", "redis://127.0.0.1:1/0")
    assert sweep() == 0
    assert pending(stage("reconcile"), NOW).count() == 1


def test_rows_wait_while_the_broker_is_full(monkeypatch: pytest.MonkeyPatch, redis_server: Redis) -> None:
    DatasetFactory.create(reconcile_at=NOW)
    monkeypatch.setitem(app.conf, "broker_url", redis_server.url)
    monkeypatch.setattr(app, "_pool", None)
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    with Client.from_url(redis_server.url) as broker:
        broker.config_set("maxmemory", "1mb")  # less than an empty Redis takes
        assert sweep() == 0
        assert pending(stage("reconcile"), NOW).count() == 1
        broker.config_set("maxmemory", "0")
        assert sweep() == 1
        assert broker.llen("assay") == 1
