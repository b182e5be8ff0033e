"""The contracts of imports: they hold, each of them can break, and no room or pure module is left out."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINTER = Path(sys.executable).parent / "lint-imports"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS: list[dict[str, object]] = SETTINGS["contracts"]
PACKAGES = ("platform/assay", "execution_engine", "test_generator", "alerting", "incident_manager", "web")
IN_NO_ORDER = {"apps", "migrations"}  # Django's own
OFFENCES: Mapping[str, tuple[str, str]] = {  # the module that offends, and what it may not import
    "Each layer imports only what stands below it": ("alerting/models.py", "incident_manager.models"),
    "The rooms of the core stand in this order": ("platform/assay/time/windows.py", "assay.queue.claims"),
    "The rooms of the engine stand in this order": (
        "execution_engine/scans/run_scan.py",
        "execution_engine.runs.plan_runs",
    ),
    "The rooms that read data stand in this order": (
        "execution_engine/engines/files/listing.py",
        "execution_engine.engines.registry",
    ),
    "The rooms of the test generator stand in this order": (
        "test_generator/data_tests.py",
        "test_generator.sync",
    ),
    "The rooms of alerting stand in this order": ("alerting/inhibition/selectors.py", "alerting.notices.send"),
    "The rooms of the incident manager stand in this order": (
        "incident_manager/incidents/services.py",
        "incident_manager.gate.services",
    ),
    "The rooms of the web stand in this order": ("web/rendering/status.py", "web.pages.catalogue"),
    "Pure modules know no framework: data in, data out": ("alerting/verdicts/sustain.py", "django.db"),
    "Metrics, engines and verification know neither Django nor Celery": ("execution_engine/metrics/spec.py", "celery"),
    "What plans and claims asks engines by their protocol alone": (
        "execution_engine/parts/part_states.py",
        "execution_engine.engines.files.listing",
    ),
    "No circles among neighbours, at any depth": (
        "execution_engine/scans/ask.py",
        "execution_engine.scans.run_scan",
    ),
}


def test_every_contract_holds() -> None:
    assert broken(ROOT) == set()


def test_every_contract_can_break() -> None:
    assert set(OFFENCES) == {str(contract["name"]) for contract in CONTRACTS}


@pytest.mark.parametrize("contract", OFFENCES)
def test_a_forbidden_import_breaks_its_contract(contract: str, tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    offender, imported = OFFENCES[contract]
    path = tmp_path / offender
    path.write_text(f"{path.read_text()}\nimport {imported}\n")
    assert contract in broken(tmp_path)


def test_every_room_has_its_place_in_an_order() -> None:
    placed = {
        room.strip()
        for contract in CONTRACTS
        if contract["type"] == "layers"
        for layer in contract["layers"]  # type: ignore[attr-defined]
        for room in layer.replace(":", "|").split("|")
    }
    rooms = {
        f"{Path(package).name}.{path.stem}"
        for package in PACKAGES
        for path in (ROOT / package).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    left_out = {room for room in rooms - placed if room.rpartition(".")[2] not in {*IN_NO_ORDER, "__init__"}}
    assert left_out == set()


def test_every_module_that_says_that_it_is_pure_is_held_to_it() -> None:
    (pure,) = [contract["source_modules"] for contract in CONTRACTS if str(contract["name"]).startswith("Pure")]
    held = tuple(str(name) for name in pure)  # type: ignore[attr-defined]
    loose = [name for name in said_pure() if not any(name == each or name.startswith(f"{each}.") for each in held)]
    assert loose == []


def said_pure() -> Iterator[str]:
    """The modules whose docstring says "(pure)"."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            said = ast.get_docstring(ast.parse(path.read_text())) or ""
            if "(pure)" in said.partition("\n\n")[0]:
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                yield name.removeprefix("platform.").removesuffix(".__init__")


def broken(root: Path) -> set[str]:
    """The names of the contracts that the packages below a folder break."""
    seen = {**os.environ, "PYTHONPATH": f"{root / 'platform'}:{root}", "COLUMNS": "300"}
    done = subprocess.run([LINTER, "--no-cache"], cwd=root, env=seen, capture_output=True, text=True)
    assert "Contracts: " in done.stdout, done.stdout + done.stderr
    return {line.removesuffix(" BROKEN") for line in done.stdout.splitlines() if line.endswith(" BROKEN")}
