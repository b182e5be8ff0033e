"""CPU seconds of this process for one query by DuckDB, whose SQL is read from the input; median of so many rounds."""

import os
import sys
from statistics import median

import duckdb


def _seconds() -> float:
    times = os.times()
    return times.user + times.system


def main() -> None:
    """Print the median after one round that warms up."""
    sql, rounds = sys.stdin.read(), int(sys.argv[1])
    connection, spent = duckdb.connect(), []
    for _ in range(rounds + 1):
        before = _seconds()
        connection.sql(sql).fetchall()
        spent.append(_seconds() - before)
    print(median(spent[1:]))


if __name__ == "__main__":
    main()
