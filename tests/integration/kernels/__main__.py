"""``python -m tests.integration.kernels``: conditions by row, ``scans``, those of the ``zoo`` or long ``texts``."""

import argparse
import os
import sys
import time
from itertools import count

from pyspark.sql import SparkSession

from execution_engine.engines.native import reading
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark import kernels
from execution_engine.engines.spark.engine import SparkEngine
from tests import java
from tests.integration.storages import FOLDER, ORC, STORAGES, TABLE, running
from tests.zoo.tables import names, specimens

from .both import judged
from .by_kernels import Tally
from .halves import halved
from .kept import KEPT, KEPT_TABLES, OF_A_KEPT, keep
from .scans import Scans, scanned
from .texts import compare_texts
from .zoo import scanned_specimen

FEW_BYTES, PACKED = reading.FEW_BYTES, 1 << 30  # of every other table all texts that are packed are read so
ROWS, FEW_ROWS = reading.ROWS, 23  # of a batch: of every third table few, so that batches are put together
OF_A_TABLE = 500  # conditions
SCANS_OF_A_TABLE, SCANS_OF_A_LAKE, SCANS_OF_A_SPECIMEN = 60, 12, 4
PATIENT = {"spark.network.timeout": "10h", "spark.executor.heartbeatInterval": "1h"}  # the machine may sleep meanwhile
GENERATED, GUARDED = 3, 10  # of so many tables one is asked of generated code, and one under conditions from the guard
OF_TEXTS = "8g"  # without it Java dies of gigabytes of plain pages, which the kernels read in half a gigabyte
SCANS_GENERATED, HALVED = 20, 7  # of so many tables one is scanned by generated code, and one by halves


def main() -> None:
    """Ask until so many were answered by both; exits with 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.kernels", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["conditions", "scans", "zoo", "texts"], default="conditions")
    parser.add_argument("--count", type=int, help="that both answer (default: 200,000 conditions, 20,000 scans)")
    parser.add_argument("--first", type=int, default=0, help="the number that draws the first table (default: 0)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} anew, and ask no more")
    parser.add_argument("--gigabytes", type=float, default=2.1, help="of texts in a row group (default: 2.1)")
    parser.add_argument("--storage", choices=[*STORAGES, TABLE, ORC], default=FOLDER, help="of scans (default: folder)")
    given = parser.parse_args()
    vars(kernels)["comes_along"] = lambda *_: False  # the kernels take all that they can
    os.environ.setdefault("SPARK_SUBMIT_OPTS", java.options())
    with running(given.storage):
        sys.exit(ask(given))


def ask(given: argparse.Namespace) -> bool:
    """Whether anything differs of what was asked for on the command line."""
    memory = OF_TEXTS if given.what == "texts" else ""
    engine = SparkEngine(SparkOptions(master="local[2]", conf=PATIENT, memory=memory))
    session = engine.session
    if given.keep:
        keep({seed: judged(session, seed, OF_A_KEPT)[1] for seed in KEPT_TABLES})
        return False
    if given.what == "texts":
        return compare_texts(engine, given.gigabytes)
    if given.what == "zoo":
        return ask_zoo(session, given.first, given.count)
    if given.what == "scans":
        return ask_scans(session, given.first, given.count or 20_000, given.storage)
    return ask_conditions(session, given.first, given.count or 200_000)


def ask_conditions(session: SparkSession, first: int, wanted: int) -> bool:
    """Whether any of so many differs on any row."""
    total, began = Tally(), time.monotonic()
    for seed in count(first):
        generate(session, seed % GENERATED == 0)
        reading.FEW_BYTES = PACKED if seed % 2 else FEW_BYTES
        total.add(judged(session, seed, OF_A_TABLE, guarded=seed % GUARDED == 0)[0])
        if total.ends["native"] >= wanted:
            break
        if seed % 20 == 19:
            print(f"to table {seed}: {dict(total.ends)} in {time.monotonic() - began:.0f} s", flush=True)
            print(*total.differing, sep="\n", flush=True)
    print(report(total, first, seed, time.monotonic() - began))
    print(*total.differing, sep="\n")
    return bool(total.differing)


def ask_scans(session: SparkSession, first: int, wanted: int, storage: str = FOLDER) -> bool:
    """Whether any of so many differs in any value, state or reason."""
    total, began = Scans(), time.monotonic()
    for seed in count(first):
        generate(session, seed % SCANS_GENERATED == 0)
        reading.FEW_BYTES = PACKED if seed % 2 else FEW_BYTES
        reading.ROWS = ROWS if seed % 3 else FEW_ROWS
        known = len(total.differing)
        if storage == FOLDER and seed % HALVED == 0:
            total.add(halved(session, seed, SCANS_OF_A_TABLE))
        else:
            total.add(scanned(session, seed, SCANS_OF_A_TABLE if storage == FOLDER else SCANS_OF_A_LAKE, storage))
        print(*total.differing[known:], sep="\n", end="\n" if total.differing[known:] else "", flush=True)
        if total.ends["scans of which both read a value"] >= wanted:
            break
        if seed % 10 == 9:
            print(f"to table {seed}: {dict(total.ends)} in {time.monotonic() - began:.0f} s", flush=True)
    print(report_of_scans(total, first, seed, time.monotonic() - began))
    return bool(total.differing)


def ask_zoo(session: SparkSession, first: int, wanted: int | None) -> bool:
    """Whether any scan of the zoo's tables, or of so many from the first, differs."""
    total, began = Scans(), time.monotonic()
    generate(session, False)
    some = names()[first:] if wanted is None else names()[first : first + wanted]
    for specimen in specimens(some):
        found = scanned_specimen(session, specimen, SCANS_OF_A_SPECIMEN)
        total.add(found)
        print(*found.differing, sep="\n", end="\n" if found.differing else "", flush=True)
    print(report_of_scans(total, first, first + len(some) - 1, time.monotonic() - began))
    return bool(total.differing)


def generate(session: SparkSession, on: bool) -> None:
    """Whether Spark writes Java for the query, or evaluates its tree, which is cheaper for so few rows."""
    session.conf.set("spark.sql.codegen.wholeStage", str(on).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if on else "NO_CODEGEN")


def report(total: Tally, first: int, last: int, seconds: float) -> str:
    """What became of all conditions."""
    ends = total.ends
    lines = [
        f"tables {first} to {last} in {seconds:.0f} s: {ends['native']:,} of {ends['asked']:,} conditions were answered"
        f" by both, {ends['refused by the guard']:,} refused by the guard, {total.declined.total():,} left to Spark",
        f"rows: {total.truths[1]:,} met, {total.truths[0]:,} not met, {total.truths[-1]:,} NULL",
        f"conditions that differ: {len(total.differing):,}",
        *(f"{number:8,}  {why}" for why, number in total.declined.most_common(30)),
    ]
    return "\n".join(lines)


def report_of_scans(total: Scans, first: int, last: int, seconds: float) -> str:
    """What became of all scans."""
    lines = [
        f"tables {first} to {last} in {seconds:.0f} s: {total.metrics.total():,} values were read by both",
        *(f"{number:8,}  {what}" for what, number in total.ends.items()),
        f"values that differ: {len(total.differing):,}",
        "values that both read:",
        *(f"{number:8,}  {name}" for name, number in total.metrics.most_common()),
        "why what they are made of was left to Spark:",
        *(f"{number:8,}  {why}" for why, number in total.declined.most_common(20)),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
