"""The servers the tests start are real and their own."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from sqlalchemy import create_engine, text

from deploy.local.programs import UnableToStart, program
from deploy.local.servers import Broker
from tests import servers


def test_mariadb_answers_over_its_url(mariadb_server: servers.MariaDB) -> None:
    engine = create_engine(mariadb_server.url)
    with engine.connect() as session:
        assert "MariaDB" in str(session.execute(text("select version()")).scalar_one())
        assert session.execute(text("select database(), @@character_set_database")).one() == ("assay", "utf8mb4")
    engine.dispose()


def test_postgresql_answers_over_its_url(postgresql_server: servers.PostgreSQL) -> None:
    engine = create_engine(postgresql_server.url)
    with engine.connect() as session:
        assert session.execute(text("select current_database(), current_user")).one() == ("lake", "assay")
    engine.dispose()


def test_redis_keeps_a_value(redis_server: servers.Redis) -> None:
    with socket.create_connection(("127.0.0.1", redis_server.port), timeout=5) as client:
        client.sendall(b"SET dataset trips\r\nGET dataset\r\n")
        client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").read() == b"+OK\r\n$5\r\ntrips\r\n"


def test_chromium_runs(chromium_path: str) -> None:
    told = subprocess.run([chromium_path, "--version"], capture_output=True, text=True, check=True)
    assert "Chrom" in told.stdout


def test_a_server_is_gone_after_its_context() -> None:
    with servers.redis() as redis:
        assert is_there(redis)
    assert not is_there(redis)


def test_a_server_that_dies_at_once_tells_why() -> None:
    dies = [sys.executable, "-c", "raise SystemExit('no space left')"]
    with pytest.raises(UnableToStart, match="no space left"), servers.running(dies, ready=lambda: False):
        pass


def test_a_missing_program_names_its_package() -> None:
    with pytest.raises(UnableToStart, match="apt-get install mariadb-server-core"):
        program("mariadbd-of-no-machine", "mariadb-server-core")


@pytest.mark.django_db
def test_the_database_under_test_is_the_one_the_environment_names() -> None:
    wanted = "mysql" if os.environ.get("ASSAY_DATABASE_URL", "").startswith("mysql:") else "sqlite"
    assert connection.vendor == wanted
    assert "memory" not in str(connection.settings_dict["NAME"])


def is_there(server: servers.Redis) -> bool:
    """Whether a Redis answers."""
    return Broker(folder=Path(), port=server.port).is_ready()
