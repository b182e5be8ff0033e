"""What is mutated: the modules that the import contract calls pure, and the services and selectors that choose rows."""

import tomllib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[2]
PURE_CONTRACT = "Pure modules know no framework: data in, data out"
CHOOSES_ROWS = (
    "platform/assay/catalog/services.py",
    "platform/assay/catalog/selectors.py",
    "platform/assay/queue/claims.py",
    *(f"test_generator/{room}.py" for room in ("data_tests", "sync", "generation/*")),
    *(f"execution_engine/{room}.py" for room in ("selectors", "quarantine", "watch")),
    *(f"execution_engine/{room}/*.py" for room in ("planning", "parts", "freshness", "scans", "runs")),
    "alerting/selectors.py",
    "alerting/state.py",
    *(f"alerting/{room}/*.py" for room in ("verdicts", "standings", "inhibition", "alerts", "notices")),
    *(f"incident_manager/{room}.py" for room in ("reports", "reruns", "retention")),
    *(f"incident_manager/{room}/*.py" for room in ("incidents", "quality", "gate", "scores")),
    "web/access/who.py",
)
PACKAGES = ("assay", "test_generator", "execution_engine", "alerting", "incident_manager", "web")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A module that is mutated, and the folders of its own package's tests."""

    path: Path
    is_pure: bool

    @property
    def name(self) -> str:
        """Its name as Python imports it."""
        below = self.path.relative_to(ROOT).with_suffix("").parts
        parts = below[1:] if below[0] == "platform" else below
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        """The package it belongs to."""
        return self.name.partition(".")[0]

    @property
    def tests(self) -> tuple[str, ...]:
        """The folders of its package's tests; those of pure modules start nothing."""
        kinds = ("unit",) if self.is_pure else ("unit", "integration")
        folders = [f"tests/{kind}/{self.package}" for kind in kinds]
        folders += ["tests/integration/commands"] if self.package == "assay" and not self.is_pure else []
        return tuple(folder for folder in folders if (ROOT / folder).exists())


def targets() -> list[Target]:
    """Every module that is mutated, pure ones first."""
    pure = sorted(set(chain.from_iterable(_files(name) for name in _pure_names())))
    rows = sorted({path for pattern in CHOOSES_ROWS for path in ROOT.glob(pattern)} - set(pure))
    return [Target(path=path, is_pure=path in pure) for path in (*pure, *rows)]


def _pure_names() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (pure,) = [contract["source_modules"] for contract in contracts if contract["name"] == PURE_CONTRACT]
    return list(pure)


def _files(name: str) -> list[Path]:
    """The files of a module or package."""
    place = ROOT / ("platform" if name.startswith("assay.") else "") / Path(*name.split("."))
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
