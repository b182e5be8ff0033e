"""What a clock that was set back has left is looked for at the right times, and nothing else is touched."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command

from assay import clock
from assay.config import config
from assay.models import Dataset, Round
from assay.queue import drain
from assay.queue.drain import bring_back, is_time_to_look, look_for_leaps
from tests.factories import DatasetFactory

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=366)


@pytest.mark.parametrize(
    ("last", "is_time"),
    [
        (None, True),  # it has just started
        (NOW, False),
        (NOW - timedelta(minutes=59), False),
        (NOW - HOUR, True),
        (NOW + timedelta(seconds=1), True),  # the clock was set back
        (NOW + YEAR, True),
    ],
)
def test_it_is_looked_for_at_the_start_once_an_hour_and_when_the_clock_went_back(
    last: datetime | None, is_time: bool
) -> None:
    assert is_time_to_look(last, NOW) is is_time


@pytest.mark.parametrize(
    ("last", "is_time"), [(None, True), (NOW, False), (NOW - YEAR, False), (NOW + timedelta(seconds=1), True)]
)
def test_where_no_leap_can_have_passed_it_is_looked_for_when_the_clock_went_back(
    last: datetime | None, is_time: bool
) -> None:
    assert is_time_to_look(last, NOW, None) is is_time


@pytest.mark.django_db
def test_what_is_due_as_late_as_it_may_be_stays_and_what_is_later_comes_then() -> None:
    for name, ahead in (("now", timedelta()), ("late", DAY), ("lost", YEAR)):
        DatasetFactory.create(name=name, reconcile_at=NOW + ahead)
    bring_back(NOW)
    found = {row.name: row.reconcile_at - NOW for row in Dataset.objects.all() if row.reconcile_at}
    assert found == {"now": timedelta(), "late": DAY, "lost": DAY}


@pytest.mark.django_db
def test_a_process_looks_again_as_soon_as_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "_last", [])
    for now in (NOW, NOW + YEAR):
        look_for_leaps(now)
    row = Round.objects.create(name="prune", due_at=NOW + YEAR + DAY)
    look_for_leaps(NOW + timedelta(minutes=1))
    row.refresh_from_db()
    assert row.due_at == NOW + timedelta(minutes=1) + DAY


@pytest.mark.django_db
def test_a_replay_that_is_set_back_behind_where_it_stood_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "_last", [])
    for hours in (0, 9):
        look_for_leaps(NOW + hours * HOUR, in_replay=True)
    row = Round.objects.create(name="prune", due_at=NOW + YEAR)
    look_for_leaps(NOW + 10 * HOUR, in_replay=True)
    row.refresh_from_db()
    assert row.due_at == NOW + YEAR
    look_for_leaps(NOW + HOUR, in_replay=True)
    row.refresh_from_db()
    assert row.due_at == NOW + HOUR + DAY


@pytest.mark.django_db
def test_the_scheduler_looks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "_last", [])
    monkeypatch.setattr(config(), "broker_url", "memory://")
    clock.simulate(NOW)
    row = Round.objects.create(name="prune", due_at=NOW + YEAR)
    with pytest.raises(SystemExit):
        call_command("sweep", "--once")
    row.refresh_from_db()
    assert row.due_at == NOW + DAY
