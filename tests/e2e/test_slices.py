"""Rows of one city vanish from a real table: the incident, its notice and the API name the city by themselves."""

import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Notice, SliceSearch
from assay import clock
from assay.access import Role
from assay.models import AccessToken, Category, Dataset, DataTest, Member
from assay.queue.drain import advance, drain
from execution_engine.models import RunReason
from execution_engine.services import request_run
from incident_manager.models import Incident
from tests.factories import HOUR, NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory, day

pytestmark = pytest.mark.django_db
CITIES, SOURCES = ("Oslo", "Rome", "Lima", "Bonn"), ("web", "app")
BROKEN = "2026-03-09"  # a Monday
COLUMNS = [
    {"name": "id", "type": "bigint"},
    {"name": "city", "type": "string"},
    {"name": "source", "type": "string"},
    {"name": "fare", "type": "double"},
]


def keys(weeks: int) -> list[str]:
    """The days of so many weeks before the broken one, the oldest first."""
    start = day(BROKEN).start
    return [f"{start - timedelta(days=before):%Y-%m-%d}" for before in range(7 * weeks, 0, -1)]


def trips(key: str) -> list[dict[str, Any]]:
    """A day's trips: four hundred of each city, give or take some."""
    chance = Random(f"trips of {key}")
    cities = [city for city in CITIES for _ in range(400 + chance.randrange(-15, 15))]
    return [
        {"id": at, "city": city, "source": chance.choice(SOURCES), "fare": chance.uniform(5, 50)}
        for at, city in enumerate(cities)
    ]


def land(table: Dataset, key: str, rows: list[dict[str, Any]]) -> None:
    folder = Path(table.replicas.get().location) / f"datestr={key}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "part-0.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    """Trips of three weeks and one day."""
    clock.simulate(NOW)
    row: Dataset = DatasetFactory.create(name="trips", columns=COLUMNS)
    row.replicas.update(location=str(tmp_path / "trips"))
    for key in (*keys(3), BROKEN):
        land(row, key, trips(key))
    return row


@pytest.fixture
def member(db: None) -> User:
    user = User.objects.create_user("grace", password="hopper")
    Member.objects.create(user=user, role=Role.ADMIN)
    return user


def breaks(table: Dataset, assertion: str, **more: Any) -> Incident:
    """The incident of a test that breaks on the day, once all stages have worked."""
    test: DataTest = DataTestFactory.create(
        dataset=table, name="enough", assertion=assertion, sustain=timedelta(0), **more
    )
    request_run(data_test=test, window=day(BROKEN), reason=RunReason.MANUAL, occasion="1", now=NOW)
    advance(NOW + HOUR)  # the grace of notices
    return Incident.objects.get(dataset=table)


