"""An upstream outside the lake that is sampled: its keys have another name, and each draw takes others."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from sqlalchemy import create_engine

from assay.command_line.cli import run as assay
from execution_engine.metrics.definitions.sample import Sample
from execution_engine.models import Measurement

pytestmark = pytest.mark.usefixtures("transactional_db")

DAY = "2026-03-02"
PARTITION = {"column": "day", "granularity": "day", "first": DAY}
KEYS = {"id": "order_id"}


def catalog(home: Path, *, present: int, of: int, keys: dict[str, str]) -> Path:
    """Orders of an application, of which the lake has the first ``present`` under another name of their key."""
    location = f"sqlite:///{home}/app.db"
    orders = pd.DataFrame({"order_id": range(of), "day": DAY})
    orders.to_sql("orders", create_engine(location), index=False, if_exists="replace")
    part = home / "orders" / f"day={DAY}"
    part.mkdir(parents=True, exist_ok=True)
    orders.head(present).rename(columns={"order_id": "id"})[["id"]].to_parquet(part / "part-0.parquet", index=False)
    of_both = {"owner": "olga@example.com", "tier": 2, "partition": PARTITION}
    outside = {"datacenter": "sea", "storage": "sql", "location": location, "options": {"table": "orders"}}
    inside = {"datacenter": "sea", "storage": "parquet", "location": "orders"}
    told = {
        "datasets": [
            {**of_both, "name": "app.orders", "columns": {"order_id": "bigint"}, "replicas": [outside]},
            {
                **of_both,
                "name": "lake.orders",
                "columns": {"id": "bigint"},
                "primary_key": ["id"],
                "replicas": [inside],
            },
        ],
        "lineage": [{"upstream": "app.orders", "downstream": "lake.orders", "sampled": True, "keys": keys}],
    }
    file = home / "catalog.yaml"
    file.write_text(yaml.safe_dump(told))
    return file


def results(capsys: pytest.CaptureFixture[str], file: Path) -> dict[str, dict[str, Any]]:
    """What a run of all tests of the table in the lake came to, by their names."""
    assert assay(["sync", str(file)]) == 0, capsys.readouterr()
    capsys.readouterr()
    assay(["run", "lake.orders", "--window", DAY, "--json", "--fail-on", "never"])
    return {run["data_test"]: run for run in json.loads(capsys.readouterr().out)["runs"]}


def test_keys_of_another_name_are_looked_up_and_named_as_they_are_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = results(capsys, catalog(tmp_path, present=90, of=100, keys=KEYS))["completeness-sample:app.orders"]
    assert (run["outcome"], run["value"]) == ("broken", 0.9), run["sentence"]
    (found,) = (detail for text, detail in run["findings"].items() if text.startswith("sample_found"))
    assert sorted(int(key["id"]) for key in found["lost"]) == [*range(90, 100)]


def test_a_sampled_upstream_says_that_half_a_window_is_not_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = results(capsys, catalog(tmp_path, present=50, of=100, keys=KEYS))["freshness"]
    assert run["outcome"] == "broken"
    assert run["sentence"].endswith("incomplete: 50 of 100 keys drawn from app.orders are here")
    (found,) = (detail for text, detail in run["findings"].items() if text.startswith("freshness"))
    assert found["evidence"] == "sample"


def test_each_draw_of_a_sample_that_was_found_takes_other_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = catalog(tmp_path, present=5000, of=5000, keys=KEYS)
    for _ in range(2):
        assert results(capsys, file)["completeness-sample:app.orders"]["outcome"] == "held"
    drawn = Measurement.objects.filter(spec_text="sample(order_id)", measured_at__isnull=False)
    first, second = (set(Sample.from_bytes(bytes(row.state or b"")).keys) for row in drawn)
    assert len(first) == len(second) == 1000
    assert 100 < len(first & second) < 300  # a fifth of 5,000 keys, twice
