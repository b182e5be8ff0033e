"""The page of a dataset's columns: what profiles say of each over the partitions, and which test names it."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay.catalog.profile import Column
from assay.models import Dataset
from execution_engine.models import AcceptedPast, Measurement
from tests.e2e.cases.test_novelty_cases import TRIPS, after, days, land
from tests.e2e.scenario import Scenario, custom, dataset

pytestmark = pytest.mark.django_db

COLUMNS = (
    Column(name="id", type="string"),
    Column(name="fare", type="double"),
    Column(name="distance", type="double"),
    Column(name="city", type="string"),
)


def page(path: str = "", **asked: str) -> str:
    """The page as somebody sees it who may read."""
    client = Client()
    client.force_login(User.objects.get_or_create(username="reader")[0])
    answer = client.get(f"/datasets/{TRIPS}/columns{path}", asked)
    assert answer.status_code == 200, answer.content
    return unescape(answer.content.decode())


def answer(**asked: str) -> dict[str, Any]:
    """What the API says of the columns of trips."""
    client = APIClient()
    client.force_authenticate(User.objects.get_or_create(username="reader")[0])
    found = client.get("/api/v1/columns", {"dataset": TRIPS, **asked})
    assert found.status_code == 200, found.content
    read: dict[str, Any] = found.json()
    return read


def tooltips(shown: str) -> list[str]:
    """What the large chart says of each of its points."""
    found = re.search("<metadata>(.*?)</metadata>", shown, re.DOTALL)
    return [line.split(" ", 2)[2] for line in found[1].splitlines()] if found else []


def watched(scenario: Scenario, *, until: int = 18, columns: tuple[Column, ...] = COLUMNS) -> None:
    """Trips of some days, of which one test names a column."""
    test = custom(TRIPS, "fares", "completeness(fare) = 1", category="column")
    scenario.catalog(dataset(TRIPS, columns=columns), custom=[test])
    for day in days(9, until):
        land(scenario, day)
        scenario.until(after(day, 7))


def test_each_column_is_drawn_over_its_partitions_with_the_tests_that_name_it(scenario: Scenario) -> None:
    watched(scenario)
    shown = page()
    assert "10 profiled partitions, up to 2026-03-18" in shown
    rows = shown[shown.index("All columns") :].split('<tr><th scope="row">')[1:]
    by_name = {name: next(row for row in rows if f">{name}</a>" in row) for name in ("id", "fare", "distance", "city")}
    assert ">fares</a>" in by_name["fare"]
    assert all(">fares</a>" not in row for name, row in by_name.items() if name != "fare")
    assert "mean: 20" in by_name["fare"]
    assert "mean length: " in by_name["city"]
    assert "small-chart" in by_name["distance"]
    assert 'class="broken"' not in shown


def test_a_partition_on_which_novelty_is_broken_is_marked_in_the_plot_of_a_column(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 7))
    shown = page(column="distance", statistic="mean")
    drawn = tooltips(shown)
    assert "mean of distance</title>" in shown
    assert ["broken" in text for text in drawn] == [False] * 10 + [True]
    assert "wanted at least" in drawn[-1]
    assert 'class="broken"' in shown
    assert 'class="bars"' in shown


def test_frequent_values_and_shapes_of_the_newest_partition_are_shown(scenario: Scenario) -> None:
    watched(scenario, until=10)
    shown = page(column="city")
    assert all(city in shown for city in ("Lisbon", "Porto", "Faro"))
    assert "<code>Aaaa" in shown


def test_values_of_a_column_that_is_sensitive_now_are_shown_no_more(scenario: Scenario) -> None:
    watched(scenario, until=17)
    marked = [{"name": each.name, "type": each.type, "sensitive": each.name == "city"} for each in COLUMNS]
    Dataset.objects.update(columns=marked)
    shown = page(column="city")
    assert "sensitive" in shown
    assert not any(city in shown for city in ("Lisbon", "Porto", "Faro"))
    assert tooltips(shown) == []


def test_the_api_tells_the_same_of_each_column_and_partition(scenario: Scenario) -> None:
    watched(scenario)
    land(scenario, "2026-03-19", miles=True)
    scenario.until(after("2026-03-19", 7))
    found = answer(text="A")
    assert found["count"] == 2
    assert [column["name"] for column in found["columns"]] == ["fare", "distance"]
    assert [window["broken"] for window in found["windows"]] == [False] * 10 + [True]
    assert [window["accepted"] for window in found["windows"]] == [True] * 10 + [False]
    assert found["windows"][0]["start"] == "2026-03-09T00:00:00Z"
    assert all(380 <= window["rows"] <= 420 for window in found["windows"])
    fare, distance = found["columns"]
    assert (fare["complete"], fare["nulls"], fare["sensitive"], len(fare["data_tests"])) == (1.0, 0, False, 1)
    assert fare["usual"].startswith("1")
    means = distance["over_time"]["mean"]
    assert (len(means), means[0], distance["over_time"]["length_mean"], distance["data_tests"]) == (11, None, [], [])
    assert means[-1] < 6 < means[1]
    assert [column["name"] for column in answer(limit="1", offset="1")["columns"]] == ["fare"]


def test_the_api_tells_nothing_of_a_column_that_is_sensitive_now(scenario: Scenario) -> None:
    watched(scenario, until=17)
    marked = [{"name": each.name, "type": each.type, "sensitive": each.name == "city"} for each in COLUMNS]
    Dataset.objects.update(columns=marked)
    (city,) = answer(text="city")["columns"]
    assert (city["type"], city["sensitive"], city["complete"], city["usual"]) == ("string", True, None, "")
    assert city["over_time"] == {"complete": [], "distinct": [], "mean": [], "length_mean": []}


def test_the_figures_of_some_rows_are_not_shown_as_those_of_the_table(scenario: Scenario) -> None:
    some = custom(TRIPS, "faro", "novelty(where=\"city = 'Faro'\") <= 1", category="novelty")
    scenario.catalog(dataset(TRIPS, columns=COLUMNS, novelty=False), custom=[some])
    for day in days(9, 18):
        land(scenario, day)
        scenario.until(after(day, 7))
    assert AcceptedPast.objects.exists()
    assert "No partition was profiled yet" in page()


def test_where_the_kept_past_cannot_be_read_the_newest_partitions_are_drawn_and_that_is_said(
    scenario: Scenario,
) -> None:
    watched(scenario)
    assert "cannot read" not in page()
    AcceptedPast.objects.update(state=b"ASSAYPST and noise", state_path="")
    shown = page()
    assert "6 profiled partitions, up to 2026-03-18" in shown
    assert "Only the newest partitions are drawn: Assay cannot read what it kept of earlier ones here." in shown


def test_a_past_that_is_too_large_for_a_page_is_not_drawn(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    watched(scenario)
    monkeypatch.setattr("execution_engine.runs.column_history.MOST_BYTES", -1)
    shown = page()
    assert "Only the newest partitions are drawn" in shown
    assert "6 profiled partitions" in shown


def test_where_no_profile_can_be_read_the_page_says_so(scenario: Scenario) -> None:
    watched(scenario, until=10)
    AcceptedPast.objects.all().delete()
    Measurement.objects.filter(spec_text__startswith="profile(").update(state=b"noise", state_path="", state_length=5)
    shown = page(column="fare")
    assert "Profiles of this dataset are kept, but Assay cannot read them." in shown
    assert "No profile knows this column yet." in shown


def test_what_is_not_there_is_said(scenario: Scenario) -> None:
    scenario.catalog(dataset(TRIPS, columns=COLUMNS))
    shown = page(column="tip", text="zzz", page="9")
    assert "No partition was profiled yet" in shown
    assert "There is no column tip." in shown
    assert "No column has “zzz” in its name." in shown
    assert "assay run raw.trips --window" in shown
    Dataset.objects.update(partition_column="", columns=[])
    assert "has no partitions" in page()
    assert ">id</a>" in page()  # which a standard test names


def test_a_reader_finds_a_column_by_a_part_of_its_name(scenario: Scenario) -> None:
    watched(scenario, until=9)
    shown = page(text="IST")
    assert ">distance</a>" in shown
    assert ">city</a>" not in shown
