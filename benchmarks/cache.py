"""Where tables, environments and results are kept between runs."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def home() -> Path:
    """``$ASSAY_BENCH_HOME``, else ``.assay/bench`` of the checkout; made if need be."""
    folder = Path(os.environ.get("ASSAY_BENCH_HOME") or ROOT / ".assay" / "bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """``folder``, filled by ``make`` unless an earlier run did; one that was cut short is made anew."""
    if folder.exists():
        return folder
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    make(unfinished)
    unfinished.rename(folder)
    return folder
