"""Up to when a table is complete, and how long its windows took: on its page and in the API."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assay.access import Role
from assay.models import Member
from tests.e2e.cases.people import accept, open_incident
from tests.e2e.scenario import Scenario, dataset

pytestmark = pytest.mark.django_db

API, PAGE = "/api/v1/datasets/raw.trips", "/datasets/raw.trips"


@pytest.fixture
def client(scenario: Scenario) -> Client:
    """Somebody who looks, in a browser."""
    user = User.objects.create_user("grace")
    Member.objects.create(user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


def days(scenario: Scenario, *days: int) -> None:
    """Days of March land an hour and twenty minutes after their end, and their pipeline says so."""
    for day in days:
        scenario.land("raw.trips", f"2026-03-{day:02}", 100, on=f"2026-03-{day + 1:02} 01:20")
        scenario.complete("raw.trips", f"2026-03-{day:02}")


def figures(client: Client) -> dict[str, str]:
    """The figures at the top of the page."""
    text = client.get(PAGE).content.decode()
    return dict(re.findall(r"<dt[^>]*>([^<]*)</dt><dd>([^<]*)</dd>", text))


def test_three_missing_days_read_as_complete_up_to_three_days_ago(scenario: Scenario, client: Client) -> None:
    scenario.catalog(dataset("raw.trips"))
    days(scenario, 9, 10)
    scenario.until("2026-03-14 08:00")  # the 11th, 12th and 13th have not come
    assert client.get(API).json().get("complete_up_to") == "2026-03-11T00:00:00Z"
    assert figures(client).get("Complete through") == "2026-03-10"
    days(scenario, 14)  # a later day does not make up for them
    assert client.get(API).json().get("complete_up_to") == "2026-03-11T00:00:00Z"


def test_a_window_that_is_accepted_as_it_is_holds_nothing_up(scenario: Scenario, client: Client) -> None:
    scenario.catalog(dataset("raw.trips"))
    days(scenario, 9)
    scenario.until("2026-03-11 12:00")
    accept(open_incident("raw.trips", "freshness"))
    days(scenario, 11)
    scenario.until("2026-03-12 02:00")
    assert client.get(API).json().get("complete_up_to") == "2026-03-12T00:00:00Z"


def test_how_long_each_window_took_is_shown_beside_what_it_may_take(scenario: Scenario, client: Client) -> None:
    scenario.catalog(dataset("raw.trips"))
    assert client.get(API).json().get("complete_up_to") is None
    assert "Complete through" not in figures(client)
    days(scenario, 9, 10)
    took = client.get(API).json().get("time_to_complete", [])
    assert [(one["window"][:10], one["seconds"], one["allowed"]) for one in took] == [
        ("2026-03-10", 4800.0, "6h"),
        ("2026-03-09", 4800.0, "6h"),
    ]
    assert (took[0]["text"], figures(client).get("Last window took")) == ("1h 20m of 6h", "1 h 20 min of 6 h")


def test_the_plot_of_freshness_draws_how_long_windows_took_against_the_sla(scenario: Scenario, client: Client) -> None:
    scenario.catalog(dataset("raw.trips"))
    days(scenario, 9, 10)
    scenario.until("2026-03-12 08:00")
    test = next(
        test["id"] for test in client.get("/api/v1/data-tests").json()["results"] if test["name"] == "freshness"
    )
    text = client.get(PAGE, {"test": test}).content.decode()
    found = re.search("<metadata>(.*?)</metadata>", text, re.DOTALL)
    assert found is not None
    *held, late = [line.split(" ", 2)[2] for line in found[1].splitlines()]
    assert held == ["2026-03-09: 1 h 20 min, held", "2026-03-10: 1 h 20 min, held"]
    assert re.fullmatch(r"2026-03-11: [6-9] h.*, broken, wanted at most 6 h", late)
