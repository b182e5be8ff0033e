"""``python -m tests.integration.kernels``: random conditions, row by row, by Spark and by the kernels."""

import argparse
import os
import sys
import time
from itertools import count

from pyspark.sql import SparkSession

from execution_engine.engines.native import reading
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.start.session import SparkOptions
from tests import java

from .both import judged
from .by_kernels import Tally
from .kept import KEPT, KEPT_TABLES, OF_A_KEPT, keep

FEW_BYTES, PACKED = reading.FEW_BYTES, 1 << 30  # of every other table all texts that are packed are read so
OF_A_TABLE = 500  # conditions
PATIENT = {"spark.network.timeout": "10h", "spark.executor.heartbeatInterval": "1h"}  # the machine may sleep meanwhile
GENERATED, GUARDED = 3, 10  # of so many tables one is asked of generated code, and one under conditions from the guard


def main() -> None:
    """Ask until so many were answered by both; exits with 1 where any row differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.kernels", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="conditions that both answer (default: 200,000)")
    parser.add_argument("--first", type=int, default=0, help="the number that draws the first table (default: 0)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} anew, and ask no more")
    given = parser.parse_args()
    os.environ.setdefault("SPARK_SUBMIT_OPTS", java.options())
    session = SparkEngine(SparkOptions(master="local[2]", conf=PATIENT)).session
    if given.keep:
        return keep({seed: judged(session, seed, OF_A_KEPT)[1] for seed in KEPT_TABLES})
    total, began = Tally(), time.monotonic()
    for seed in count(given.first):
        generate(session, seed % GENERATED == 0)
        reading.FEW_BYTES = PACKED if seed % 2 else FEW_BYTES
        total.add(judged(session, seed, OF_A_TABLE, guarded=seed % GUARDED == 0)[0])
        if total.ends["native"] >= given.count:
            break
        if seed % 20 == 19:
            print(f"to table {seed}: {dict(total.ends)} in {time.monotonic() - began:.0f} s", flush=True)
            print(*total.differing, sep="\n", flush=True)
    print(report(total, given.first, seed, time.monotonic() - began))
    print(*total.differing, sep="\n")
    sys.exit(bool(total.differing))


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


if __name__ == "__main__":
    main()
