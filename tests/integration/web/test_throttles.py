"""How often one may ask, and how many passwords one may guess."""

import inspect
from base64 import b64encode
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings
from rest_framework.response import Response
from rest_framework.test import APIClient

from assay.config import merged
from tests.factories import DatasetFactory, IncidentFactory
from tests.integration.web.people import client, client_of
from web.access.throttles import COSTS, ByCost

QUESTION = {"datasets": ["raw.trips"], "window": "2026-03-09"}


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[dict[str, str]]:
    rates = merged({})
    monkeypatch.setattr(ByCost, "THROTTLE_RATES", rates)
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    yield rates
    cache.clear()


def statuses(client: APIClient, count: int, address: str = "/api/v1/datasets") -> list[int]:
    return [client.get(address).status_code for _ in range(count)]


def test_who_asks_too_often_is_told_how_long_to_wait(api: APIClient, rates: dict[str, str]) -> None:
    rates["read"] = "3/m"
    assert statuses(api, 3) == [200, 200, 200]
    answer = api.get("/api/v1/datasets")
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert "ASSAY_RATES" in answer.json()["mend"]


def test_more_tokens_of_a_user_give_no_more(api: APIClient, user: User, rates: dict[str, str]) -> None:
    rates["read"] = "2/m"
    assert (statuses(api, 2), statuses(client_of(user), 1), statuses(client("ada"), 1)) == ([200, 200], [429], [200])


def test_what_is_dear_has_a_rate_of_its_own(api: APIClient, rates: dict[str, str]) -> None:
    DatasetFactory.create(name="trips")
    rates |= {"gate": "1/m", "read": "9/m"}
    codes = [api.post("/api/v1/gate", QUESTION, format="json").status_code for _ in range(2)]
    assert (codes, statuses(api, 1)) == ([200, 429], [200])


def test_every_kind_of_request_that_is_told_apart_is_there() -> None:
    names = ["data_tests", "feeds", "gate", "incidents", "quality", "reports", "runs"]
    views = {name: view for module in names for name, view in inspect.getmembers(import_module(f"web.api.{module}"))}
    assert all(hasattr(views[view], action) for view, action in COSTS)
    assert set(COSTS.values()) <= set(merged({}))


def test_a_hundred_reruns_are_not_a_hundred_runs(api: APIClient, rates: dict[str, str]) -> None:
    rates["run"] = "5/m"
    address = f"/api/v1/incidents/{IncidentFactory.create().pk}/rerun"
    assert [api.post(address, {}, format="json").status_code for _ in range(100)] == [200] * 5 + [429] * 95


def test_strangers_share_the_rate_of_their_address_whatever_they_say_it_is(
    client: Client, rates: dict[str, str], db: None
) -> None:
    rates["anonymous"] = "2/m"
    codes = [client.get("/api/schema", headers={"X-Forwarded-For": f"8.8.8.{n}"}).status_code for n in range(3)]
    assert codes == [200, 200, 429]


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_added(
    client: Client, rates: dict[str, str], settings: Settings, db: None
) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    rates["anonymous"] = "1/m"
    forged = [client.get("/api/schema", headers={"X-Forwarded-For": f"{n}.1.1.1, 8.8.8.8"}) for n in range(2)]
    assert [answer.status_code for answer in forged] == [200, 429]
    assert client.get("/api/schema", headers={"X-Forwarded-For": "8.8.4.4"}).status_code == 200


def guess(password: str, name: str = "grace", address: str = "8.8.8.8") -> Response:
    basic = b64encode(f"{name}:{password}".encode()).decode()
    answer: Any = APIClient(raise_request_exception=False).post(
        "/api/v1/auth/login", HTTP_AUTHORIZATION=f"Basic {basic}", REMOTE_ADDR=address
    )
    return answer  # type: ignore[no-any-return]


def test_after_too_many_guesses_even_the_right_password_must_wait(user: User, rates: dict[str, str]) -> None:
    rates["login"] = "3/m"
    assert [guess(f"{n}").status_code for n in range(3)] == [401, 401, 401]
    answer = guess("hopper")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert (guess("hopper", address="8.8.4.4").status_code, guess("hopper", name="GRACE").status_code) == (200, 429)


def test_the_right_password_may_be_given_often(user: User, rates: dict[str, str]) -> None:
    rates["login"] = "3/m"
    assert {guess("hopper").status_code for _ in range(9)} == {200}


def test_one_address_cannot_try_a_password_on_everybody(user: User, rates: dict[str, str]) -> None:
    rates["login-address"] = "3/m"
    codes = [guess("secret", name=f"user{n}").status_code for n in range(3)]
    assert [*codes, guess("hopper").status_code] == [401, 401, 401, 429]


def test_many_addresses_cannot_try_every_password_of_one_name(user: User, rates: dict[str, str]) -> None:
    rates["login-name"] = "3/h"
    assert [guess("secret", address=f"8.8.8.{n}").status_code for n in range(3)] == [401, 401, 401]
    assert [guess("secret", address="8.8.4.4").status_code for n in range(5)] == [401, 401, 401, 429, 429]


def test_guesses_from_elsewhere_keep_nobody_out_who_knows_the_password(user: User, rates: dict[str, str]) -> None:
    rates["login-name"] = "3/h"
    for n in range(9):
        guess("secret", address=f"8.8.8.{n}")
    assert guess("hopper", address="8.8.4.4").status_code == 200
    assert [guess("wrong", address="8.8.4.4").status_code, guess("hopper", address="8.8.4.4").status_code] == [401, 200]


def test_the_login_page_counts_guesses_too(client: Client, user: User, rates: dict[str, str]) -> None:
    rates["login"] = "2/m"
    given = {"username": "grace", "password": "wrong"}
    assert [client.post("/login", given).status_code for _ in range(3)] == [200, 200, 429]
    assert client.post("/login", {**given, "password": "hopper"}).headers["Retry-After"] == "60"


def test_forms_of_pages_have_the_rates_of_what_they_do(pages: Client, rates: dict[str, str]) -> None:
    rates["run"] = "2/m"
    address = f"/incidents/{IncidentFactory.create().pk}/rerun"
    assert [pages.post(address).status_code for _ in range(3)] == [302, 302, 429]
