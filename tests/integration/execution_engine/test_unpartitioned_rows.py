"""Rows that lie in no partition, in tables written by hand, counted by pandas beside us."""

from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as ds
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest
from sqlalchemy import create_engine

from assay import clock
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.engines.registry import engine_for
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Measurement, Run, Scan
from tests.factories import NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import FakeEngine
from tests.integration.execution_engine.conftest import Loop

NULL = "__HIVE_DEFAULT_PARTITION__"
WHOLE = Window(start=day("1970-01-01").start, end=day("2026-03-09").end)
KEYS = {"2026-03-08": 2, "2026-03-09": 1, NULL: 4, "garbage": 1, "2026-13-45": 1}
SAID = f"6 rows lie in no partition: 4 under {NULL}, 1 under datestr=2026-13-45, 1 under datestr=garbage"
FILES = ("parquet", "csv", "json", "orc")


def orders(location: Path | str, stored: str = "parquet", **options: str) -> Dataset:
    dataset = DatasetFactory.create(name="orders", columns=[{"name": "id", "type": "bigint"}])
    dataset.replicas.update(location=str(location), storage=stored, options=options)
    return dataset


def write(root: Path, keys: dict[str, int], stored: str = "parquet", below: str = "") -> None:
    """So many rows under each key, as Hive lays them out."""
    start = 0
    for key, count in keys.items():
        folder = root / below / f"datestr={key}"
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"id": list(range(start, start + count))})
        start += count
        match stored:
            case "parquet":
                pq.write_table(table, folder / "part-0.parquet")
            case "csv":
                pa_csv.write_csv(table, folder / "part-0.csv")
            case "orc":
                pa_orc.write_table(table, str(folder / "part-0.orc"))
            case "json":
                table.to_pandas().to_json(folder / "part-0.json", orient="records", lines=True)


def weekly(dataset: Dataset, assertion: str = "unpartitioned_rows() = 0", **more: str) -> Run:
    """The run of a test of the whole table, not yet begun."""
    test = DataTestFactory.create(dataset=dataset, assertion=assertion, scope="table", schedule="weekly", **more)
    return Loop(lake=FakeEngine()).request(test, WHOLE)


def ended(loop: Loop, *runs: Run) -> tuple[Run, ...]:
    loop.drain()
    for run in runs:
        run.refresh_from_db()
    return runs


def jobs() -> int:
    return sum(Scan.objects.values_list("spark_jobs", flat=True))


def detail(run: Run) -> dict[str, int]:
    found: dict[str, int] = Measurement.objects.get(asks__run=run).detail["keys"]
    return found


@pytest.mark.parametrize("stored", FILES)
def test_rows_in_no_partition_are_counted_by_their_keys_and_seen_by_tests_of_the_whole_table(
    spark: Loop, tmp_path: Path, stored: str
) -> None:
    write(tmp_path, KEYS, stored)
    dataset = orders(tmp_path, stored)
    asked = (weekly(dataset), weekly(dataset, "row_count() = 9"), weekly(dataset, "count_distinct(id) = 9"))
    strays, count, unique = ended(spark, *asked)
    assert strays.sentence == f"unpartitioned_rows() = 6, wanted = 0; {SAID}"
    assert [(run.outcome, run.value) for run in (strays, count, unique)] == [("broken", 6), ("held", 9), ("held", 9)]


def test_pandas_counts_the_same(spark: Loop, tmp_path: Path) -> None:
    """Over the folder as pyarrow's own dataset reads and writes it, keys of text, null among them."""
    frame = pd.DataFrame(
        {
            "id": range(60),
            "datestr": (["2026-03-09", "2026-3-9", None, "x y", "a:b%c", "2026-02-30"] * 10),
        }
    )
    pq.write_to_dataset(pa.Table.from_pandas(frame), tmp_path, partition_cols=["datestr"])
    text = ds.partitioning(pa.schema([("datestr", pa.string())]), flavor="hive")
    read = pq.read_table(tmp_path, partitioning=text).to_pandas()
    is_day = pd.to_datetime(read["datestr"].astype(str), format="%Y-%m-%d", errors="coerce").dt.strftime("%Y-%m-%d")
    lost = read[is_day != read["datestr"].astype(str)]["datestr"]
    expected = {key: int(count) for key, count in lost.astype(object).fillna(NULL).value_counts().items()}
    (run,) = ended(spark, weekly(orders(tmp_path)))
    assert (run.value, detail(run)) == (50, expected)
    assert len(expected) == 5


