"""The folder of secrets, made as an operator makes it, with the URLs of the servers on this machine."""

from collections.abc import Mapping
from pathlib import Path

from .broker import Broker
from .database import Database
from .programs import DEPLOY, finish

PASSWORDS = {"owner_password": "database_owner_password", "service_password": "database_password"}


def make_secrets(folder: Path) -> None:
    """Make what is missing; what is there already is kept."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    finish([str(DEPLOY / "secrets.sh"), str(folder)])


def passwords(folder: Path) -> Mapping[str, str]:
    """The passwords of the database's two accounts, by the names that accounts.sql has for them."""
    return {name: _read(folder, file) for name, file in PASSWORDS.items()}


def write_urls(folder: Path, database: Database, broker: Broker) -> None:
    """Lead the URLs to where the servers listen this time."""
    for account, name, password in (
        ("assay", "assay_database_url", "database_password"),
        ("assay_owner", "assay_owner_database_url", "database_owner_password"),
    ):
        url = f"mysql://{account}:{_read(folder, password)}@127.0.0.1:{database.port}/{database.name}"
        (folder / name).write_text(f"{url}\n")
    (folder / "assay_broker_url").write_text(f"{broker.url}\n")


def write_state_store(folder: Path, states: Path) -> None:
    """Name the folder of states that all workers on this machine share, for commands in other shells too."""
    (folder / "assay_state_store").write_text(f"{states}\n")


def url_of(folder: Path, name: str) -> str:
    """A URL that the services read."""
    return _read(folder, name)


def _read(folder: Path, name: str) -> str:
    return (folder / name).read_text().strip()
