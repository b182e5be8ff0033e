"""The two accounts of the database: one may change tables, the other only their rows."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dj_database_url
import pytest
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from deploy.local.programs import finish, program
from tests import servers
from tests.integration.deploy.described import DEPLOY

MARIADB = DEPLOY / "mariadb"
DENIED = "command denied"
ENTRY_POINT = 'docker_process_sql() { "$CLIENT" --no-defaults --socket="$SOCKET" --user=root --database=assay; }'


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of secrets as an operator makes it."""
    folder = tmp_path_factory.mktemp("deploy") / "secrets"
    subprocess.run([str(DEPLOY / "secrets.sh"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def server(secrets: Path) -> Iterator[servers.MariaDB]:
    """A database whose first start ran our script, as the image's entry point does."""
    with servers.mariadb() as server:
        client = program("mariadb", "mariadb-client-core")
        places = {"CLIENT": client, "SOCKET": str(server.socket), "SECRETS": str(secrets)}
        script = f"set -eo pipefail; {ENTRY_POINT}; . {MARIADB / 'accounts.sh'}"
        environment = {**os.environ, **places, "ACCOUNTS": str(MARIADB / "accounts.sql")}
        finish(["env", *(f"{name}={value}" for name, value in environment.items()), "bash", "-c", script])
        yield server


@pytest.fixture(scope="module")
def urls(server: servers.MariaDB, secrets: Path) -> dict[str, str]:
    """The URLs of both accounts as the services read them, led to the server of this test."""
    names = {"owner": "assay_owner_database_url", "service": "assay_database_url"}
    here = f"@127.0.0.1:{server.port}/"
    return {each: (secrets / name).read_text().strip().replace("@database:3306/", here) for each, name in names.items()}


@pytest.fixture(scope="module")
def table(urls: dict[str, str]) -> str:
    """A table that the owner has made."""
    with opened(urls["owner"]) as owner:
        owner.execute(text("create table dataset (id int primary key, name varchar(20))"))
    return "dataset"


def opened(url: str) -> Connection:
    """A connection of an account."""
    return create_engine(url, isolation_level="AUTOCOMMIT").connect()


def assay(url: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of ours, run by an account."""
    environment = {**os.environ, "ASSAY_DATABASE_URL": url, "ASSAY_SECRET_KEY": "of this test"}
    program = str(Path(sys.executable).with_name("assay"))
    return subprocess.run([program, *command], env=environment, capture_output=True, text=True)


def test_the_service_writes_and_reads_rows(urls: dict[str, str], table: str) -> None:
    with opened(urls["service"]) as service:
        service.execute(text(f"insert into {table} values (1, 'raw.trips'), (2, 'lake.trips')"))
        service.execute(text(f"update {table} set name = 'lake.rides' where id = 2"))
        service.execute(text(f"delete from {table} where id = 1"))
        assert service.execute(text(f"select id, name from {table}")).all() == [(2, "lake.rides")]


@pytest.mark.parametrize(
    "statement",
    [
        "create table other (id int)",
        "create temporary table other (id int) select 1 id",
        "alter table dataset add column owner int",
        "create index names on dataset (name)",
        "drop table dataset",
        "truncate table dataset",
        "create view seen as select 1",
        "create trigger each_row before insert on dataset for each row set new.id = 1",
        "lock tables dataset write",
    ],
)
def test_the_service_changes_no_table(urls: dict[str, str], table: str, statement: str) -> None:
    with opened(urls["service"]) as service, pytest.raises(DBAPIError, match=f"{DENIED}|Access denied"):
        service.execute(text(statement))


@pytest.mark.parametrize("account", ["owner", "service"])
@pytest.mark.parametrize(
    "statement",
    [
        "select * from mysql.global_priv",
        "create database others",
        "create user mallory",
        "grant all on *.* to current_user",
        "select 1 into outfile '/tmp/assay-outfile'",
        "set global local_infile = 1",
    ],
)
def test_neither_reaches_beyond_its_schema(urls: dict[str, str], account: str, statement: str) -> None:
    with opened(urls[account]) as connection, pytest.raises(DBAPIError, match="denied"):
        connection.execute(text(statement))


@pytest.mark.parametrize("account", ["owner", "service"])
def test_neither_reads_a_file(urls: dict[str, str], account: str) -> None:
    with opened(urls[account]) as connection:
        assert connection.execute(text("select load_file('/etc/hostname')")).scalar_one() is None


def test_the_owner_migrates_and_the_service_works_on_what_that_made(urls: dict[str, str]) -> None:
    assert assay(urls["service"], "migrate").returncode != 0
    migrated = assay(urls["owner"], "migrate")
    assert migrated.returncode == 0, migrated.stderr
    with opened(urls["service"]) as service:
        assert service.execute(text("select count(*) from django_migrations")).scalar_one() > 0
    told = assay(urls["service"], "doctor").stdout
    assert "all applied" in told


def test_django_talks_to_it_by_mysqlclient(urls: dict[str, str], django_db_blocker: DjangoDbBlocker) -> None:
    connection = ConnectionHandler({"default": dj_database_url.parse(urls["service"])})["default"]
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("select version()")
        assert "MariaDB" in cursor.fetchone()[0]
    assert type(connection.connection).__module__ == "MySQLdb.connections"
    connection.close()


def test_settings_are_read_by_the_server_that_we_test_with(tmp_path: Path) -> None:
    server = program("mariadbd", "mariadb-server-core")
    options = [f"--defaults-file={MARIADB / 'assay.cnf'}", f"--secure-file-priv={tmp_path}", "--verbose", "--help"]
    user = ["--user=root"] if os.geteuid() == 0 else []
    told = subprocess.run([server, *options, *user], capture_output=True, text=True, check=True).stdout
    in_force = dict(re.findall(r"^([a-z-]+) +(\S+)$", told, re.MULTILINE))
    wanted = {
        "character-set-server": "utf8mb4",
        "transaction-isolation": "READ-COMMITTED",
        "local-infile": "FALSE",
        "lock-wait-timeout": "30",
        "innodb-flush-log-at-trx-commit": "1",
    }
    assert wanted.items() <= in_force.items()
