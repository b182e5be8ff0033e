"""What the API alone says of tables that Spark reads, from the day they were pushed."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rest_framework.test import APIClient

from assay import clock
from assay.queue.drain import advance, drain
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine

SUNDAY, NULL, GARBAGE = "2026-03-15", "__HIVE_DEFAULT_PARTITION__", "15.03.2026"
GOOD = pa.table({"id": [1, 2], "fare": [4.5, 9.25], "city": ["rome", "oslo"]})
MORE = pa.table({"id": [3, 4], "fare": [1.0, 2.0], "city": ["lima", "lima"]})
COLUMNS = {"id": "bigint", "fare": "double", "city": "string"}
QUALITY = f"/api/v1/quality?dataset=raw.trips&from={SUNDAY}T00:00Z&to=2026-03-16T00:00Z"
VALUES = ("rome", "oslo", "lima")


@pytest.fixture(autouse=True)
def lake(api: APIClient, spark_engine: SparkEngine) -> Iterator[None]:
    """Real files, read by Spark, from the beginning of Sunday on."""
    clock.simulate(at(f"{SUNDAY} 00:00"))
    with storage.using(spark_engine):
        yield


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


def push(api: APIClient, root: Path, files: dict[str, pa.Table], columns: dict[str, str]) -> None:
    answer = tell(api, root, files, columns)
    assert answer.status_code == 201, answer.content


def tell(api: APIClient, root: Path, files: dict[str, pa.Table], columns: dict[str, str]) -> Any:
    root.mkdir(exist_ok=True)
    for key, table in files.items():
        (root / f"datestr={key}").mkdir()
        pq.write_table(table, root / f"datestr={key}" / "part-0.parquet")
    body = {
        "owner": "ada",
        "tier": 2,
        "columns": columns,
        "primary_key": ["id"],
        "partition": {"column": "datestr", "granularity": "day"},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": str(root)}],
    }
    return api.put("/api/v1/datasets/raw.trips", body, format="json")


def run(api: APIClient, assertion: str) -> tuple[str, str]:
    """The outcome of a test of Sunday, and all that the API shows of its run."""
    test = {"dataset": "raw.trips", "name": "asked", "assertion": assertion}
    made = api.post("/api/v1/data-tests", test, format="json")
    assert made.status_code == 201, made.content
    body = {"data_test": made.json()["id"], "window": SUNDAY, "key": "once"}
    asked = api.post("/api/v1/runs", body, format="json").json()
    drain()
    shown = api.get(f"/api/v1/runs/{asked['id']}")
    return shown.json()["outcome"], shown.content.decode()


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({SUNDAY: GOOD}, "good"),
        ({SUNDAY: GOOD.drop_columns(["fare"])}, "bad"),
        ({SUNDAY: GOOD.set_column(1, "fare", pa.array(["4.5", "9.25"]))}, "bad"),
        ({SUNDAY: GOOD, NULL: MORE}, "bad"),
        ({SUNDAY: GOOD, GARBAGE: MORE}, "bad"),
        ({SUNDAY: GOOD.set_column(0, "id", pa.array([1, None], pa.int64()))}, "bad"),
    ],
    ids=["as declared", "a column dropped", "another type", "no partition", "a day that is none", "a null key"],
)
def test_a_look_up_calls_good_what_is_as_declared_alone(
    api: APIClient, tmp_path: Path, files: dict[str, pa.Table], status: str
) -> None:
    push(api, tmp_path / "trips", files, COLUMNS)
    advance(at("2026-03-16 12:00"))
    answer = api.get(QUALITY).json()
    assert answer["status"] == status, answer


@pytest.mark.parametrize(
    "text", ["cast(max(city) as int)", "max(city)", "max(cast(city as boolean))", "max(to_date(city))"]
)
def test_the_error_of_a_run_shows_no_value_of_a_row(api: APIClient, tmp_path: Path, text: str) -> None:
    push(api, tmp_path / "trips", {SUNDAY: GOOD}, COLUMNS)
    outcome, shown = run(api, f'query("select {text} from raw.trips") > 0')
    assert (outcome, [value for value in VALUES if value in shown.lower()]) == ("error", [])


def test_a_declared_type_that_asks_of_another_table_is_refused(api: APIClient, tmp_path: Path) -> None:
    asks = "int) <=> (select if(max(salary) > 9, raise_error('more'), 1) from hr_pay"
    answer = tell(api, tmp_path / "trips", {}, {**COLUMNS, "fare": asks})
    assert (answer.status_code, "columns.fare.type" in answer.json()["detail"]) == (400, True)
