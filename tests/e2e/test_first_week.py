"""A bakery's first week with Assay, from an empty home: what its people are told each day, written out by hand."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoDbBlocker

from assay import clock
from assay.config import config
from tests.crawler.crawl import crawl_as
from tests.e2e.bakery.days import before, berlin, happenings
from tests.e2e.bakery.newcomer import TABLES, Newcomer
from tests.e2e.bakery.tables import Tables
from tests.e2e.set_ups import default_database
from tests.integration.alerting.receivers import Received, webhook

pytestmark = pytest.mark.timeout(900)

CATALOG = Path(__file__).parent / "bakery" / "catalog.yaml"
OPENED = berlin("03-25 09:00")
TUESDAY, WEDNESDAY = date(2026, 3, 24), date(2026, 3, 25)
HELD, FAILED, WARNED, UNABLE = 0, 1, 2, 3


@pytest.fixture
def receiver() -> Iterator[Received]:
    """Where notices are posted to."""
    with webhook(200) as received:
        yield received


@pytest.fixture
def newcomer(
    tmp_path: Path, receiver: Received, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> Iterator[Newcomer]:
    """Somebody with ten tables and an empty home, on a Wednesday morning."""
    folder, home = tmp_path / "bakery", tmp_path / "home"
    folder.mkdir()
    shutil.copy(CATALOG, folder)
    tables = Tables(folder=folder)
    before(tables, OPENED)
    given = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "DJANGO_"))}
    given |= {
        "ASSAY_HOME": str(home),
        "ASSAY_LOCATION_TILLS": f"sqlite:///{tables.tills}",
        "ASSAY_WEBHOOK_URL": receiver.url,
        "ASSAY_WEBHOOK_PRIVATE": "true",
    }
    for name in os.environ.keys() - given.keys():
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as stack:
        config.cache_clear()
        stack.callback(config.cache_clear)
        stack.enter_context(django_db_blocker.unblock())
        home.mkdir()
        stack.enter_context(default_database(f"sqlite:///{home}/assay.db"))
        yield Newcomer(tables=tables, environment=given, receiver=receiver, client=Client(), coming=happenings(tables))


def test_the_first_week(newcomer: Newcomer) -> None:
    wednesday_the_tables_become_known(newcomer)
    thursday_all_is_well(newcomer)


def wednesday_the_tables_become_known(newcomer: Newcomer) -> None:
    """Nothing is run yet: that is what everybody is told."""
    planned = newcomer.program("plan", str(newcomer.catalog))
    assert planned.code == HELD, planned.err
    assert "gap: stock.Deliveries, duplicates: it has no primary key." in planned.out
    assert newcomer.assay("plan", str(newcomer.catalog)).out == planned.out
    clock.simulate(OPENED)
    synced = newcomer.program("sync", str(newcomer.catalog))
    assert (synced.code, synced.out.splitlines()[-1]) == (HELD, "10 datasets with 45 live tests"), synced
    ada = get_user_model().objects.create_superuser("ada", password="of this test alone")
    newcomer.client.force_login(ada)
    newcomer.until(berlin("03-25 09:04"))
    assert newcomer.told() == []
    assert newcomer.answers(TUESDAY) == dict.fromkeys(TABLES, ("untested", "allow"))
    assert newcomer.dashboard() == [
        ("pay.Settlements", "untested"),
        ("oven.Bakes", "untested"),
        ("lake.Bakes", "untested"),
        ("mart.Loyalty", "untested"),
        ("tills.Sales", "untested"),
        ("us.Orders", "untested"),
        ("mart.Complaints", "untested"),
        ("stock.Deliveries", "untested"),
        ("tills.Branches", "untested"),
        ("hr.Shifts", "untested"),
    ]
    assert newcomer.cards() == []
    assert newcomer.assay("doctor").code == HELD
    assert crawl_as("admin") == []


def thursday_all_is_well(newcomer: Newcomer) -> None:
    """Wednesday has landed and been judged: but for the shifts, which may take two days, and the branches' week."""
    newcomer.until(berlin("03-26 12:00"))
    assert newcomer.told() == []
    assert newcomer.answers(WEDNESDAY) == dict.fromkeys(TABLES, ("good", "allow")) | {
        "tills.Sales": ("untested", "allow"),  # its hours before nine, when it became known
        "tills.Branches": ("untested", "allow"),
        "hr.Shifts": ("untested", "allow"),
    }
    assert newcomer.dashboard() == [
        ("pay.Settlements", "good"),
        ("oven.Bakes", "good"),
        ("lake.Bakes", "good"),
        ("mart.Loyalty", "good"),
        ("tills.Sales", "good"),
        ("us.Orders", "good"),
        ("mart.Complaints", "good"),
        ("stock.Deliveries", "good"),
        ("tills.Branches", "untested"),
        ("hr.Shifts", "good"),  # what has ended and nobody has judged is tested when a gate is asked
    ]
    assert crawl_as("viewer") == []
