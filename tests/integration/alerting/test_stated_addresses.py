"""The owner of a table that a provider alone tells of is woken at the address that the provider states."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.corrections import correct, origins_of
from assay.config import config
from assay.models import Dataset, Severity
from execution_engine.providers import read_provider
from test_generator.services import provider_named, sync_telling
from tests.factories import HOUR, NOW, day
from tests.integration.alerting.receivers import Received, mail_server
from tests.integration.alerting.services import TOKEN, SlackWorkspace, listening
from tests.integration.story import advance, due, fail, new_test, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
NODE: dict[str, Any] = {
    "resource_type": "model", "schema": "mart", "name": "orders", "group": "finance", "package_name": "shop",
    "config": {"materialized": "table"}, "depends_on": {"nodes": []}, "meta": {"owner": "Ann"},
}  # fmt: skip
ENTRY = {"name": "shop", "kind": "dbt", "storage": "table", "defaults": {"tier": 2, "owner": "data-team"}}


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SlackWorkspace, Received]]:
    """Slack and a mail server on this machine; nobody has written a route."""
    slack = SlackWorkspace()
    with listening(slack) as url, mail_server(250, 250) as mail:
        for name, value in {"slack_token": TOKEN, "slack_url": url, "email_url": mail.url}.items():
            monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
        monkeypatch.setenv("ASSAY_WEBHOOK_PRIVATE", "true")
        config.cache_clear()
        yield slack, mail
    config.cache_clear()


def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **group_owner: str) -> Dataset:
    """The one table of a dbt project, in a group with this owner."""
    document: dict[str, Any] = {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "adapter_type": "spark"},
        "nodes": {"model.shop.orders": NODE},
        "sources": {},
        "exposures": {},
        "groups": {"group.shop.finance": {"name": "finance", "owner": group_owner}},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    monkeypatch.setattr(config(), "providers", json.dumps([{**ENTRY, "target": str(tmp_path)}]))
    provider = provider_named("shop", "")
    sync_telling(read_provider(provider), provider, now=NOW)
    return Dataset.objects.get(full_name="mart.orders")


def break_a_test(dataset: Dataset) -> None:
    test = new_test(dataset=dataset, severity=Severity.HARD, sustain=timedelta())
    start(due(MONDAY))
    fail(test, MONDAY)
    advance(due(MONDAY) + 2 * HOUR)


def test_a_name_that_is_no_address_is_told_at_that_of_its_group(
    services: tuple[SlackWorkspace, Received], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = synced(tmp_path, monkeypatch, email="fin@example.org")
    (origin,) = (origin for origin in origins_of(orders) if origin.field == "channels")
    assert (origin.value, origin.source) == ({"email": "fin@example.org"}, "shop")
    break_a_test(orders)
    (mail,) = services[1].bodies
    assert b"To: fin@example.org" in mail


def test_a_group_that_names_slack_is_told_there(
    services: tuple[SlackWorkspace, Received], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NODE, "meta", {})
    break_a_test(synced(tmp_path, monkeypatch, email="fin@example.org", slack="trips"))
    assert [post["channel"] for post in services[0].posts] == ["#trips"]
    assert services[1].bodies == []


def test_who_is_corrected_to_be_the_owner_is_told_as_themselves(
    services: tuple[SlackWorkspace, Received], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = synced(tmp_path, monkeypatch, email="fin@example.org")
    correct("mart.orders", {"owner": "bob@example.org"}, now=NOW)
    orders.refresh_from_db()
    break_a_test(orders)
    (mail,) = services[1].bodies
    assert b"To: bob@example.org" in mail