def explanation(incident: Incident, member: User) -> Any:
    """As the API tells it."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(member)[1]}")
    answer = client.get(f"/api/v1/incidents/{incident.pk}")
    assert answer.status_code == 200, answer.content
    return answer.json()["explanation"]


def page(incident: Incident, member: User) -> str:
    return get(f"/incidents/{incident.pk}", member)


def get(address: str, member: User) -> str:
    client = Client()
    client.force_login(member)
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_rows_of_one_city_that_vanish_are_named_in_api_page_and_notice(table: Dataset, member: User) -> None:
    chance = Random(1)
    left = [row for row in trips(BROKEN) if row["city"] != "Rome" or chance.random() > 0.6]
    land(table, BROKEN, left)
    incident = breaks(table, "row_count() >= 1500")
    found = explanation(incident, member)
    (rome,) = found["slices"]
    assert (found["status"], rome["name"], rome["where"]) == ("slices", "city = 'Rome'", "city = 'Rome'")
    assert rome["seen"] == sum(row["city"] == "Rome" for row in left)
    assert (rome["expected"], rome["share_of_change"]) == (pytest.approx(400, abs=10), pytest.approx(1, abs=0.2))
    assert {row["column"]: row["reason"] for row in found["columns_left_out"]} == {
        "id": "more than 50 values",
        "fare": "its type is double",
    }
    shown = page(incident, member)
    assert "city = &#x27;Rome&#x27;" in shown
    (address,) = re.findall(r'href="(/datasets/raw.trips/tests/new[^"]+)"', shown)
    assert "anomaly(row_count(), last=28) &lt;= 1 by city" in get(unescape(address), member)
    assert "city = 'Rome': 25 % of the rows" in Notice.objects.filter(event="opened").first().body  # type: ignore[union-attr]


def test_rows_that_vanish_at_random_are_of_no_slice(table: Dataset, member: User) -> None:
    chance = Random(2)
    land(table, BROKEN, [row for row in trips(BROKEN) if chance.random() > 0.2])
    incident = breaks(table, "row_count() >= 1500")
    found = explanation(incident, member)
    assert (found["status"], found["slices"]) == ("none", [])
    assert found["sentence"].startswith("No slice explains it: city, source moved alike")
    assert found["sentence"] in page(incident, member)
    assert "slice" not in Notice.objects.filter(event="opened").first().body.lower()  # type: ignore[union-attr]


def test_values_that_go_missing_from_one_source_are_named(table: Dataset, member: User) -> None:
    rows = [row if row["source"] == "app" or row["id"] % 3 else row | {"fare": None} for row in trips(BROKEN)]
    land(table, BROKEN, rows)
    found = explanation(breaks(table, "completeness(fare) >= 99 %"), member)
    assert [row["name"] for row in found["slices"]] == ["source = 'web'"]
    assert found["slices"][0]["assertion"] == "anomaly(completeness(fare), last=28) <= 1 by source"


def test_columns_that_are_new_or_had_another_type_do_not_hide_the_others(table: Dataset, member: User) -> None:
    for at, key in enumerate(keys(3)):
        old = {"dock": f"dock {at % 3}"} if at < 10 else {"dock": 1, "channel": "web"}
        land(table, key, [row | old for row in trips(key)])
    new = {"dock": 1, "channel": "web"}
    land(table, BROKEN, [row | new for row in trips(BROKEN) if row["city"] != "Rome"])
    found = explanation(breaks(table, "row_count() >= 1500"), member)
    assert (found["columns_searched"], [row["name"] for row in found["slices"]]) == (
        ["city", "source"],
        ["city = 'Rome'"],
    )
    reasons = {row["column"]: row["reason"] for row in found["columns_left_out"]}
    assert reasons["dock"] == "its type is another on some of the windows"
    assert reasons["channel"] == "cannot be counted: unknown column"


def test_a_past_window_that_cannot_be_read_is_left_out(table: Dataset, member: User) -> None:
    (damaged,) = (Path(table.replicas.get().location) / "datestr=2026-03-04").iterdir()
    damaged.write_bytes(b"no parquet")
    land(table, BROKEN, [row for row in trips(BROKEN) if row["city"] != "Rome"])
    found = explanation(breaks(table, "row_count() >= 1500"), member)
    assert ([row["name"] for row in found["slices"]], found["past_windows"]) == (["city = 'Rome'"], 13)
    assert found["columns_searched"] == ["city", "source"]


def test_a_search_is_made_once_for_a_window_and_says_where_the_past_is_too_short(table: Dataset, member: User) -> None:
    for key in keys(3)[:14]:
        for part in (Path(table.replicas.get().location) / f"datestr={key}").iterdir():
            part.unlink()
    incident = breaks(table, "row_count() >= 2000")
    found = explanation(incident, member)
    assert found["status"] == "not searched"
    assert found["sentence"] == (
        "Not looked into: 5 like windows of the past are sound and there (23 more have no files), fewer than 7."
    )
    assert found["sentence"] in page(incident, member)
    request_run(
        data_test=DataTest.objects.get(), window=day(BROKEN), reason=RunReason.MANUAL, occasion="2", now=clock.now()
    )
    drain()
    assert SliceSearch.objects.count() == 1


def test_of_a_whole_that_did_not_move_no_share_is_shown(table: Dataset, member: User) -> None:
    land(table, BROKEN, [row for row in trips(BROKEN) if row["city"] != "Rome"])
    incident = breaks(table, "row_count() >= 1500")
    search = SliceSearch.objects.get()
    search.result["slices"][0]["share_of_change"] = None
    search.save()
    assert explanation(incident, member)["slices"][0]["share_of_change"] is None
    assert "<dt>Share of the change</dt><dd>–</dd>" in page(incident, member)


def test_values_of_a_column_that_became_sensitive_are_shown_no_more(table: Dataset, member: User) -> None:
    land(table, BROKEN, [row for row in trips(BROKEN) if row["city"] != "Rome"])
    incident = breaks(table, "row_count() >= 1500")
    assert "Rome" in explanation(incident, member)["sentence"]
    table.columns = [column | {"sensitive": column["name"] == "city"} for column in COLUMNS]
    table.save()
    assert explanation(incident, member)["status"] == "hidden"
    assert "Rome" not in page(incident, member).split("timeline-title")[0]


# What the slice behind a cause says of values below it.

DEAR = 400.0  # of a trip in Rome, where all others are below 50


@pytest.fixture
def clean(table: Dataset) -> Dataset:
    """Trips with dear ones in Rome; below them what is made of them; half of Monday's in Rome are lost in both."""
    above: Dataset = DatasetFactory.create(name="events", columns=COLUMNS)
    below: Dataset = DatasetFactory.create(name="clean", columns=COLUMNS, owner="grace")
    LineageEdgeFactory.create(upstream=table, downstream=below)
    for row in (above, below):
        row.replicas.update(location=str(Path(table.replicas.get().location).parent / row.name))
    for key in keys(3):
        land(table, key, dear(key))
        land(below, key, dear(key))
    land(above, BROKEN, dear(BROKEN))
    halved = [row for row in dear(BROKEN) if row["city"] != "Rome" or row["id"] % 2]
    land(table, BROKEN, halved)
    land(below, BROKEN, halved)
    return below