@pytest.mark.parametrize("stored", FILES)
def test_a_table_without_such_rows_costs_no_job_for_it(spark: Loop, tmp_path: Path, stored: str) -> None:
    write(tmp_path, {"2026-03-08": 2, "2026-03-09": 1}, stored)
    (run,) = ended(spark, weekly(orders(tmp_path, stored)))
    assert (run.outcome, run.sentence) == ("held", "unpartitioned_rows() = 0, wanted = 0")
    assert jobs() == 0


def test_footers_of_parquet_answer_without_a_job_and_other_files_in_one(spark: Loop, tmp_path: Path) -> None:
    write(tmp_path / "p", KEYS)
    write(tmp_path / "o", KEYS, "orc")
    ended(spark, weekly(orders(tmp_path / "p")))
    assert jobs() == 0
    dataset = DatasetFactory.create(name="orc", columns=[{"name": "id", "type": "bigint"}])
    dataset.replicas.update(location=str(tmp_path / "o"), storage="orc")
    ended(spark, weekly(dataset))
    assert 1 <= jobs() <= 2  # a shuffle may be a job of its own


def test_both_sides_of_a_ratio_of_whole_tables_see_them(spark: Loop, tmp_path: Path) -> None:
    write(tmp_path / "raw", KEYS)
    write(tmp_path / "copy", {**KEYS, NULL: 1})
    raw = DatasetFactory.create(namespace="raw", name="events")
    raw.replicas.update(location=str(tmp_path / "raw"))
    ratio = "row_count() / row_count(dataset='raw.events') between 0.99 and 1.01"
    (run,) = ended(spark, weekly(orders(tmp_path / "copy"), ratio))
    assert run.outcome == "broken"
    assert run.value == pytest.approx(6 / 9)


def test_a_test_of_partitions_sees_its_window_alone_however_long_it_is(spark: Loop, tmp_path: Path) -> None:
    write(tmp_path, KEYS)
    dataset = orders(tmp_path)
    of_window = DataTestFactory.create(dataset=dataset, assertion="row_count() = 3")
    both = (spark.request(of_window, WHOLE), weekly(dataset, "row_count() = 9"))
    assert [run.sentence for run in ended(spark, *both)] == [
        "row_count() = 3, wanted = 3",
        "row_count() = 9, wanted = 9",
    ]


def test_a_days_test_may_ask_too_and_a_table_that_keeps_ten_days_has_them(spark: Loop, tmp_path: Path) -> None:
    write(tmp_path, KEYS)
    dataset = orders(tmp_path)
    of_day = DataTestFactory.create(dataset=dataset, assertion="unpartitioned_rows() = 0")
    assert spark.run(of_day, day("2026-03-09")).value == 6
    whole = DataTestFactory.create(dataset=dataset, assertion="row_count() = 9", scope="table")
    assert spark.run(whole, Window(start=day("2026-02-28").start, end=day("2026-03-09").end)).value == 9


def test_they_are_read_again_when_they_move(spark: Loop, tmp_path: Path) -> None:
    write(tmp_path, KEYS)
    dataset = orders(tmp_path)
    run = weekly(dataset)
    ended(spark, run)
    for key in (NULL, "garbage", "2026-13-45"):
        for file in (tmp_path / f"datestr={key}").iterdir():
            file.rename(tmp_path / "datestr=2026-03-09" / f"{key}.parquet")
        (tmp_path / f"datestr={key}").rmdir()
    again = spark.run(run.data_test, WHOLE, occasion="2")
    assert (run.outcome, again.outcome, again.value) == ("broken", "held", 0)


def test_folders_of_another_key_may_lie_above(spark: Loop, tmp_path: Path) -> None:
    write(tmp_path, {"2026-03-09": 3}, below="region=eu")
    write(tmp_path, {NULL: 2, "garbage": 1}, below="region=us")
    counted, rows = ended(spark, weekly(dataset := orders(tmp_path)), weekly(dataset, "row_count() = 6"))
    assert (counted.value, rows.value) == (3, 6)
    assert jobs() <= 2


def test_the_key_may_be_a_column_of_plain_files(spark: Loop, tmp_path: Path) -> None:
    days = ["2026-03-09", None, "garbage", None, "2026-03-08"]
    pq.write_table(pa.table({"id": range(5), "datestr": days}), tmp_path / "all.parquet")
    counted, rows = ended(spark, weekly(dataset := orders(tmp_path)), weekly(dataset, "row_count() = 5"))
    assert (counted.value, detail(counted), rows.value) == (3, {NULL: 2, "garbage": 1}, 5)


