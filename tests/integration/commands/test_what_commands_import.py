"""A command imports and starts what it needs, as a shell step that asks the gate waits for all of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HEAVY = ("celery", "drf_spectacular.openapi", "pandas", "pyspark", "requests", "sqlalchemy")
SAID = """
import sys
from assay.cli import run
code = run(sys.argv[1:])
imported = set(sys.modules) & set(%r)
migrations = [name for name in sys.modules if ".migrations." in name and name.startswith("assay")]
print("IMPORTED", code, *sorted(imported), len(migrations))
"""


def imported_by(home: Path, *arguments: str) -> str:
    """The exit code of a command, the heavy packages that it imported, and how many migrations of ours."""
    done = subprocess.run(
        [sys.executable, "-c", SAID % (HEAVY,), *arguments],
        cwd=home,
        env={
            **os.environ,
            "ASSAY_HOME": str(home),
            "ASSAY_DATABASE_URL": "",
            "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("IMPORTED")] or [done.stderr]
    return line.removeprefix("IMPORTED ")


@pytest.mark.timeout(600)
def test_the_gate_imports_no_engine_no_api_and_no_migration_of_a_database_that_lacks_none(tmp_path: Path) -> None:
    assert imported_by(tmp_path, "gate", "raw.trips").startswith("3 ")  # a new home: its tables are made
    assert imported_by(tmp_path, "gate", "raw.trips") == "3 0"
