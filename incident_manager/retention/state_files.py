"""Files of the state store that no row names any more: those of rows that went, or of work that never ended."""

import time
from pathlib import Path

from assay.config import config
from assay.models import Tallied
from assay.queue.tallies import tally
from execution_engine.models import AcceptedPast, Measurement, PartState

from .walk_table import Batch, Keeping

NAME = "state_files"
FOLDERS = 256  # of the store, by the first byte of what a file is called
UNTOUCHED = 24 * 3600.0  # seconds; a younger file may belong to a transaction that is still open


class StateFiles:
    """The folders of the store, one a batch."""

    name = NAME
    goes_on = False

    def batch(self, after: int, keeping: Keeping) -> Batch:
        """Remove what is orphaned in the folder behind the first ``after``."""
        store = config().states
        removed = sum(_removed(store, path) for path in _orphans(store, store / f"{after:02x}"))
        if removed:
            tally(Tallied.PRUNED, NAME, removed)
        return Batch(reached=after + 1, is_end=after + 1 >= FOLDERS or not store.exists(), removed=removed)


def _orphans(store: Path, folder: Path) -> set[str]:
    old = {
        str(path.relative_to(store)) for path in (folder.iterdir() if folder.is_dir() else ()) if _is_untouched(path)
    }
    for model in (AcceptedPast, Measurement, PartState):
        old -= set(model._default_manager.filter(state_path__in=old).values_list("state_path", flat=True))
    return old


def _is_untouched(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - UNTOUCHED
    except FileNotFoundError:
        return False


def _removed(store: Path, name: str) -> bool:
    """Whether the file went; one that was stored again just now has been touched, and stays."""
    path = store / name
    if not _is_untouched(path):
        return False
    path.unlink(missing_ok=True)
    return True