def dear(key: str) -> list[dict[str, Any]]:
    return [row | {"fare": DEAR} if row["city"] == "Rome" else row for row in trips(key)]


def breaks_below(table: Dataset, below: Dataset, *assertions: str, category: str = Category.CUSTOM) -> Incident:
    """The incident of tests below, beside that of the rows that are lost above."""
    for at, assertion in enumerate(assertions):
        DataTestFactory.create(
            dataset=below, name=f"usual-{at}", assertion=assertion, sustain=timedelta(0), category=category
        )
    if not Incident.objects.filter(dataset=table).exists():
        breaks(table, "row_count() / row_count(dataset='raw.events') >= 0.99", category=Category.COMPLETENESS)
    for test in below.data_tests.all():
        request_run(data_test=test, window=day(BROKEN), reason=RunReason.MANUAL, occasion="1", now=clock.now())
    advance(clock.now() + 2 * HOUR)
    return Incident.objects.get(dataset=below)


def owners() -> list[str]:
    """Who was told of an opening as the owner of what is broken."""
    return [notice.recipient for notice in Notice.objects.filter(event="opened", suppressed="").order_by("pk")]


def evidence(incident: Incident, member: User) -> Any:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(member)[1]}")
    return client.get(f"/api/v1/incidents/{incident.pk}").json()["evidence"]


def test_the_slice_that_is_lost_above_explains_the_count_and_the_mean_below(
    table: Dataset, clean: Dataset, member: User
) -> None:
    incident = breaks_below(table, clean, "row_count() >= 1500", "mean(fare) >= 110")
    assert owners() == ["ada"]
    (row,) = evidence(incident, member)
    assert (row["incident"], row["explains"]) == (Incident.objects.get(dataset=table).pk, True)
    assert row["reason"].startswith("were city = 'Rome' as usual, it would hold: ")
    assert "Explains it" in page(incident, member)


def test_a_value_that_would_be_broken_without_the_slice_is_told_though_the_cause_is_large_enough(
    table: Dataset, clean: Dataset, member: User
) -> None:
    for key in keys(3):
        land(clean, key, trips(key))
    halved = [row for row in trips(BROKEN) if row["city"] != "Rome" or row["id"] % 2]
    land(clean, BROKEN, [row | {"fare": row["fare"] * 0.85} for row in halved])
    incident = breaks_below(table, clean, "mean(fare) >= 25")
    assert owners() == ["ada", "grace"]
    (row,) = evidence(incident, member)
    assert not row["explains"]
    assert row["reason"].startswith("were city = 'Rome' as usual, it would be broken too: mean(fare) = ")
    assert "Does not explain it" in page(incident, member)
    assert (
        "completeness of raw.trips: were city = 'Rome' as usual"
        in Notice.objects.get(event="opened", recipient="grace", channel="log").body
    )


def test_of_a_chain_of_three_only_the_first_is_told_where_one_slice_explains_all(
    table: Dataset, clean: Dataset, member: User
) -> None:
    report: Dataset = DatasetFactory.create(name="report", columns=COLUMNS, owner="linus")
    report.replicas.update(location=clean.replicas.get().location)  # the same rows
    LineageEdgeFactory.create(upstream=clean, downstream=report)
    breaks_below(table, clean, "row_count() >= 1500", category=Category.ANOMALY)
    last = breaks_below(clean, report, "mean(fare) >= 110", category=Category.ANOMALY)
    assert owners() == ["ada"]
    assert [(row["dataset"], row["explains"]) for row in evidence(last, member)] == [("raw.clean", True)]
    assert last.alert
    assert last.alert.cause
    assert last.alert.cause.dataset == table


def test_a_table_below_without_the_columns_of_the_slice_is_judged_by_sizes(
    table: Dataset, clean: Dataset, member: User
) -> None:
    for key in (*keys(3), BROKEN):
        rows = dear(key) if key != BROKEN else [row for row in dear(key) if row["city"] != "Rome" or row["id"] % 2]
        land(clean, key, [{name: row[name] for name in ("id", "fare")} for row in rows])
    incident = breaks_below(table, clean, "mean(fare) >= 110")
    assert owners() == ["ada", "grace"]
    (row,) = evidence(incident, member)
    assert row["reason"] == "12.3 % of its rows are wrong or missing, and it takes 27.6 % to move the value so far"
