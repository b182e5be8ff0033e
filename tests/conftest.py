"""Fixtures for every test: real servers, started once a session and only when asked for."""

from collections.abc import Iterator

import pytest
from django.db import connections

from tests import servers


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[servers.MariaDB]:
    """A private MariaDB."""
    with servers.mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[servers.Redis]:
    """A private Redis."""
    with servers.redis() as server:
        yield server


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of the browser."""
    return servers.chromium()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Puts SQLite's database under test into a file: one in memory locks its tables unlike the one in service."""
    connection = connections["default"]
    if connection.vendor == "sqlite":
        name = tmp_path_factory.mktemp("database") / "assay.db"
        connection.settings_dict["TEST"]["NAME"] = str(name)
