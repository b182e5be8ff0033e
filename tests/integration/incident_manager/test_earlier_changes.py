"""What an incident's page tells of the two days before it began."""

from typing import Any

import pytest

from assay.models import AuditEntry, Dataset, Deploy, Revision
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.models import Measurement
from execution_engine.planning.planner import hash_of
from incident_manager.incidents.earlier_changes import ChangeOf, EarlierChange, earlier_changes
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def trips() -> Dataset:
    """A table that raw.events feeds."""
    table: Dataset = DatasetFactory.create(name="trips")
    LineageEdgeFactory.create(upstream=DatasetFactory.create(name="events"), downstream=table)
    return table


def changes(trips: Dataset, *, hidden: tuple[int, ...] = ()) -> list[EarlierChange]:
    return earlier_changes(IncidentFactory.create(dataset=trips, detected_at=NOW), hidden=hidden)


def test_of_its_metadata_columns_and_tests_what_changed_in_the_two_days_before_is_told(trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips, name="paid")
    first = Revision.objects.get(data_test=test)
    of_test = {name: getattr(first, name) for name in ("assertion", "tree", "severity", "schedule", "sustain")}
    for number, hours in ((2, 90), (3, 5)):
        at = NOW - hours * HOUR
        Revision.objects.create(data_test=test, number=number, created_at=at, author="ada", **of_test)
    for hours in (100, 3):
        AuditEntry.objects.create(
            at=NOW - hours * HOUR,
            actor="bo",
            via="token",
            action="dataset.push",
            object_kind="dataset",
            object_id="raw.trips",
            before={"owner": "ada"},
            after={"owner": "bo"},
        )
    trips.declared = {"id": (NOW - 90 * DAY).isoformat(), "fare": (NOW - HOUR).isoformat()}
    trips.save()
    assert [(change.kind, change.subject, change.author, change.fields) for change in changes(trips)] == [
        (ChangeOf.COLUMN, "fare", "", ()),
        (ChangeOf.CATALOG, "raw.trips", "bo", ("owner",)),
        (ChangeOf.REVISION, "paid", "ada", ()),
    ]


def test_deploys_that_touch_it_are_told_whether_by_name_pattern_owner_or_team(trips: Dataset) -> None:
    Dataset.objects.filter(pk=trips.pk).update(owner="ada", team="fares")
    trips.refresh_from_db()
    other = Dataset.objects.get(full_name="raw.events")
    scopes: list[dict[str, Any]] = [
        *({"dataset": trips}, {"pattern": "RAW.t*"}, {"owner": "ada"}, {"owner": "fares"}),
        *({"dataset": other}, {"pattern": "mart.*"}, {"owner": "bo"}),
    ]
    for number, scope in enumerate(scopes):
        Deploy.objects.create(version=f"v{number}", at=NOW - number * HOUR, author="ci", url="https://git/x", **scope)
    Deploy.objects.create(version="old", at=NOW - 49 * HOUR, author="ci", dataset=trips)
    deploys = [change for change in changes(trips) if change.kind is ChangeOf.DEPLOY]
    assert [change.subject for change in deploys] == ["v0", "v1", "v2", "v3"]
    assert (deploys[0].author, deploys[0].url) == ("ci", "https://git/x")


def test_the_columns_of_a_new_table_are_no_change(trips: Dataset) -> None:
    trips.declared = {"id": (NOW - HOUR).isoformat()}
    trips.save()
    assert changes(trips) == []


def test_of_upstreams_incidents_and_unusual_numbers_of_rows_are_told_to_who_may_read_them(trips: Dataset) -> None:
    events = Dataset.objects.get(full_name="raw.events")
    upstream = IncidentFactory.create(dataset=events, detected_at=NOW - 4 * HOUR)
    for days, rows in ((5, 100), (4, 100), (3, 110), (1, 40), (0, 105)):
        end = NOW - days * DAY
        Measurement.objects.create(
            dataset=events,
            datacenter="sea",
            spec=ALL_ROWS.to_json(),
            spec_hash=hash_of(ALL_ROWS),
            spec_text=ALL_ROWS.text,
            requested_at=end,
            measured_at=end,
            value=rows,
            window_start=end - DAY,
            window_end=end,
        )
    volume = EarlierChange(kind=ChangeOf.VOLUME, at=NOW - DAY, subject="raw.events", was=100, now=40)
    of_upstream = EarlierChange(kind=ChangeOf.UPSTREAM, at=NOW - 4 * HOUR, subject="raw.events", incident=upstream)
    incident = IncidentFactory.create(dataset=trips, detected_at=NOW)
    assert earlier_changes(incident) == [of_upstream, volume]
    assert earlier_changes(incident, hidden=(events.pk,)) == []
