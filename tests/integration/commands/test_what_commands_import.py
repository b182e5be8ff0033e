"""A command imports and starts what it needs, as a shell step that asks the gate waits for all of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HEAVY = (
    *("celery", "datasketches", "drf_spectacular.openapi", "numpy", "pandas", "pyarrow", "pyspark", "requests"),
    *("sqlalchemy", "sqlglot", "xxhash"),
)
CATALOG = ROOT / "examples" / "catalog.yaml"
SAID = """
import sys
from assay.command_line.cli import run
code = run(sys.argv[1:])
imported = set(sys.modules) & set(%r)
migrations = [name for name in sys.modules if ".migrations." in name and name.startswith("assay")]
print("IMPORTED", code, *sorted(imported), len(migrations))
"""


def done_by(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process and a home of its own."""
    return subprocess.run(
        [sys.executable, "-c", SAID % (HEAVY,), *arguments],
        cwd=home,
        env={
            **os.environ,
            "ASSAY_HOME": str(home),
            "ASSAY_DATABASE_URL": "",
            "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=240,
    )


def imported_by(home: Path, *arguments: str) -> str:
    """The exit code of a command, the heavy packages that it imported, and how many migrations of ours."""
    done = done_by(home, *arguments)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("IMPORTED")] or [done.stderr]
    return line.removeprefix("IMPORTED ")


@pytest.mark.timeout(600)
def test_the_gate_imports_no_engine_no_api_and_no_migration_of_a_database_that_lacks_none(tmp_path: Path) -> None:
    assert imported_by(tmp_path, "gate", "raw.trips").startswith("3 ")  # a new home: its tables are made
    assert imported_by(tmp_path, "gate", "raw.trips") == "3 0"
    assert imported_by(tmp_path, "sync", str(CATALOG)).startswith("0 ")
    assert imported_by(tmp_path, "gate", "app.orders") == "0 0"


def test_the_gate_says_its_answer_and_no_line_of_a_log_unless_asked_for_it(tmp_path: Path) -> None:
    done_by(tmp_path, "sync", str(CATALOG))
    silent, told = (done_by(tmp_path, "gate", "app.orders", **asked) for asked in ({}, {"ASSAY_LOG_LEVEL": "INFO"}))
    assert (silent.returncode, silent.stderr) == (0, "")
    assert silent.stdout.startswith("allow (the data is untested)\n")
    assert "decision=allow" in told.stderr
