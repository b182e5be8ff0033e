"""The demo's home: a folder of its own, wiped by each demo, and never one that holds anything else."""

import shutil
from pathlib import Path

from django.core.management import call_command
from django.db import connections

MARKER = "demo"
MADE_BY_SETTINGS = frozenset({"secret_key"})  # written by whichever command is first


class UnableToUseHome(Exception):
    """The folder holds something that is not a demo's."""


def prepare(home: Path) -> None:
    """An empty home with an empty database; raises UnableToUseHome."""
    claim(home)
    connections.close_all()
    wipe(home)
    call_command("migrate", verbosity=0)


def claim(home: Path) -> None:
    """Mark the folder as a demo's, unless it is in use for something else."""
    home.mkdir(parents=True, exist_ok=True)
    found = {path.name for path in home.iterdir()} - MADE_BY_SETTINGS
    if found and MARKER not in found:
        raise UnableToUseHome(
            f"{home} holds {', '.join(sorted(found)[:5])} and was not made by a demo, which would wipe it: "
            "set ASSAY_HOME to a folder that is not there yet"
        )
    (home / MARKER).write_text("Made by `assay demo`, which wipes this folder.\n")


def wipe(home: Path) -> None:
    """Remove all but the marker and what the settings have read already."""
    for path in home.iterdir():
        if path.name in MADE_BY_SETTINGS | {MARKER}:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
