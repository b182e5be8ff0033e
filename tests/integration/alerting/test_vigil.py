"""A worker's look after the scheduler, and what on-call hears of its silence."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from celery.signals import worker_ready

from alerting.models import Notice
from alerting.notices.vigil import begin, look
from alerting.services import look_after_scheduler
from assay import clock
from assay.celery import app
from assay.clock import database_now
from assay.config import config
from assay.models import Beat
from tests.factories import HOUR, NOW

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service, with somebody on call."""
    clock.simulate(NOW)
    monkeypatch.setenv("ASSAY_BROKER_URL", "memory://")
    monkeypatch.setenv("ASSAY_ON_CALL", "night-watch")
    config.cache_clear()
    yield
    config.cache_clear()


def last_swept(ago: timedelta) -> None:
    """The scheduler of one host has swept last so long ago."""
    swept_at = database_now() - ago
    Beat.objects.update_or_create(host="a", defaults={"pid": 7, "swept_at": swept_at, "interval": MINUTE / 60})


def told() -> list[str]:
    """Who was told, by notices that were sent."""
    return list(Notice.objects.filter(sent_at__isnull=False, channel="log").values_list("recipient", flat=True))


def test_a_scheduler_that_sweeps_or_was_just_restarted_is_no_news() -> None:
    for ago in (timedelta(0), 4 * MINUTE):
        last_swept(ago)
        assert not look_after_scheduler(looking_since=database_now() - 60 * MINUTE)
    assert not Notice.objects.exists()


def test_on_call_is_told_once_of_each_silence_and_without_any_hint() -> None:
    last_swept(6 * MINUTE)
    assert [look_after_scheduler(looking_since=database_now()) for _ in range(3)] == [True, True, True]
    assert told() == ["night-watch"]
    last_swept(7 * MINUTE)
    look_after_scheduler(looking_since=database_now())
    assert told() == ["night-watch"] * 2


def test_the_embedded_set_up_misses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_BROKER_URL", "")
    config.cache_clear()
    assert not look_after_scheduler(looking_since=database_now() - 60 * MINUTE)


def test_every_worker_that_starts_begins_its_vigil() -> None:
    assert "alerting.notices.vigil" in app.conf.imports
    assert begin in [receiver() for _, receiver in worker_ready.receivers]


@pytest.mark.django_db(transaction=True)  # a look closes its connection
def test_a_look_tells_since_when_it_looks() -> None:
    since = look(None)
    assert since is not None
    assert look(since) == since


def test_on_call_reads_when_a_silent_scheduler_has_swept_last() -> None:
    last = (database_now() - 6 * MINUTE).replace(microsecond=0)
    Beat.objects.create(host="a", pid=7, swept_at=last, interval=MINUTE / 60)
    assert look_after_scheduler(looking_since=NOW)
    said = Notice.objects.get()
    assert said.key == f"scheduler:{last:%Y%m%dT%H%M%S}:platform:log:night-watch"
    assert (said.event, said.recipient) == ("platform", "night-watch")
    assert (said.created_at, said.sent_at) == (NOW, NOW)
    assert said.subject == "Assay's scheduler has stopped: no test is run on time"
    assert said.body == (
        f"Its last sweep was at {last:%Y-%m-%d %H:%M:%S} UTC. Start `assay sweep` again; until then workers do only "
        "the work that they find by themselves.\n"
    )
    assert said.facts == {"fault": "scheduler silent", "last_sweep_at": last.isoformat()}


def test_on_call_reads_that_a_scheduler_has_never_swept() -> None:
    assert not look_after_scheduler(looking_since=database_now() - 4 * MINUTE)
    assert look_after_scheduler(looking_since=database_now() - 6 * MINUTE)
    said = Notice.objects.get()
    assert said.key == "scheduler:never:platform:log:night-watch"
    assert said.body.startswith("It has never made a sweep. Start `assay sweep` again;")
    assert said.facts == {"fault": "scheduler silent", "last_sweep_at": None}


def test_a_scheduler_that_sweeps_rarely_is_not_silent_as_long_as_that() -> None:
    Beat.objects.create(host="a", pid=7, swept_at=database_now() - 6 * MINUTE, interval=HOUR)
    assert look_after_scheduler(looking_since=NOW) is False
