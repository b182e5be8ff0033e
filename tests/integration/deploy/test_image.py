"""The image is built from files that exist, and runs as nobody special."""

import json
import tomllib

from tests.integration.deploy.described import ROOT, dockerfile, services

INSTRUCTIONS = dockerfile()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def copied() -> list[str]:
    """What is copied from this checkout."""
    lines = [value.split() for name, value in INSTRUCTIONS if name == "COPY" and not value.startswith("--from")]
    return [source for line in lines for source in line[:-1]]


def said(instruction: str) -> str:
    """What the last instruction of this kind says."""
    return [value for name, value in INSTRUCTIONS if name == instruction][-1]


def test_whatever_is_copied_exists_and_is_let_through() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert [path for path in copied() if not (ROOT / path).exists()] == []
    assert set(copied()) == let_through


def test_whatever_the_wheel_is_made_of_is_copied() -> None:
    packages = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    project = PYPROJECT["project"]
    wanted = {package.split("/")[0] for package in packages} | {project["readme"], *project["license-files"]}
    assert wanted | {"pyproject.toml", "deploy/locks"} == set(copied())


def test_only_the_files_whose_hash_is_locked_are_installed() -> None:
    installs = [value for name, value in INSTRUCTIONS if name == "RUN" and "bin/pip install" in value]
    assert [
        "--require-hashes" in install or " --no-deps --no-build-isolation ." in install for install in installs
    ] == [True, True]
    assert {value.split()[0] for name, value in INSTRUCTIONS if name == "FROM"} == {"python:3.11-slim-bookworm"}


def test_secrets_stay_outside() -> None:
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"
    assert [path for path in copied() if path.startswith("deploy")] == ["deploy/locks"]


def test_the_image_runs_as_a_user_of_its_own() -> None:
    assert said("USER") == "assay"


def test_its_health_is_asked_where_it_listens() -> None:
    command = json.loads(said("HEALTHCHECK").split("CMD", 1)[1])
    compile(command[2], "HEALTHCHECK", "exec")
    assert "http://127.0.0.1:8000/healthz" in command[2]
    assert "--bind=0.0.0.0:8000" in json.loads(said("CMD"))
    assert "--bind=0.0.0.0:8000" in services()["web"]["command"]
