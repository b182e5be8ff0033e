"""The hour of a new user: the commands of docs/lakes.md as they are typed there, over a table that a company writes."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from shlex import split

import pyarrow as pa
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pyarrow.fs import S3FileSystem
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pytest_django import DjangoDbBlocker

from assay import clock
from assay.command_line.cli import run
from assay.queue.drain import advance
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from tests import servers
from tests.e2e.newcomer import empty_home
from tests.e2e.scenario import notices
from tests.fixture_types import Capture
from tests.integration.engines.stored import stores

PAGE = Path(__file__).parents[2] / "docs" / "lakes.md"
SHOWN_DAY = "2026-11-26"
TODAY = datetime.now(UTC).date()
DAY = TODAY - timedelta(days=2)  # yesterday may not be due yet
KEYS = {"LAKE_KEY": "k", "LAKE_SECRET": "hush"}


def orders(day: date) -> pa.Table:
    """A thousand orders of a day."""
    first, midnight = (TODAY - day).days * 10_000, datetime(day.year, day.month, day.day, tzinfo=UTC)
    return pa.table(
        {
            "order_id": [first + at for at in range(1000)],
            "customer_id": [at * 7 % 200 for at in range(1000)],
            "amount": [5 + at % 50 * 0.5 for at in range(1000)],
            "ordered_at": pa.array([midnight + timedelta(seconds=80 * at) for at in range(1000)], pa.timestamp("us")),
            "day": [str(day)] * 1000,
        }
    )


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker) -> Iterator[Table]:
    """The company's table of orders, two weeks of it, in a store that an empty home of Assay may read."""
    monkeypatch.chdir(tmp_path)
    with servers.s3() as endpoint, django_db_blocker.unblock():
        place = endpoint.removeprefix("http://")
        S3FileSystem(
            access_key="k", secret_key="hush", endpoint_override=place, scheme="http", allow_bucket_creation=True
        ).create_dir("lake")
        keys = {
            "s3.endpoint": endpoint,
            "s3.access-key-id": "k",
            "s3.secret-access-key": "hush",
            "s3.region": "us-east-1",
        }
        catalog = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/shop.db", warehouse="s3://lake/warehouse", **keys)
        catalog.create_namespace("shop")
        table = catalog.create_table("shop.orders", schema=orders(DAY).schema)
        with table.update_spec() as spec:
            spec.add_identity("day")
        for ago in range(14, 0, -1):
            table.append(orders(TODAY - timedelta(days=ago)))
        variables = {"ASSAY_STORES": stores(endpoint, read_only=True), **KEYS}
        of_now = closing(ChildEngine())  # one of an earlier test opens the stores of then
        with empty_home(tmp_path / "home", variables, monkeypatch), of_now as engine, storage.using(engine):
            yield table


def typed() -> Iterator[tuple[list[str], list[str]]]:
    """Each command of Assay on the page, and the lines that are shown of its answer."""
    for command, shown in re.findall(r"^    \$ assay (.*)\n((?:    [^$\n].*\n)*)", PAGE.read_text(), re.MULTILINE):
        yield split(command.replace(SHOWN_DAY, str(DAY))), [line.strip() for line in shown.splitlines()]


def test_a_broken_snapshot_is_caught_named_and_healed_by_the_next_commit(table: Table, capsys: Capture) -> None:
    commands = typed()

    def type_next(*names: str) -> None:
        for name in names:
            words, shown = next(commands)
            assert words[0] == name
            run(words)
            answer = [line.split() for line in capsys.readouterr().out.splitlines()]
            snapshot = f"snapshot {table.refresh().metadata.current_snapshot_id}"
            for line in (re.sub(r"snapshot \d+", snapshot, line) for line in shown):
                assert line == "…" or line.split() in answer

    type_next("doctor", "init", "sync", "run")
    table.append(orders(DAY))
    type_next("run", "gate")
    page = Client()
    page.force_login(User.objects.create_superuser("ann"))
    incident = page.get("/incidents/1").content.decode()
    assert f"50 % of the rows are duplicates on {DAY}" in incident
    assert f"read Iceberg snapshot {table.metadata.current_snapshot_id}" in incident
    clock.simulate(now := datetime.now(UTC))
    advance(now + timedelta(minutes=16))
    assert notices("opened") == [("ann@shop.example", "")]
    table.overwrite(orders(DAY), overwrite_filter=f"day = '{DAY}'")
    advance(now + timedelta(minutes=22))
    assert notices("recovered") == [("ann@shop.example", "")]
    type_next("gate")
    assert next(commands, None) is None
    assert "resolved" in page.get("/incidents/1").content.decode()
