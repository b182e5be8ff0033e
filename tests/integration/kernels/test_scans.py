"""Slices of conditions, scans and tables of strangers, and what Spark documents: the kernels do as Spark does."""

from pathlib import Path

import pytest

from execution_engine.engines.native import reading
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.sources import open_source
from tests.fixture_types import Patch
from tests.integration.storages import DELTA, ICEBERG, ORC, TABLE
from tests.zoo.tables import OTHERS, chosen, specimens

from .__main__ import FEW_ROWS, PACKED
from .both import by_spark, judged
from .by_kernels import Tally
from .documented import CASES, condition, told, write_cases
from .halves import halved
from .kept import KEPT_TABLES, OF_A_KEPT, kept
from .scans import Scans, scanned
from .zoo import scanned_specimen

COUNT, SEED = 3, 20261122
ODD_NAMES = ["MASS/Cars93", "AER/CPS1985"]  # with dots, and a text called union


def test_scans_measure_by_kernels_what_they_measure_by_spark(
    spark_engine_without_code: SparkEngine, monkeypatch: Patch
) -> None:
    """``python -m tests.integration.kernels scans`` asks 20,000 of them."""
    total = Scans()
    for seed in range(4):
        monkeypatch.setattr(reading, "FEW_BYTES", PACKED if seed % 2 else reading.FEW_BYTES)
        monkeypatch.setattr(reading, "ROWS", FEW_ROWS if seed % 2 else reading.ROWS)
        total.add(scanned(spark_engine_without_code.session, seed, 12))
    assert total.differing == []
    assert total.ends["scans of which both read a value"] > 40
    assert total.metrics.total() > 200


@pytest.mark.parametrize("storage", [ICEBERG, DELTA, TABLE])
def test_scans_of_lakes_and_catalogs_measure_what_spark_does_of_a_folder_of_their_rows(
    spark_engine_without_code: SparkEngine, storage: str
) -> None:
    """``python -m tests.integration.kernels scans --storage iceberg`` asks hundreds of them."""
    total = Scans()
    for seed in range(3):
        total.add(scanned(spark_engine_without_code.session, seed, 4, storage))
    assert total.differing == []
    assert total.metrics.total() > 30
    assert total.ends["values of Spark in both places"] > 30


def test_scans_of_orc_measure_by_kernels_what_they_measure_by_spark(spark_engine_without_code: SparkEngine) -> None:
    """``python -m tests.integration.kernels scans --storage orc`` asks hundreds of them."""
    total = Scans()
    for seed in range(4):
        total.add(scanned(spark_engine_without_code.session, seed, 4, ORC))
    assert total.differing == []
    assert total.metrics.total() > 30


def test_states_of_two_halves_one_by_each_are_together_that_of_all(spark_engine_without_code: SparkEngine) -> None:
    total = Scans()
    for seed in range(6):
        total.add(halved(spark_engine_without_code.session, seed, 6))
    assert total.differing == []
    assert total.ends["values of two halves"] > 50


def test_tables_that_strangers_made_are_measured_by_kernels_as_by_spark(spark_engine_without_code: SparkEngine) -> None:
    """``python -m tests.integration.kernels zoo`` asks of all of them."""
    total = Scans()
    for specimen in specimens([*ODD_NAMES, *chosen(COUNT + len(OTHERS), SEED)[len(OTHERS) :]]):
        total.add(scanned_specimen(spark_engine_without_code.session, specimen, 4))
    assert total.differing == []
    assert total.metrics.total() > 60


def test_kernels_meet_refuse_and_leave_unknown_what_spark_does(spark_engine: SparkEngine) -> None:
    """``python -m tests.integration.kernels`` asks more, and ``--keep`` writes anew what is kept of Spark."""
    tally = Tally()
    for seed in KEPT_TABLES:
        of_table, said = judged(spark_engine.session, seed, OF_A_KEPT)
        tally.add(of_table)
        assert {sql: truths.tolist() for sql, truths in kept(seed).items()} == {
            sql: truths if isinstance(truths, str) else truths.tolist() for sql, truths in said.items()
        }
    assert tally.differing == []
    assert tally.ends["native"] > 0.6 * tally.ends["asked"]
    assert min(tally.truths[truth] for truth in (1, 0, -1)) > 1000


def test_spark_answers_as_its_documentation_says(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write_cases(tmp_path)
    table = Table(name="documented", storage="parquet", location=str(tmp_path))
    source = open_source(spark_engine.session, table, WHOLE)
    answers = by_spark(source, [condition(at, case) for at, case in enumerate(CASES)])
    assert told(answers) == {f"{at}: {case.sql}": list(case.says) for at, case in enumerate(CASES)}
