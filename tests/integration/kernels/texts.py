"""Gigabytes of text in one row group: what the kernels say of it, what Spark says, and the memory that they take."""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.native.values import texts_of
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.scan import measure
from execution_engine.engines.spark.sources import open_source
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.alike import alike

GIGABYTE = 10**9
MOST_MEMORY = GIGABYTE  # of a worker: it reads batches, each of 64 MiB at most
CHUNK = 10**8  # bytes of text that are made at once
ASKED = (
    MetricSpec(name="row_count", where="text like '%a%'"),
    MetricSpec(name="completeness", columns=("text",)),
    MetricSpec(name="min_length", columns=("text",)),
    MetricSpec(name="max_length", columns=("text",), where="text < 'n'"),
    MetricSpec(name="pattern_match", columns=("text",), arguments=("^[a-m]",)),
    MetricSpec(name="approx_count_distinct", columns=("text",)),
)


def _apart(count: int) -> pa.Array:
    """Texts of 400 letters, all different."""
    letters = np.random.default_rng(count).integers(97, 123, 400 * count, dtype=np.uint8)
    ends = np.arange(0, 400 * count + 1, 400, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), pa.py_buffer(letters)])


def _some(texts: int, length: int) -> Callable[[int], pa.Array]:
    """So many different texts of this length, each many times."""
    draw = random.Random(7)
    known = texts_of(["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8)) * (length // 8) for _ in range(texts)])

    def drawn(count: int) -> pa.Array:
        return known.take(pa.array(np.random.default_rng(count).integers(0, texts, count)))

    return drawn


MAKES: Mapping[str, tuple[int, Callable[[int], pa.Array], bool]] = {  # bytes of a text, texts, whether packed
    "a dictionary of 200 texts of 4,000 bytes": (4000, _some(200, 4000), True),
    "a dictionary of 40 texts of 100,000 bytes": (100_000, _some(40, 100_000), True),
    "plain pages of 200 texts of 4,000 bytes": (4000, _some(200, 4000), False),
    "plain pages": (400, _apart, False),
    "a dictionary that is full soon, then plain pages": (400, _apart, True),
}


def compare_texts(engine: SparkEngine, gigabytes: float) -> bool:
    """Whether, of any make, the two differ or a worker took too much memory; it prints what each took."""
    wrong = False
    for make, (length, texts, is_packed) in MAKES.items():
        with TemporaryDirectory() as folder:
            _write(Path(folder) / "a.parquet", int(gigabytes * GIGABYTE), length, texts, is_packed)
            said, memory = {}, {}
            for native in (True, False):
                with watched() as workers:
                    began = time.monotonic()
                    said[native] = _measured(engine, folder, native)
                    memory[native] = max(workers.values(), default=0)
                who = "kernels" if native else "Spark"
                print(f"{make}: {who} in {time.monotonic() - began:.1f} s, a Python worker of {memory[native]:,} bytes")
            differing = [
                spec.text for spec in ASKED if not alike(spec, said[True][spec.text], said[False][spec.text], {})
            ]
            wrong |= bool(differing) or memory[True] > MOST_MEMORY
            print(f"{make}: {_size(folder):,} bytes, what differs: {', '.join(differing) or 'nothing'}", flush=True)
    return wrong


def _write(path: Path, size: int, length: int, texts: Callable[[int], pa.Array], is_packed: bool) -> None:
    """One row group of so many bytes of text."""
    chunks = [texts(min(CHUNK, size - at) // length) for at in range(0, size, CHUNK)]
    table = pa.table({"text": pa.chunked_array(chunks)})
    limit = {"dictionary_pagesize_limit": 8 * 2**20}  # so that 40 long texts are one dictionary
    pq.write_table(table, path, row_group_size=len(table), use_dictionary=is_packed, write_statistics=False, **limit)
    assert pq.read_metadata(path).num_row_groups == 1


def _size(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).iterdir())


def _measured(engine: SparkEngine, folder: str, native: bool) -> Mapping[str, Measured]:
    source = open_source(engine.session, Table(name="texts", storage="parquet", location=folder), WHOLE)
    taken = measure(
        source, [MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in ASKED], native=native
    )
    print(f"  read by: {taken.read_by}")
    return taken.measured


@contextmanager
def watched() -> Iterator[dict[int, int]]:
    """The most memory that Spark's Python processes below this one have held, by their ids; seen ten times a second."""
    found: dict[int, int] = {}
    done = Event()
    for pid in workers():  # of earlier scans
        with suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the most that it has held is what it holds now

    def watch() -> None:
        while not done.wait(0.1):
            found.update({pid: held for pid in workers() if (held := peak(pid)) > found.get(pid, 0)})

    watching = Thread(target=watch)
    watching.start()
    try:
        yield found
    finally:
        done.set()
        watching.join()


def workers() -> Iterator[int]:
    """Spark's Python processes below this one."""
    parents: dict[int, int] = {}
    ours: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if "pyspark.daemon" in (folder / "cmdline").read_text(errors="replace"):
                    ours.add(int(folder.name))
    for pid in ours:
        above: int | None = pid
        while above is not None and above != os.getpid():
            above = parents.get(above)
        if above is not None:
            yield pid


def peak(pid: int) -> int:
    """The most bytes that it has held at once; 0 where it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
