"""``assay verify`` as a user calls it, of which the process that has Java is watched."""

from pathlib import Path

import pytest

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine


def verify_without_java(folder: Path, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All checks of ``a.parquet`` in the folder hold, and no Java was started for them."""
    (folder / "checks.yaml").write_text(checks)
    monkeypatch.chdir(folder)
    engine = ChildEngine()
    with storage.using(engine):
        assert run_command(["verify", "a.parquet", "--checks", "checks.yaml"]) == ExitCode.HELD
        assert engine.pid is None
