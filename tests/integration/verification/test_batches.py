"""Micro-batches of a real streaming query: each is judged as it comes, and with all before it; a replay counts once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import (
    SIZE,
    AbsoluteChange,
    BatchResult,
    BatchStates,
    Check,
    InMemoryRepository,
    Status,
    UnableToReadRepository,
    VerificationSuite,
    at_least,
    between,
    verify_batch,
)
from tests.integration.engines.stored import store
from tests.integration.verification.rides import RIDES, SCHEMA, write

ANY = between(-1e9, 1e9)
CHECK = Check().is_unique("id").has_size(at_least(2)).has_mean("fare", ANY).has_approx_quantile("fare", 0.5, ANY)
BATCHES = (RIDES[:2], RIDES[2:4], RIDES[4:])
Stream = Callable[[Callable[[DataFrame, int], None]], None]


@pytest.fixture
def stream(spark_engine: SparkEngine, tmp_path: Path) -> Stream:
    """Run a query over the files there are to its end, one file a batch, from where its checkpoint says."""

    def run(judge: Callable[[DataFrame, int], None]) -> None:
        files = spark_engine.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        writer = files.parquet(str(tmp_path / "files")).writeStream.foreachBatch(judge)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()

    return run


def arrive(folder: Path, number: int, rows: list[dict[str, object]]) -> None:
    """A file of the source."""
    write(folder / "new", rows).joinpath("part-0.parquet").rename(folder / "files" / f"{number}.parquet")


@pytest.mark.only_on_spark("local", why="the checkpoint is a folder here, and Connect calls functions in its server")
def test_each_batch_is_judged_and_all_together_and_a_batch_that_is_replayed_counts_once(
    spark_engine: SparkEngine, stream: Stream, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    results: list[BatchResult] = []

    def judge(batch: DataFrame, batch_id: int) -> None:
        results.append(verify_batch(batch, batch_id, CHECK, BatchStates(tmp_path / "states"), name="rides"))

    for number, rows in enumerate(BATCHES):
        arrive(tmp_path, number, rows)
        stream(judge)
    for name in ("2", ".2.crc"):  # the query died before it could say that it was done
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    stream(judge)
    replays = [(result.batch_id, result.is_replay) for result in results]
    assert replays == [(0, False), (1, False), (2, False), (2, True)]
    assert [result.batch.metrics["row_count() on delta"] for result in results] == [2, 2, 1, 1]
    assert [result.total.metrics["row_count()"] for result in results] == [2, 4, 5, 5]
    # the last batch is one row, and repeats a key of the one before
    assert [(result.batch.status, result.total.status) for result in results[1:3]] == [
        (Status.SUCCESS, Status.SUCCESS),
        (Status.ERROR, Status.ERROR),
    ]
    assert [each.constraint for each in results[2].batch.failed] == ["has_size() on delta"]
    assert [each.constraint for each in results[2].total.failed] == ["is_unique(id)"]
    whole = VerificationSuite(engine=spark_engine).on(write(tmp_path / "whole"), "rides").add_check(CHECK).run()
    assert results[-1].total.metrics == pytest.approx(dict(whole.metrics))


def batches(folder: Path, *ids: int, states: BatchStates, check: Check = CHECK) -> list[BatchResult]:
    return [verify_batch(write(folder / str(at), BATCHES[at]), at, check, states) for at in ids]


def test_an_older_batch_that_comes_again_changes_nothing_of_the_rest(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "states")
    results = batches(tmp_path, 0, 1, 2, 1, 2, states=states)
    assert [result.total.metrics["row_count()"] for result in results] == [2, 4, 5, 5, 5]
    assert [result.batch.metrics["row_count() on delta"] for result in results] == [2, 2, 1, 2, 1]


def test_states_of_batches_may_lie_in_a_store(tmp_path: Path) -> None:
    with store() as owner:
        states = BatchStates("s3://lake/streams/rides/")
        results = batches(tmp_path, 0, 1, states=states)
        assert results[-1].total.metrics["row_count()"] == 4
        assert [info.path for info in owner.get_file_info(["lake/streams/rides/batches.states"]) if info.is_file] != []


def test_what_some_batches_were_not_asked_for_is_no_metric_of_all(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "states")
    batches(tmp_path, 0, states=states, check=Check().has_size(2))
    (late,) = batches(tmp_path, 1, states=states, check=Check().has_size(4).has_mean("fare", ANY))
    (size, mean) = late.total.checks[0].constraints
    assert size.status.value == "success"
    assert "mean(fare): 1 earlier batches were judged without it" in mean.message
    (only,) = batches(tmp_path, 2, states=states, check=Check(on="delta").has_mean("fare", 6))
    assert (only.status, only.total.checks) == (Status.SUCCESS, ())


def test_a_batch_is_compared_with_the_batches_before_it(tmp_path: Path) -> None:
    check, repository = (
        Check(on="delta").has_no_anomalies(SIZE, AbsoluteChange(max_decrease=0, max_increase=0)),
        InMemoryRepository(),
    )
    found = [
        verify_batch(write(tmp_path / str(at), BATCHES[at]), at, check, BatchStates(tmp_path), repository=repository)
        for at in (0, 1, 2)
    ]
    sizes = [result.batch.checks[0].constraints[0] for result in found]
    assert [size.status.value for size in sizes] == ["learning", "success", "failure"]


def test_a_damaged_file_of_states_is_refused_and_stays(tmp_path: Path) -> None:
    states = BatchStates(tmp_path / "states")
    batches(tmp_path, 0, states=states)
    damaged = Path(states.file).read_bytes()[:-1]
    Path(states.file).write_bytes(damaged)
    with pytest.raises(UnableToReadRepository, match="remove it, and batches are counted from now on"):
        batches(tmp_path, 1, states=states)
    assert Path(states.file).read_bytes() == damaged
