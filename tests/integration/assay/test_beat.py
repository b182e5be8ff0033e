"""The scheduler's sign of life, and how its silence is told."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from assay.clock import database_now
from assay.command_line.cli import run as run_command
from assay.config import config
from assay.models import Beat
from assay.scheduler.beat import beat, scheduler

SECOND = timedelta(seconds=1)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A broker in this process, so that there is a scheduler to look for."""
    monkeypatch.setenv("ASSAY_BROKER_URL", "memory://")
    config.cache_clear()
    yield
    config.cache_clear()


def swept(ago: timedelta, every: timedelta, host: str = "a") -> None:
    """A scheduler that has swept last so long ago."""
    Beat.objects.create(host=host, pid=7, swept_at=database_now() - ago, interval=every)


@pytest.mark.django_db
def test_the_embedded_set_up_has_no_scheduler_to_miss() -> None:
    assert scheduler() is None


@pytest.mark.django_db
def test_a_scheduler_that_never_swept_is_silent(broker: None) -> None:
    known = scheduler()
    assert known is not None
    assert (known.is_silent, known.silence) == (True, None)


@pytest.mark.parametrize(
    ("ago", "every", "is_silent"),
    [
        (59, 20, False),
        (62, 20, True),
        (13, 1, False),  # seconds that a sweep may take where the broker is slow
        (17, 1, True),
    ],
)
@pytest.mark.django_db
def test_a_scheduler_is_silent_after_three_intervals(broker: None, ago: int, every: int, is_silent: bool) -> None:
    swept(ago * SECOND, every * SECOND)
    known = scheduler()
    assert known is not None
    assert known.is_silent == is_silent


@pytest.mark.django_db
def test_of_two_schedulers_one_is_enough(broker: None) -> None:
    swept(300 * SECOND, SECOND, host="a")
    swept(SECOND, SECOND, host="b")
    known = scheduler()
    assert known is not None
    assert not known.is_silent


@pytest.mark.django_db
def test_a_beat_replaces_the_last_of_its_host_and_forgets_hosts_that_are_gone() -> None:
    swept(timedelta(days=2), SECOND, host="gone")
    swept(timedelta(hours=2), SECOND, host="stopped")
    beat(SECOND)
    beat(SECOND)
    hosts = set(Beat.objects.values_list("host", flat=True))
    assert (len(hosts), hosts & {"gone", "stopped"}) == (2, {"stopped"})


@pytest.mark.django_db(transaction=True)  # a command closes its connection
def test_each_sweep_leaves_a_beat(broker: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sweep", "--once", "--every", "20", "--json"]) == 0
    known = scheduler()
    assert known is not None
    assert (known.is_silent, known.interval) == (False, 20 * SECOND)
