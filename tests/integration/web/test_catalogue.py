"""The catalogue of a large company."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from alerting.models import Standing
from assay import clock
from assay.access import Role
from assay.models import AuditEntry, Dataset, Member
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.quality.now import MOST_NAMED, facts_now, statuses_now
from incident_manager.quality.rules import QualityStatus
from incident_manager.scores.metric_reporter import data_qualities
from incident_manager.services import confirm_report, report
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.story import due
from web.pages.catalogue import catalogue, changes, summary
from web.pages.days import day_grid, strips
from web.pages.incident import IncidentState, listed_incidents
from web.rendering.status import RANK as LOOK_RANK
from web.rendering.status import DisplayStatus

pytestmark = pytest.mark.django_db
LAST = day("2026-03-09")
LATELY = (IncidentState.OPENED_LATELY, IncidentState.RESOLVED_LATELY)


def _broken(name: str, state: str = "FAIL") -> Dataset:
    dataset = DatasetFactory.create(name=name, tier=5)
    outcome = {"PASS": "held", "UNKNOWN": ""}.get(state, "broken")
    StandingFactory.create(data_test=DataTestFactory.create(dataset=dataset), state=state, last_outcome=outcome)
    return dataset


def _shown(**filters: Any) -> list[dict[str, Any]]:
    return list(catalogue(_all_names(), _statuses(), **filters, now=NOW))


def _all_names() -> dict[int, str]:
    return dict(Dataset.objects.values_list("pk", "full_name"))


def _statuses() -> dict[int, QualityStatus]:
    return statuses_now(_all_names(), now=NOW)


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
    assert row["signs"] == [("custom", DisplayStatus.FAIL)]


def test_the_quality_is_that_without_an_open_real_incident() -> None:
    real, forced = _broken("real"), _broken("wrong_test")
    IncidentFactory.create(dataset=real, detected_at=NOW - 7 * 4 * (day("2026-03-09").duration / 10))
    IncidentFactory.create(dataset=forced, open_key=None, resolved_at=NOW, resolution="forced")
    rows = _shown()
    assert {row["dataset"].name: row["quality"] for row in rows} == {"real": pytest.approx(0.9), "wrong_test": 1.0}


def test_the_quality_of_a_dataset_is_the_same_alone_and_among_very_many() -> None:
    dataset = _broken("trips")
    IncidentFactory.create(dataset=dataset, detected_at=NOW - DAY)
    alone = data_qualities([dataset.pk], now=NOW)
    others = range(dataset.pk + 1, dataset.pk + 1 + MOST_NAMED)
    assert data_qualities([dataset.pk, *others], now=NOW) == alone | dict.fromkeys(others)
    assert 0 < (alone[dataset.pk] or 0) < 1


def test_two_thousand_datasets_need_no_more_statements_than_two() -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            statuses = _statuses()
            catalogue(_all_names(), statuses, now=NOW), summary(statuses), changes(statuses, now=NOW)
        return len(seen)

    DatasetFactory.create_batch(2)
    few = statements()
    at: dict[str, Any] = {"owner": "o", "created_at": NOW, "changed_at": NOW}
    at |= {"partition_column": "datestr", "granularity": "day"}
    names = [{"name": f"{n}", "full_name": f"n.{n}", "name_key": f"{n}"} for n in range(2000)]
    Dataset.objects.bulk_create(Dataset(namespace="n", **name, **at) for name in names)
    assert statements() == few <= 28


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("name", ["apples", "berries", "corn"]),
        ("-name", ["corn", "berries", "apples"]),
        ("status", ["corn", "apples", "berries"]),
        ("-status", ["apples", "berries", "corn"]),
        ("owner", ["berries", "corn", "apples"]),
        ("tier", ["corn", "berries", "apples"]),
        ("quality", ["corn", "apples", "berries"]),
    ],
)
def test_rows_are_sorted_by_what_the_reader_chooses(sort: str, names: list[str]) -> None:
    for name, state, tier, owner in (
        ("apples", "PASS", 5, "zoe"),
        ("berries", "PASS", 3, "ada"),
        ("corn", "FAIL", 1, "Bo"),
    ):
        dataset = _broken(name, state)
        Dataset.objects.filter(pk=dataset.pk).update(tier=tier, owner=owner)
    IncidentFactory.create(dataset=Dataset.objects.get(name="corn"), detected_at=NOW - DAY)
    assert _names(sort=sort) == names


def test_a_row_says_why_by_its_incident_or_by_its_worst_reason() -> None:
    failing, warning = _broken("failing"), _broken("warning", "WARN")
    incident = IncidentFactory.create(dataset=failing)
    SpoiltWindowFactory.create(incident=incident, data_test=failing.data_tests.get(), window=LAST)
    rows = {row["dataset"].name: row for row in _shown()}
    assert (rows["failing"]["incident"], warning.pk) == (incident, rows["warning"]["dataset"].pk)
    assert "2026-03-09" in rows["failing"]["why"]
    assert rows["warning"]["why"] == "Custom is broken (WARN): no incident yet"


def test_a_strip_has_the_worst_of_each_day_of_the_page_of_its_dataset() -> None:
    dataset = DatasetFactory.create()
    tests = DataTestFactory.create_batch(2, dataset=dataset, created_at=NOW - 20 * DAY)
    for number, state in enumerate(["PASS", "PASS", "FAIL", "WARN", "PASS", "UNKNOWN", "UNTESTED", "LEARNING"]):
        window = Window(start=LAST.start - number * DAY, end=LAST.end - number * DAY)
        outcome = "broken" if state in ("FAIL", "WARN") else "held" if state == "PASS" else ""
        StandingFactory.create(data_test=tests[number % 2], window=window, state=state, last_outcome=outcome)
        StandingFactory.create(data_test=tests[1 - number % 2], window=window)
    StandingFactory.create(data_test=tests[0], window=day("2026-02-20"))
    facts = facts_now({dataset.pk: dataset.full_name}, now=NOW)[dataset.pk]
    grid = day_grid(dataset, facts, now=NOW)
    worst = [min((row["days"][at].status for row in grid["rows"]), key=LOOK_RANK.__getitem__) for at in range(28)]
    stretches = strips([dataset], now=NOW)[dataset.pk]
    assert [stretch.status for stretch in stretches for _ in range(stretch.count)] == worst
    assert (stretches[0].first, stretches[-1].last) == (grid["labels"][0], f"{grid['labels'][-1]}, today")
    assert stretches[-2].title == "2026-03-08 to 2026-03-09, yesterday: pass"
    assert len(set(worst)) >= 5


def test_the_readers_own_datasets_come_first_where_there_are_any(user: User, pages: Client) -> None:
    DatasetFactory.create(name="others", team="trips")
    assert _links(pages.get("/")) == ["raw.others"]
    DatasetFactory.create(name="own", owner=user.username)
    DatasetFactory.create(name="of_the_team", team="night")
    Member.objects.filter(user=user).update(teams=["night"])
    assert _links(pages.get("/")) == ["raw.of_the_team", "raw.own"]
    assert _links(pages.get("/", {"whose": "all"})) == ["raw.of_the_team", "raw.others", "raw.own"]
    assert _links(pages.get("/", {"q": "others"})) == ["raw.others"]


def test_a_dataset_that_one_may_not_see_has_no_row_and_is_not_counted(pages: Client) -> None:
    Member.objects.update(role=Role.VIEWER)
    DatasetFactory.create(name="closed", readers="user:boss")
    DatasetFactory.create(name="public")
    answer = pages.get("/")
    assert (_links(answer), answer.context["summary"]["datasets"]) == (["raw.public"], 1)


def test_what_changed_in_a_day_is_counted_and_listed() -> None:
    broke, was_broken, healed = _broken("broke"), _broken("was_broken"), _broken("healed", "PASS")
    Standing.objects.update(broken_since=NOW - HOUR)
    Standing.objects.filter(data_test__dataset=was_broken).update(broken_since=NOW - 2 * DAY)
    IncidentFactory.create(dataset=broke, detected_at=NOW - HOUR)
    IncidentFactory.create(dataset=was_broken, detected_at=NOW - 2 * DAY)
    ended = {"open_key": None, "resolved_at": NOW - HOUR, "resolution": "auto"}
    IncidentFactory.create(dataset=healed, detected_at=NOW - 2 * DAY, **ended)
    since = changes(_statuses(), now=NOW)
    assert (since.opened, since.resolved) == (1, 1)
    assert (set(since.bad), set(since.good)) == ({broke.pk}, {healed.pk})
    assert _names(changed=QualityStatus.BAD, changes=since) == ["broke"]
    assert _names(changed=QualityStatus.GOOD, changes=since) == ["healed"]
    lately = [listed_incidents(state=state, since=NOW - DAY)["rows"] for state in LATELY]
    assert [[row.dataset.name for row in rows] for rows in lately] == [["broke"], ["healed"]]


def test_the_first_day_offers_to_test_the_past_of_many_datasets_in_one_request(
    client: Client, admin_user: User
) -> None:
    client.force_login(admin_user)
    clock.simulate(due(LAST))
    for name in ("trips", "fares"):
        DataTestFactory.create(dataset=DatasetFactory.create(name=name, first_partition="2026-03-01"))
    page = client.get("/").content.decode()
    assert "2 datasets: 18 runs by 18 scans of a partition each, which page nobody." in page
    assert client.post("/first-runs").status_code == 302
    assert Run.objects.filter(reason="backfill").count() == 18
    assert AuditEntry.objects.filter(action="run.bulk").count() == 2
    assert "Nothing has been tested yet" not in client.get("/").content.decode()


def test_pages_are_numbered_and_as_long_as_one_likes(pages: Client) -> None:
    DatasetFactory.create_batch(60)
    page = pages.get("/?size=25&page=2&sort=name").content.decode()
    assert "26 to 50 of 60" in page
    assert 'href="?size=25&amp;page=3&amp;sort=name"' in page
    assert page.count('<th scope="row">') == 25


def _links(answer: Any) -> list[str]:
    return sorted(row["dataset"].full_name for row in answer.context["catalogue"])


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
