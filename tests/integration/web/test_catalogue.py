"""The catalogue of a large company."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assay import clock
from assay.models import Dataset
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, StandingFactory, day
from web.pages.selectors.catalogue import Wanted, catalogue, summary
from web.pages.status import Status


def _broken(name: str, state: str = "FAIL") -> Dataset:
    dataset = DatasetFactory.create(name=name, tier=5)
    StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset), state=state)
    return dataset


def _names(wanted: Wanted) -> list[str]:
    return [row.dataset.name for row in catalogue(wanted, page=1, now=NOW).rows]


def test_datasets_with_open_incidents_come_first_then_the_critical(db: None) -> None:
    DatasetFactory.create(name="a_critical", tier=0)
    DatasetFactory.create(name="b_plain", tier=3)
    IncidentFactory.create(dataset=_broken("z_broken"))
    assert _names(Wanted()) == ["z_broken", "a_critical", "b_plain"]


@pytest.mark.parametrize(
    ("status", "names"),
    [
        (Status.FAIL, ["failing"]),
        (Status.WARN, ["warning"]),
        (Status.PASS, ["empty", "good"]),
        (Status.UNTESTED, ["empty"]),
    ],
)
def test_the_catalogue_is_filtered_by_status(db: None, status: Status, names: list[str]) -> None:
    _broken("failing"), _broken("warning", "WARN"), _broken("good", "PASS"), DatasetFactory.create(name="empty", tier=5)
    assert _names(Wanted(status=status)) == names


def test_the_catalogue_is_filtered_by_words_and_tier(db: None) -> None:
    DatasetFactory.create(name="trips", tier=1, owner="ada")
    DatasetFactory.create(name="trips_old", tier=4, owner="ada")
    DatasetFactory.create(name="fares", tier=1, owner="joan")
    assert _names(Wanted(text="RAW.trips ada", tier=1)) == ["trips"]


def test_a_pass_of_today_does_not_hide_a_failure_of_last_year(db: None) -> None:
    test = DataTestFactory.create()
    StandingFactory.create(data_test=test, state="FAIL", window=day("2025-01-01"))
    StandingFactory.create(data_test=test, window=day("2026-03-09"))
    (row,) = catalogue(Wanted(), page=1, now=NOW).rows
    assert {cell.status for cell in row.cells} == {Status.FAIL, Status.NONE}


def test_the_clean_time_is_that_without_an_open_real_incident(db: None) -> None:
    real, forced = DatasetFactory.create(tier=0), DatasetFactory.create(tier=1)
    IncidentFactory.create(dataset=real, detected_at=NOW - 7 * 4 * (day("2026-03-09").duration / 10))
    IncidentFactory.create(dataset=forced, open_key=None, resolved_at=NOW, resolution="forced")
    rows = catalogue(Wanted(), page=1, now=NOW).rows
    assert [round(row.clean, 6) for row in rows] == [0.9, 1.0]


def test_two_thousand_datasets_need_no_more_statements_than_two(db: None) -> None:
    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            catalogue(Wanted(), page=1, now=NOW), summary()
        return len(seen)

    DatasetFactory.create_batch(2)
    few = statements()
    rows = [
        Dataset(namespace="n", name=str(i), full_name=f"n.{i}", owner="o", created_at=NOW, changed_at=NOW)
        for i in range(2000)
    ]
    Dataset.objects.bulk_create(rows)
    assert statements() == few <= 12


def test_every_page_answers_whatever_is_in_its_address(client: Client, django_user_model: object) -> None:
    clock.simulate(NOW)
    client.force_login(django_user_model.objects.create_user("grace"))  # type: ignore[attr-defined]
    dataset = _broken("trips")
    for address in (
        "/?tier=x&status=y&page=z",
        "/?page=99999999999999999999",
        "/?q=%00",
        "/scores?days=many",
        f"/datasets/{dataset.full_name}?test=abc",
    ):
        assert client.get(address).status_code == 200, address
    for address in ("/datasets/raw.nothing", "/incidents/123456", "/incidents/1/steal"):
        assert client.get(address).status_code == 404, address


def test_no_page_allows_a_script_that_is_not_ours(client: Client, django_user_model: object) -> None:
    client.force_login(django_user_model.objects.create_user("grace"))  # type: ignore[attr-defined]
    answer = client.get("/")
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
