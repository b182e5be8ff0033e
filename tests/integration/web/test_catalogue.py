"""The catalogue of a large company."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assay.models import Dataset
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import QualityStatus
from incident_manager.services import confirm_report, report
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, RunFactory, StandingFactory, day
from web.pages.catalogue import catalogue, summary
from web.rendering.status import DisplayStatus

pytestmark = pytest.mark.django_db
LAST = day("2026-03-09")


def _broken(name: str, state: str = "FAIL") -> Dataset:
    dataset = DatasetFactory.create(name=name, tier=5)
    outcome = {"PASS": "held", "UNKNOWN": ""}.get(state, "broken")
    StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset), state=state, last_outcome=outcome)
    return dataset


def _shown(**filters: Any) -> list[dict[str, Any]]:
    return list(catalogue(_statuses(), **filters, now=NOW))


def _statuses() -> dict[int, QualityStatus]:
    return statuses_now(dict(Dataset.objects.values_list("pk", "full_name")), now=NOW)


def _names(**filters: Any) -> list[str]:
    return [row["dataset"].name for row in _shown(**filters)]


def test_the_worst_status_comes_first_and_names_part_those_of_one_status() -> None:
    _broken("good_b", "PASS"), _broken("good_A", "PASS")
    DatasetFactory.create(name="untested", tier=0)
    report(dataset=_broken("reported", "PASS"), window=LAST, reporter="eve", description="doubled", now=NOW)
    _broken("unread", "UNKNOWN")
    _broken("warning", "WARN")
    IncidentFactory.create(dataset=_broken("z_failing"))
    IncidentFactory.create(dataset=_broken("failing"))
    assert _names() == ["failing", "warning", "z_failing", "unread", "reported", "untested", "good_A", "good_b"]


def test_the_worst_is_on_the_first_of_many_pages() -> None:
    DatasetFactory.create_batch(60)
    _broken("zz")
    assert (_names()[0], len(_names(page=2))) == ("zz", 11)


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("bad", ["claimed", "failing", "warning"]),
        ("unknown", ["unread"]),
        ("reported", ["doubted"]),
        ("untested", ["empty", "new"]),
        ("good", ["good"]),
    ],
)
def test_filter_counter_and_row_say_the_same_of_each_dataset(status: str, names: list[str]) -> None:
    _broken("failing"), _broken("warning", "WARN"), _broken("good", "PASS"), _broken("unread", "UNKNOWN")
    DatasetFactory.create(name="empty", tier=5)
    DataTestFactory.create(dataset=DatasetFactory.create(name="new", tier=5), created_at=NOW)
    for name in ("claimed", "doubted"):
        claim = report(dataset=_broken(name, "PASS"), window=LAST, reporter="eve", description="doubled", now=NOW)
        if name == "claimed":
            confirm_report(claim, author="ada", now=NOW)
    shown = DisplayStatus(status)
    assert (sorted(_names(status=shown)), {row["status"] for row in _shown(status=shown)}) == (names, {status})
    assert summary(_statuses())[status] == len(names)


def test_what_is_due_and_still_runs_is_unknown() -> None:
    RunFactory.create(data_test=DataTestFactory.create(), window=LAST, judged_at=None, evaluated_at=None, outcome="")
    assert summary(_statuses())["unknown"] == 1


def test_the_catalogue_is_filtered_by_words_and_tier() -> None:
    DatasetFactory.create(name="trips", tier=1, owner="ada")
    DatasetFactory.create(name="trips_old", tier=4, owner="ada")
    DatasetFactory.create(name="fares", tier=1, owner="joan")
    assert _names(q="RAW.trips ada", tier=1) == ["trips"]


def test_a_pass_of_today_does_not_hide_a_failure_of_last_year() -> None:
    test = DataTestFactory.create()
    StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken", window=day("2025-01-01"))
    StandingFactory.create(data_test=test, window=day("2026-03-09"))
    (row,) = _shown()
    assert {cell.status for cell in row["cells"]} == {DisplayStatus.FAIL, DisplayStatus.NONE}


def test_the_quality_is_that_without_an_open_real_incident() -> None:
    real, forced = _broken("real"), _broken("wrong_test")
    IncidentFactory.create(dataset=real, detected_at=NOW - 7 * 4 * (day("2026-03-09").duration / 10))
    IncidentFactory.create(dataset=forced, open_key=None, resolved_at=NOW, resolution="forced")
    rows = _shown()
    assert {row["dataset"].name: row["quality"] for row in rows} == {"real": pytest.approx(0.9), "wrong_test": 1.0}


def test_two_thousand_datasets_need_no_more_statements_than_two() -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            statuses = _statuses()
            catalogue(statuses, now=NOW), summary(statuses)
        return len(seen)

    DatasetFactory.create_batch(2)
    few = statements()
    at: dict[str, Any] = {"owner": "o", "created_at": NOW, "changed_at": NOW}
    names = [{"name": f"{n}", "full_name": f"n.{n}", "name_key": f"{n}"} for n in range(2000)]
    Dataset.objects.bulk_create(Dataset(namespace="n", **name, **at) for name in names)
    assert statements() == few <= 18


def test_every_page_answers_whatever_is_in_its_address(pages: Client) -> None:
    dataset = _broken("trips")
    for address in (
        "/?tier=x&status=y&page=z",
        "/?page=99999999999999999999",
        "/?q=%00",
        "/scores?days=many",
        f"/datasets/{dataset.full_name}?test=abc",
    ):
        assert pages.get(address).status_code == 200, address
    for address in ("/datasets/raw.nothing", "/incidents/123456", "/incidents/1/steal"):
        assert pages.get(address).status_code == 404, address


@pytest.mark.parametrize("page", ["/", "/incidents"])
def test_a_search_that_cannot_be_read_leaves_the_box_empty(pages: Client, page: str) -> None:
    assert 'value="None"' not in pages.get(page, {"q": "x" * 201}).content.decode()
