"""What ``assay --help`` lists."""

from pathlib import Path

from assay.command_line.cli import USAGE

ROOT = Path(__file__).parents[3]


def test_every_command_is_listed() -> None:
    commands = {
        path.stem
        for path in ROOT.glob("*/**/management/commands/*.py")
        if not path.stem.startswith("_") and ".venv" not in path.parts
    }
    listed = {line.split()[0] for line in USAGE.splitlines() if line.startswith("  ")}
    assert {"sync", "claim"} <= commands
    assert commands - listed == set()
