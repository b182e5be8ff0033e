"""What two workers do at once is done once."""

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection

from alerting.models import Alert
from assay.queue.claims import in_transaction
from incident_manager.incidents.services import incident_for
from incident_manager.models import Incident
from tests.factories import day
from tests.integration.story import due, new_table, new_test

pytestmark = pytest.mark.django_db(transaction=True)

MONDAY = day("2026-03-09")


def at_once(*bodies: Callable[[], None]) -> None:
    """Run each body in its own thread, transaction and connection, all starting together."""
    barrier = Barrier(len(bodies))

    def run(body: Callable[[], None]) -> None:
        barrier.wait()
        try:
            in_transaction(body)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_tests_that_fail_at_once_share_one_incident_and_one_alert() -> None:
    table = new_table()
    tests = [new_test(dataset=table, sustain=timedelta(0)) for _ in range(4)]
    found: list[Incident] = []
    at_once(
        *(lambda test=test: found.append(incident_for(test, failed_at=due(MONDAY), now=due(MONDAY))) for test in tests)
    )
    assert len(found) == 4
    assert (Incident.objects.count(), Alert.objects.count()) == (1, 1)
    assert {incident.pk for incident in found} == {Incident.objects.get().pk}
