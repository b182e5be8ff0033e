"""What rows propose for a dataset, and what the stage ``accept`` accepts of it for the tiers of the operator."""

from datetime import timedelta

import pytest

from assay import clock
from assay.catalog.corrections import correct, origins_of
from assay.config import config
from assay.models import AuditEntry, Dataset, Round
from execution_engine.models import Heartbeat, TableCommit
from incident_manager import tasks
from incident_manager.proposed_values.services import proposed_values
from test_generator.models import OfferState, PastReading
from tests.factories import DAY, HOUR, NOW, DatasetFactory, OfferFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def trips() -> Dataset:
    """Without a key and an SLA; loaded each night at two, for three weeks."""
    row: Dataset = DatasetFactory.create(name="trips", tier=3, primary_key=[])
    OfferFactory.create(dataset=row, rule="Key", columns=["id"], assertion="uniqueness(id) = 1")
    midnight = NOW.replace(hour=0)
    TableCommit.objects.bulk_create(
        TableCommit(dataset=row, at=midnight - day * DAY + 2 * HOUR + day % 3 * timedelta(minutes=5))
        for day in range(21)
    )
    return row


def values(dataset: Dataset) -> dict[str, object]:
    dataset.refresh_from_db()
    return {proposed.field: proposed.value for proposed in proposed_values(dataset, now=NOW)}


def accept(tier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "accept_proposals", [tier])
    Round.objects.update_or_create(name="accept", defaults={"due_at": NOW})
    clock.simulate(NOW)
    assert tasks.accept() == 1


def test_a_key_that_held_and_the_commits_of_three_weeks_propose_a_key_and_an_sla(trips: Dataset) -> None:
    key, freshness = proposed_values(trips, now=NOW)
    assert (key.field, key.value) == ("primary_key", ["id"])
    assert (freshness.patch, freshness.evidence) == (
        {"slas": {"freshness": "3h"}},
        "By its commits: its last 20 partitions were complete 2h 5m after their end as a rule, and 2h 10m at most."
        " Without an SLA, its tier allows 12h.",
    )


def test_folders_propose_a_partition_that_can_be_accepted(trips: Dataset) -> None:
    Dataset.objects.update(partition_column="", granularity="")
    partition = {"column": "day", "granularity": "day", "first": "2026-02-18"}
    folders = {"partition": partition, "count": 21, "last": "2026-03-10"}
    Heartbeat.objects.create(dataset=trips, datacenter="sea", folders=folders)
    proposed = values(trips)
    assert proposed == {"primary_key": ["id"], "partition": partition}
    correct("raw.trips", {"partition": proposed["partition"]}, now=NOW)
    assert set(values(trips)) == {"primary_key", "slas.freshness"}


def test_what_sources_or_people_say_is_not_proposed(trips: Dataset) -> None:
    correct("raw.trips", {"slas": {"freshness": "5h"}, "primary_key": []}, now=NOW)
    assert values(trips) == {}


def test_a_rejected_key_and_one_of_a_sensitive_column_are_not_proposed(trips: Dataset) -> None:
    trips.offers.update(state=OfferState.REJECTED)
    assert "primary_key" not in values(trips)
    trips.offers.update(state=OfferState.OFFERED)
    correct("raw.trips", {"columns": {"id": {"type": "bigint", "sensitive": True}}}, now=NOW)
    assert "primary_key" not in values(trips)


def test_a_policy_fills_in_its_tiers_alone_and_the_audit_says_so(
    trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(2, monkeypatch)
    assert set(values(trips)) == {"primary_key", "slas.freshness"}
    accept(3, monkeypatch)
    assert values(trips) == {}
    assert (trips.primary_key, trips.freshness_sla) == (["id"], 3 * HOUR)
    entries = AuditEntry.objects.filter(action="dataset.correct", actor="assay", via="policy")
    assert {(entry.given["field"], entry.given["policy"]) for entry in entries} == {
        ("primary_key", "ASSAY_ACCEPT_PROPOSALS"),
        ("slas.freshness", "ASSAY_ACCEPT_PROPOSALS"),
    }
    correct("raw.trips", {"primary_key": ["fare"], "description": "Rides."}, now=NOW + HOUR)
    trips.refresh_from_db()
    policies = {origin.field: origin.policy for origin in origins_of(trips) if origin.is_corrected}
    assert policies == {"slas.freshness": "ASSAY_ACCEPT_PROPOSALS", "primary_key": "", "description": ""}


def test_what_somebody_took_back_from_the_policy_stays_so(trips: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(3, monkeypatch)
    correct("raw.trips", {"primary_key": None}, now=NOW)
    accept(3, monkeypatch)
    assert set(values(trips)) == {"primary_key"}


def test_a_policy_has_the_past_of_a_table_read_whose_key_lacks_evidence_once_in_four_weeks(
    trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(3, monkeypatch)
    assert not PastReading.objects.exists()  # it has a key by now
    DatasetFactory.create(tier=3, primary_key=[], partition_column="", granularity="")  # it has no past
    lacking = DatasetFactory.create(tier=3, primary_key=[])
    accept(3, monkeypatch)
    reading = PastReading.objects.get()
    assert (reading.dataset, reading.asked_by, reading.ended_at) == (lacking, "assay", None)
    PastReading.objects.update(ended_at=NOW)
    accept(3, monkeypatch)
    assert PastReading.objects.get().ended_at == NOW
    PastReading.objects.update(asked_at=NOW - 28 * DAY)
    accept(3, monkeypatch)
    assert PastReading.objects.get().ended_at is None
