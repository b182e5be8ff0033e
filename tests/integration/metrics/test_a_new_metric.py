"""A metric is one file and one line: a toy of each kind is added so to a copy of the project, and used there."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
METRICS = "execution_engine/metrics"
PACKAGES = ("platform", "test_generator", "execution_engine", "incident_manager", "alerting", "web", "tests", "docs")
WRITE_THE_PAGE = ("-m", "tests.unit.execution_engine.metrics.metrics_page")
RECIPE = f"tests/unit/{METRICS}/test_registry.py"  # what fails where a part of the recipe is left out


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, with one file and one line more for each toy, and with the page that is written from them."""
    project = tmp_path_factory.mktemp("project")
    for name in PACKAGES:
        copytree(ROOT / name, project / name, ignore=ignore_patterns("*.png", "*.pyc.*"))
    (project / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    registry = project / METRICS / "registry.py"
    for toy in sorted((HERE / "toys").glob("*.py")):
        (project / METRICS / "definitions" / toy.name).write_bytes(toy.read_bytes())
        registry.write_text(registry.read_text().replace("\n)\n", f'\n    "{toy.stem}",\n)\n', 1))
    _python(project, *WRITE_THE_PAGE)
    return project


@pytest.mark.timeout(900)
def test_a_metric_of_each_kind_is_one_file_and_one_line(copy: Path) -> None:
    _python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/integration/metrics/a_new_metric.py", RECIPE)


def _python(project: Path, *arguments: str) -> None:
    """Run a command in the copy, where nothing but its own code is found."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "PYTHONPATH"))}
    paths = os.pathsep.join((str(project / "platform"), str(project)))
    done = subprocess.run(
        (sys.executable, *arguments),
        cwd=project,
        env={**kept, "PYTHONPATH": paths, "ASSAY_HOME": str(project / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
