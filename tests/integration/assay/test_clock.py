"""Domain time and the database's: what is asked for, and what is remembered."""

from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay import clock
from tests.factories import HOUR, NOW

pytestmark = pytest.mark.django_db


def test_the_databases_time_is_what_the_database_tells() -> None:
    sql = "strftime('%Y-%m-%d %H:%M:%f', 'now')" if connection.vendor == "sqlite" else "UTC_TIMESTAMP(6)"
    before = clock.database_now()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}")
        told = clock.instant_of(cursor.fetchone()[0])
    assert before <= told <= clock.database_now()
    assert before.tzinfo is UTC


def test_a_server_is_asked_for_its_time_and_a_library_in_this_process_is_not() -> None:
    with CaptureQueriesContext(connection) as asked:
        clock.database_now()
    assert len(asked) == (0 if connection.vendor == "sqlite" else 1)


def test_a_time_that_is_held_is_not_asked_for_until_it_is_let_go() -> None:
    clock.simulate(NOW)
    with clock.held(NOW), CaptureQueriesContext(connection) as asked:
        assert [clock.now() for _ in range(9)] == [NOW] * 9
    assert (len(asked), clock.is_held()) == (0, False)
    clock.simulate(NOW + HOUR)
    assert clock.now() == NOW + HOUR


def test_who_sets_the_clock_while_it_is_held_is_heard() -> None:
    with clock.held(NOW):
        clock.simulate(NOW + HOUR)
        assert clock.now() == NOW + HOUR
        clock.stop_simulating()
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=5)
    assert not clock.is_held()


def test_another_thread_asks_for_itself() -> None:
    held = []
    with clock.held(NOW):
        asking = Thread(target=lambda: held.append(clock.is_held()))
        asking.start()
        asking.join()
    assert held == [False]
