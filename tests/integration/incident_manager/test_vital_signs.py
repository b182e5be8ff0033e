"""Who hears of a table that is out of its bounds, and when."""

from uuid import uuid4

import pytest

from alerting.models import Notice
from assay import clock
from assay.models import Dataset
from assay.scheduler.beat import begin_rounds
from execution_engine.models import BlastRadius, Heartbeat
from incident_manager import tasks
from incident_manager.digests import figures_of, text
from incident_manager.models import LookUp
from incident_manager.vital_signs import MUCH_READ, importance_of
from tests.factories import DAY, HOUR, NOW, DatasetFactory, IncidentFactory

pytestmark = pytest.mark.django_db
HALF = {
    **{"value": 450.0, "low": 900.0, "high": 1100.0, "unit": "rows", "per": "commit"},
    "start": (NOW - DAY).isoformat(),
}


def heartbeat(dataset: Dataset, **signs: object) -> Heartbeat:
    usual = {"last_commit_at": NOW - DAY, "late_at": NOW + HOUR, "next_look_at": NOW + HOUR}
    return Heartbeat.objects.create(dataset=dataset, datacenter="sea", **{**usual, **signs})


def ask(dataset: Dataset, times: int) -> None:
    window = {"window_start": NOW, "window_end": NOW + DAY}
    LookUp.objects.bulk_create(
        LookUp(query=uuid4(), dataset=dataset, at=NOW - HOUR, failed=False, **window) for _ in range(times)
    )


def stand_on(dataset: Dataset) -> None:
    BlastRadius.objects.create(dataset=dataset, downstreams=1, by_tier=[0] * 6, roots=0, depth=1)


def notices() -> list[tuple[str, str]]:
    clock.simulate(NOW)
    begin_rounds(NOW)
    clock.simulate(NOW + HOUR)
    tasks.signs()
    return list(Notice.objects.values_list("recipient", "subject"))


def test_the_digest_names_unusual_tables_the_most_important_first() -> None:
    heartbeat(DatasetFactory.create(name="late"), late_at=NOW - HOUR)
    half = heartbeat(DatasetFactory.create(name="half"), is_unusual=True, volume=HALF).dataset
    heartbeat(DatasetFactory.create(name="sound"))
    heartbeat(DatasetFactory.create(name="obsolete"), late_at=NOW - HOUR, obsolete_since=NOW)
    stand_on(half)
    assert figures_of("trips", now=NOW).signs == [
        "raw.half: the load of 2026-03-09 12:00 brought 450 rows: 900 to 1,100 are usual",
        "raw.late: no commit since 2026-03-09 12:00 UTC: the next one usually comes by 2026-03-10 11:00 UTC",
    ]
    assert "Unusual tables\n- raw.half" in text(figures_of("trips", now=NOW))


def test_a_table_with_an_open_incident_is_not_named_again() -> None:
    late = heartbeat(DatasetFactory.create(), late_at=NOW - HOUR).dataset
    IncidentFactory.create(dataset=late)
    assert figures_of("trips", now=NOW).signs == []


def test_the_owner_of_a_table_that_is_read_much_hears_at_once_and_once() -> None:
    much, little = (heartbeat(DatasetFactory.create(), late_at=NOW - HOUR).dataset for _ in range(2))
    ask(much, MUCH_READ)
    ask(little, MUCH_READ - 1)
    (subject,) = {subject for recipient, subject in notices() if recipient == "ada"}
    assert subject.startswith(f"Unusual: {much.full_name}: no commit since")
    count = Notice.objects.count()
    clock.simulate(NOW + 2 * HOUR)
    tasks.signs()
    assert Notice.objects.count() == count


def test_importance_is_who_asks_then_what_is_made_of_it_then_the_tier() -> None:
    asked, upstream, critical, other = (DatasetFactory.create(tier=tier) for tier in (3, 3, 0, 5))
    ask(asked, 1)
    stand_on(upstream)
    importance = importance_of(None, NOW)
    assert sorted(importance, key=lambda pk: importance[pk], reverse=True) == [
        *(asked.pk, upstream.pk, critical.pk, other.pk)
    ]
