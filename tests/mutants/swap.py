"""A plugin of pytest: the module that ``ASSAY_MUTANT`` names is read from another file; none on disk is changed.

``ASSAY_MIGRATED`` names a database of SQLite that is migrated: the tests begin with a copy of it.
"""

import os
import sqlite3
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from django.core.management.base import BaseCommand
from django.core.management.commands import migrate
from django.db import connections


class Mutated(SourceFileLoader):
    """Loads a module from the mutant's text; all else knows it by its own path."""

    def get_code(self, fullname: str) -> CodeType:
        """The mutant, compiled."""
        code: CodeType = compile(Path(os.environ["ASSAY_MUTANT_SOURCE"]).read_text(), self.path, "exec")
        return code


class Finder(MetaPathFinder):
    """Finds the mutant before anybody finds the original."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The mutant's spec for its name; None for all others."""
        if fullname != self.name:
            return None
        inside = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return spec_from_file_location(
            fullname, self.path, loader=Mutated(fullname, self.path), submodule_search_locations=inside
        )


def copy_migrated(command: BaseCommand, *_: object, database: str, **__: object) -> None:
    """What `migrate` does in a trial: copying takes a hundredth of its time."""
    connections[database].ensure_connection()
    with sqlite3.connect(os.environ["ASSAY_MIGRATED"]) as source:
        source.backup(connections[database].connection)


if "ASSAY_MIGRATED" in os.environ:
    migrate.Command.handle = copy_migrated  # type: ignore[assignment,method-assign]
if "ASSAY_MUTANT" in os.environ:
    name, _, path = os.environ["ASSAY_MUTANT"].partition("=")
    assert name not in sys.modules, f"{name} is imported before its mutant"
    sys.meta_path.insert(0, Finder(name, path))
