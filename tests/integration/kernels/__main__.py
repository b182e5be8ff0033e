"""``python -m tests.integration.kernels``: random conditions, row by row, by Spark and by the kernels."""

import argparse
import os
import sys
import time
from itertools import count

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.start.session import SparkOptions
from tests import java

from .both import Tally, judged

OF_A_TABLE = 500  # conditions


def main() -> None:
    """Ask until so many were answered by both; exits with 1 where any row differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.kernels", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="conditions that both answer (default: 200,000)")
    parser.add_argument("--first", type=int, default=0, help="the number that draws the first table (default: 0)")
    given = parser.parse_args()
    os.environ.setdefault("SPARK_SUBMIT_OPTS", java.options())
    engine, total, began = SparkEngine(SparkOptions(master="local[2]")), Tally(), time.monotonic()
    for seed in count(given.first):
        one = judged(engine.session, seed, OF_A_TABLE)
        total.add(one)
        for difference in one.differing:
            print(difference, flush=True)
        if total.ends["native"] >= given.count:
            break
        if seed % 20 == 19:
            print(f"to table {seed}: {dict(total.ends)} in {time.monotonic() - began:.0f} s", flush=True)
    print(report(total, given.first, seed, time.monotonic() - began))
    sys.exit(bool(total.differing))


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
