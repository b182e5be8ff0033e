"""A plugin of pytest: the module that ``ASSAY_MUTANT`` names is read from another file; none on disk is changed."""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType


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


if "ASSAY_MUTANT" in os.environ:
    name, _, path = os.environ["ASSAY_MUTANT"].partition("=")
    assert name not in sys.modules, f"{name} is imported before its mutant"
    sys.meta_path.insert(0, Finder(name, path))
