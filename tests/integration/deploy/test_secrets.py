"""One script makes every secret that the Compose file mounts."""

import re
import stat
import subprocess
from pathlib import Path

import pytest

from assay.config import Config, config
from tests.integration.deploy.described import DEPLOY, compose, ours


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of secrets, made by the script."""
    make(tmp_path / "secrets")
    return tmp_path / "secrets"


def make(folder: Path) -> None:
    subprocess.run([str(DEPLOY / "secrets.sh"), str(folder)], check=True)


def test_it_makes_just_what_is_mounted(folder: Path) -> None:
    mounted = {name: Path(each["file"]).name for name, each in compose()["secrets"].items()}
    assert set(mounted) == set(mounted.values()) == {path.name for path in folder.iterdir()}


def test_every_service_names_secrets_that_are_mounted() -> None:
    named = {
        each if isinstance(each, str) else each["source"]
        for service in compose()["services"].values()
        for each in service.get("secrets", [])
    }
    assert named == set(compose()["secrets"])


def test_others_of_the_machine_are_kept_out_and_containers_let_in(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o644}


def test_what_is_there_is_kept(folder: Path) -> None:
    (folder / "assay_email_url").write_text("smtp://mail:25\n")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    make(folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_no_two_installations_share_one(folder: Path, tmp_path: Path) -> None:
    make(tmp_path / "other")
    empty = {"assay_email_url", "assay_webhook_url", "assay_webhook_secret", "assay_heartbeat_url"}
    same = {path.name for path in folder.iterdir() if path.read_text() == (tmp_path / "other" / path.name).read_text()}
    assert same == empty


@pytest.mark.parametrize("name", sorted({*ours()} - {"spark"}))
def test_every_process_starts_with_settings_that_hold(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable, value in ours()[name]["environment"].items():
        monkeypatch.setenv(variable, re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value))
    monkeypatch.setenv("ASSAY_SECRETS_DIR", str(folder))
    monkeypatch.delenv("ASSAY_DATABASE_URL", raising=False)
    settings: Config = config.__wrapped__()
    assert settings.database.startswith("mysql://assay:")
    assert settings.broker_url.startswith("redis://:")
    assert "web" in settings.allowed_hosts
    assert settings.django_secret_key() == (folder / "assay_secret_key").read_text().strip()


def test_git_and_the_image_never_see_them() -> None:
    assert "secrets/" in (DEPLOY / ".gitignore").read_text().splitlines()
