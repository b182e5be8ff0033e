"""Fixtures for every test: real servers, started only when asked for."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.core.cache import cache
from django.db import OperationalError, connection, connections
from django.test import TransactionTestCase
from hypothesis import settings

from assay.models import AuditEntry
from assay.models.access import forbid_changes, permit_changes
from tests import java, servers
from tests.layers import layers_of

gc.set_threshold(100_000, 20, 20)  # what is imported and collected stays: to look through it took two fifths of that
os.environ.setdefault("SPARK_SUBMIT_OPTS", java.options())

LONGEST_FIRST = ("e2e", "faults", "zoo", "mutants", "crawler", "browser", "fuzz", "integration", "unit")

settings.register_profile("assay", deadline=None)  # how fast things are is for benchmarks/ to say
settings.register_profile("quick", deadline=None, max_examples=10)  # of `make unit`
settings.load_profile("assay")


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left alone with it at the end; mark the layers."""
    here = Path(__file__).parent
    items.sort(key=lambda item: LONGEST_FIRST.index(item.path.relative_to(here).parts[0]))
    for item in items:
        for mark in layers_of(item.path.relative_to(here.parent), {mark.name for mark in item.iter_markers()}):
            item.add_marker(mark)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all modules live to the end: nobody looks for garbage in them."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_counts_of_other_tests() -> None:
    """Nobody is told to wait because of what another test asked."""
    cache.clear()


@pytest.fixture(autouse=True)
def _no_failure_goes_unseen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stage logs what goes wrong with a row, and goes on: a test that is not about such a failure must not pass."""
    logger: Any = type(structlog.get_logger().bind())
    failed: list[BaseException] = []
    told = logger.exception

    def exception(self: Any, *args: Any, **more: Any) -> Any:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OperationalError):
            failed.append(error)
        return told(self, *args, **more)

    monkeypatch.setattr(logger, "exception", exception)
    yield
    if failed and request.node.get_closest_marker("logs_a_failure") is None:
        raise failed[0]


@pytest.fixture(autouse=True, scope="session")
def _loggers_are_bound_anew() -> Iterator[None]:
    """A logger that has been used keeps its settings, and would not reach a test that captures what is logged."""
    configure: Any = structlog.configure
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structlog, "configure", lambda **more: configure(**more | {"cache_logger_on_first_use": False}))
        structlog.configure()
        yield


@pytest.fixture(autouse=True, scope="session")
def _audit_can_be_emptied_after_a_test() -> Iterator[None]:
    """After a test with transactions of its own Django empties all tables: meanwhile nothing forbids it."""
    cases: Any = TransactionTestCase
    empty, table = cases._fixture_teardown, AuditEntry._meta.db_table

    def emptied(case: TransactionTestCase) -> None:
        has_entries = AuditEntry.objects.exists()
        if has_entries:
            with connection.schema_editor() as editor:
                permit_changes(editor, table)
        empty(case)
        if has_entries:
            with connection.schema_editor() as editor:
                forbid_changes(editor, table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "_fixture_teardown", emptied)
        yield


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[servers.MariaDB]:
    """A private MariaDB."""
    with servers.mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[servers.PostgreSQL]:
    """A private PostgreSQL."""
    with servers.postgresql() as server:
        yield server


@pytest.fixture
def redis_server() -> Iterator[servers.Redis]:
    """A private Redis of this test alone: hints that another test left would be counted too."""
    with servers.redis() as server:
        yield server


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of the browser."""
    return servers.chromium()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Puts SQLite's database under test into a file: one in memory locks its tables unlike the one in service."""
    connection = connections["default"]
    if connection.vendor == "sqlite":
        name = tmp_path_factory.mktemp("database") / "assay.db"
        connection.settings_dict["TEST"]["NAME"] = str(name)
