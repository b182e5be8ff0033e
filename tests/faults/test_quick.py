"""The short subset of the fault experiments, on real processes: nothing is violated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cache import ROOT

LIMIT = 1200.0  # seconds; it takes three minutes on two quiet cores


@pytest.mark.timeout(LIMIT + 60)
def test_no_invariant_is_violated_by_any_fault(tmp_path: Path) -> None:
    told, home = tmp_path / "results.json", tmp_path / "home"
    command = [sys.executable, "-m", "tests.faults", "--quick", "--json", str(told), "--home", str(home)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "platform"), str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert told.exists(), done.stderr[-3000:]
    violated = {
        f"{result['number']} {result['title']}: {invariant}": violations[:3]
        for result in json.loads(told.read_text())
        for invariant, violations in result["violations"].items()
        if violations
    }
    assert violated == {}
    assert done.returncode == 0
