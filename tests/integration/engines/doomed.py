"""An engine for tests of the child that hosts it: Spark, whose tasks in Python meet an end that a file names."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from execution_engine.engines.protocol import ScanReport, SparkOptions, Unit
from execution_engine.engines.spark import kernels
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.keys import engine as keys_engine

HOSTED = f"{__name__}:Doomed"
FOLDER = "spark.assay.doom"  # the setting that names a folder, where each task that begins leaves a sign
NOTHING, KILLED, FILLED, ASLEEP = "nothing", "killed", "filled", "asleep"
NATIVE = "native"  # a file of that folder, without which the kernels are off
FILLS_BYTES, AT_ONCE_BYTES = 3 * 1024**3, 2**26
ASLEEP_SECONDS = 600

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Doomed(SparkEngine):
    """With the kernels' tasks, and those of Spark alone that build a filter of keys."""

    def __init__(self, options: SparkOptions) -> None:
        super().__init__(options)
        self._folder = folder = Path(options.conf[FOLDER])
        of_kernels, of_filters = vars(kernels), vars(keys_engine)
        of_kernels["_task"] = doomed(of_kernels["_task"], folder)
        of_filters["filler"] = doomed(of_filters["filler"], folder)

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        self._options = replace(self._options, native=(self._folder / NATIVE).exists())
        return super().scan_all(units)


def doom(folder: Path, how: str, *, native: bool = True) -> None:
    """What tasks meet from now on, and whether the kernels are on; the signs of earlier tasks are forgotten."""
    for sign in folder.glob("begun-*"):
        sign.unlink()
    (folder / "doom").write_text(how)
    (folder / NATIVE).touch() if native else (folder / NATIVE).unlink(missing_ok=True)


def begun(folder: Path) -> int:
    """How many tasks have begun, each attempt of its own."""
    return len(list(folder.glob("begun-*")))


def doomed(make: Callable[..., Task], folder: Path) -> Callable[..., Task]:
    """Makes the tasks that ``make`` does, which meet their end first."""

    def made(*arguments: Any) -> Task:
        work = make(*arguments)

        def late(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            (folder / f"begun-{time.time_ns()}-{os.getpid()}").touch()
            how = (folder / "doom").read_text()
            if how == KILLED:
                os.kill(os.getpid(), signal.SIGKILL)
            if how == ASLEEP:
                time.sleep(ASLEEP_SECONDS)
            held: list[bytes] = []
            while how == FILLED and len(held) * AT_ONCE_BYTES < FILLS_BYTES:
                held.append(b"x" * AT_ONCE_BYTES)
                time.sleep(0.05)
            yield from work(batches)

        return late

    return made