def test_a_table_of_sparks_catalog_tells_its_keys_without_a_job(spark: Loop, spark_engine: SparkEngine) -> None:
    session = spark_engine.session
    session.sql("drop table if exists kept_orders")
    session.sql("create table kept_orders (id bigint, datestr string) using parquet partitioned by (datestr)")
    try:
        session.sql("insert into kept_orders values (1, '2026-03-09'), (2, '2026-03-08')")
        (clean,) = ended(spark, weekly(orders("kept_orders", "table")))
        assert (clean.outcome, jobs()) == ("held", 0)
        session.sql("insert into kept_orders values (3, null), (4, 'garbage'), (5, null)")
        again = spark.run(clean.data_test, WHOLE, occasion="2")
        assert (again.value, again.sentence.partition("; ")[2]) == (
            3,
            f"3 rows lie in no partition: 2 under {NULL}, 1 under datestr=garbage",
        )
        (rows,) = ended(spark, weekly(again.data_test.dataset, "row_count() = 5"))
        assert rows.value == 5
    finally:
        session.sql("drop table kept_orders")


def test_a_table_outside_the_lake_has_them_where_its_column_is_null(db: None, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    frame = pd.DataFrame({"id": range(5), "datestr": ["2026-03-09", None, "garbage", None, "2026-03-08"]})
    frame.to_sql("orders", create_engine(url), index=False)
    clock.simulate(NOW)
    dataset = orders(url, "sql", table="orders")
    loop = Loop(lake=FakeEngine())
    counted, rows = ended(loop, weekly(dataset), weekly(dataset, "row_count() = 5"))
    assert (counted.value, detail(counted), rows.value) == (3, {NULL: 2, "garbage": 1}, 5), counted.sentence
    assert engine_for("sql").name == "sql"


def test_a_table_cut_by_times_has_them_where_the_time_is_null(db: None, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    times = ["2026-03-09 05:00:00", None, "2026-03-08 23:59:59", None]
    pd.DataFrame({"id": range(4), "created_at": times}).to_sql("orders", create_engine(url), index=False)
    clock.simulate(NOW)
    dataset = orders(url, "sql", table="orders")
    Dataset.objects.update(partition_column="created_at", partition_holds="time")
    loop = Loop(lake=FakeEngine())
    dataset.refresh_from_db()
    counted, rows = ended(loop, weekly(dataset), weekly(dataset, "row_count() = 4"))
    assert (counted.value, rows.value) == (2, 4), (counted.sentence, rows.sentence)
    assert counted.sentence.endswith(f"; 2 rows lie in no partition: 2 under {NULL}")


@pytest.mark.parametrize(("column", "note"), [("datestr", ""), ("id", f"; {SAID}")])
def test_the_keys_of_a_sensitive_column_are_not_told(spark: Loop, tmp_path: Path, column: str, note: str) -> None:
    write(tmp_path, KEYS)
    dataset = orders(tmp_path)
    dataset.columns = [{"name": column, "type": "string", "sensitive": True}]
    dataset.save()
    (run,) = ended(spark, weekly(dataset))
    assert (run.value, run.sentence) == (6, f"unpartitioned_rows() = 6, wanted = 0{note}")


@pytest.mark.parametrize("written", ["a b", quote("a b"), "a%3ab"])
def test_a_folder_is_found_however_its_writer_escaped_the_key(spark: Loop, tmp_path: Path, written: str) -> None:
    write(tmp_path, {written: 2, "2026-03-09": 1})
    (run,) = ended(spark, weekly(orders(tmp_path)))
    assert run.value == 2


def test_an_empty_folder_holds_and_one_without_keys_says_so(spark: Loop, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain").mkdir()
    pq.write_table(pa.table({"id": [1]}), tmp_path / "plain" / "all.parquet")
    (empty,) = ended(spark, weekly(dataset := orders(tmp_path / "empty")))
    assert (empty.outcome, empty.value) == ("held", 0)
    dataset.replicas.update(location=str(tmp_path / "plain"))
    plain = spark.run(empty.data_test, WHOLE, occasion="2")
    assert (plain.outcome, plain.error_reason) == ("error", "partition column is missing"), plain.sentence
