"""A table of 10,000 columns, and one of 100,000 partitions: catalogued, tested, listed and shown as any other."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from assay.command_line.cli import run as assay
from execution_engine import storage
from execution_engine.engines.files.listing import list_partitions, read_fingerprints
from execution_engine.engines.protocol import Part, Table
from execution_engine.engines.spark.engine import SparkEngine

DAY = "2026-03-02"
COLUMNS = [f"c{number}" for number in range(10_000)]
PARTITIONS = [f"{number:06}" for number in range(100_000)]


@pytest.mark.django_db(transaction=True)
def test_a_table_of_10_000_columns_is_synced_tested_and_shown(
    spark_engine: SparkEngine, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = tmp_path / "wide" / f"day={DAY}"
    part.mkdir(parents=True)
    values: list[int | None] = [1, None]
    pq.write_table(pa.table({column: pa.array(values, pa.int64()) for column in COLUMNS}), part / "part-0.parquet")
    dataset = {
        "name": "lake.wide",
        "owner": "wanda@example.com",
        "tier": 3,
        "columns": dict.fromkeys(COLUMNS, "bigint"),
        "partition": {"column": "day", "granularity": "day", "first": DAY},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "wide"}],
    }
    asked = {"dataset": "lake.wide", "name": "last", "assertion": "completeness(c9999) = 0.5 and max(c0) = 1"}
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump({"datasets": [dataset], "tests": [asked]}))
    with storage.using(spark_engine):
        assert assay(["sync", str(tmp_path / "catalog.yaml")]) == 0, capsys.readouterr()
        capsys.readouterr()
        assay(["run", "lake.wide", "--window", DAY, "--json", "--fail-on", "never"])
    found = {run["data_test"]: run["outcome"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert found.pop("novelty") == "error"  # it learns
    assert (found["last"], set(found.values()), len(found) > 1) == ("held", {"held"}, True), found
    client.force_login(User.objects.create_superuser("ada"))
    assert client.get("/datasets/lake.wide").status_code == 200
    assert len(client.get("/api/v1/datasets/lake.wide").json()["columns"]) == len(COLUMNS)


def test_100_000_partitions_are_listed_and_any_of_them_can_be_looked_at(tmp_path: Path) -> None:
    for key in PARTITIONS:
        folder = tmp_path / f"part={key}"
        folder.mkdir()
        (folder / "part-0.parquet").touch()
    table = Table(name="lake.long", storage="parquet", location=str(tmp_path), partition_column="part")
    assert list_partitions(table) == tuple(PARTITIONS)
    first, last, none = read_fingerprints(table, [Part(keys=(key,)) for key in (*PARTITIONS[:1], "099999", "no")])
    assert len({first, last, none}) == 3
