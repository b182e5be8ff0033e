"""What Spark said of some conditions, kept for tests that start no Spark: a line of JSON each."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .by_kernels import Truths

KEPT = Path(__file__).with_name("spark_says.txt")
KEPT_TABLES, OF_A_KEPT = range(8), 80
_SIGNS = {1: "+", 0: "-", -1: "?"}
_TRUTHS = {sign: truth for truth, sign in _SIGNS.items()}


def keep(said: Mapping[int, Mapping[str, Truths | str]]) -> None:
    """Write what Spark says of each table's conditions, by the number that draws it."""
    lines = [
        json.dumps([seed, "".join(_SIGNS[int(truth)] for truth in truths), sql], ensure_ascii=True)
        for seed, of_table in said.items()
        for sql, truths in of_table.items()
    ]
    KEPT.write_text("\n".join(lines) + "\n")


def kept(seed: int) -> dict[str, Truths]:
    """What Spark said of the conditions of one table."""
    lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {sql: np.array([_TRUTHS[sign] for sign in truths], dtype=np.int8) for of, truths, sql in lines if of == seed}
