"""Partitions of a metastore as the commits of their table, where only Spark reads their files."""

from datetime import UTC, datetime, timedelta

from execution_engine.engines.spark.catalog_commits import commits_of_partitions

NOW = datetime(2026, 3, 10, tzinfo=UTC)


def partition(ago: timedelta, rows: int | None = None, **more: str) -> dict[str, str]:
    counted = {} if rows is None else {"numRows": str(rows)}
    return {"transient_lastDdlTime": f"{(NOW - ago).timestamp():.0f}", **counted, **more}


def test_partitions_that_are_written_together_are_one_commit() -> None:
    minute, hour = timedelta(minutes=1), timedelta(hours=1)
    parts = [
        partition(hour, 5),
        partition(2 * hour, 7, totalSize="90"),
        partition(2 * hour + minute / 2, 1, totalSize="1"),
    ]
    log = commits_of_partitions(parts, "", NOW)
    assert [(commit.at, commit.rows_added, commit.bytes_added) for commit in log.commits] == [
        (NOW - 2 * hour, 8, 91),
        (NOW - hour, 5, None),
    ]
    assert commits_of_partitions(parts, log.mark, NOW).commits == ()


def test_rows_that_a_metastore_has_not_counted_are_not_known() -> None:
    (commit,) = commits_of_partitions([partition(timedelta(days=1), -1)], "", NOW).commits
    assert commit.rows_added is None


def test_a_partition_without_a_time_of_its_last_change_counts_from_when_it_was_added() -> None:
    added = NOW - timedelta(days=3)
    (commit,) = commits_of_partitions([{"created": f"{added.timestamp():.0f}"}], "", NOW).commits
    assert commit.at == added
