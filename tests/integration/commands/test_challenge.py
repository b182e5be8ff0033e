"""``assay challenge``: a shop's own tests against spoilt copies of its days, and a folder that has no test."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.apps import apps

from assay import clock
from assay.models import DataTest
from execution_engine.models import Measurement, Run
from tests.factories import NOW, DatasetFactory
from tests.fixture_types import Capture
from tests.integration.commands.answers import answered, ended, printed

DAYS = 14
MOST = "2026-03-14"  # the last day

CATALOG = """
datasets:
  - name: raw.orders
    owner: ada@example.com
    tier: 2
    columns: &orders
      order_id: bigint
      amount: double
      currency: string
      email: {{type: string, sensitive: true}}
      placed_at: timestamp
      datestr: string
    primary_key: [order_id]
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: parquet, location: {root}/raw}}]
  - name: mart.orders
    owner: ada@example.com
    tier: 2
    columns: *orders
    primary_key: [order_id]
    partition: {{column: datestr, granularity: day}}
    replicas:
      - {{datacenter: sea, storage: parquet, location: {root}/mart}}
      - {{datacenter: phx, storage: parquet, location: {root}/mart}}
lineage:
  - {{upstream: raw.orders, downstream: mart.orders, one_to_one: true}}
tests:
  - {{dataset: mart.orders, name: emails, assertion: "completeness(email) >= 0.8"}}
  - {{dataset: mart.orders, name: usual-mean, assertion: "mean(amount) <= 1.3 * mean(mean(amount), last=7)"}}
  - {{dataset: mart.orders, name: last-week, assertion: "row_count() >= 0.7 * row_count(ago=7d)"}}
  - {{dataset: mart.orders, name: its-day, assertion: "compliance(\\"datestr = '{{window.start:date}}'\\") = 1"}}
  - {{dataset: mart.orders, name: last-year, assertion: "row_count() >= 0.7 * row_count(ago=1y)"}}
  - {{dataset: mart.orders, name: asks, assertion: "query(\\"select count(*) from mart.orders\\") > 0"}}
  - {{dataset: mart.orders, name: cheap, assertion: "max(amount) < 10"}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Orders of a fortnight, copied from raw to mart."""
    drawn, first = np.random.default_rng(4), 0
    for day in range(1, DAYS + 1):
        count = int(drawn.integers(190, 210))
        midnight = datetime(2026, 3, day)
        rows = pa.table(
            {
                "order_id": np.arange(first, first + count),
                "amount": np.round(drawn.gamma(9, 20, count), 2),
                "currency": drawn.choice(["CHF", "EUR", "USD"], count),
                "email": [f"user{at}@example.org" if drawn.random() > 0.1 else None for at in range(count)],
                "placed_at": [midnight + timedelta(seconds=int(at)) for at in drawn.integers(0, 86400, count)],
            }
        )
        first += count
        for name in ("raw", "mart"):
            folder = tmp_path / name / f"datestr=2026-03-{day:02d}"
            folder.mkdir(parents=True)
            pq.write_table(rows, folder / "part-0.parquet")
    (tmp_path / "catalog.yaml").write_text(CATALOG.format(root=tmp_path))
    return tmp_path


def challenged(capsys: Capture, *words: str, code: int = 0) -> Any:
    return answered(capsys, "challenge", *words, code=code)


def caught_by(found: dict[str, Any], kind: str) -> dict[float, set[str]]:
    """The tests that caught a kind, by share of rows."""
    return {one["share"]: set(one["tests"]) for one in found["copies"] if one["kind"] == kind}


def rows_kept() -> dict[str, int]:
    """How many rows each table of ours has."""
    return {model.__name__: model._default_manager.count() for model in apps.get_models()}


def test_the_live_tests_of_a_table_are_held_against_spoilt_copies_and_nothing_is_kept(
    db: None, capsys: Capture, shop: Path
) -> None:
    clock.simulate(NOW + timedelta(days=10))
    ended(capsys, "sync", str(shop / "catalog.yaml"))
    before = rows_kept()
    asked = ("mart.orders", "--to", "2026-03-15", "--windows", "1", "--kinds")
    kinds = ("partial load", "duplicated block", "scale", "explicit missing", "case")
    found = challenged(capsys, *asked, *kinds)
    assert rows_kept() == before
    assert not Run.objects.exists()
    assert not Measurement.objects.exists()

    (sound,) = found["windows"]
    assert (sound["window"], found["past_windows"], found["seed"]) == (MOST, DAYS - 1, 1)
    assert (sound["tests"], sound["suggestions"], sound["novel"]) == (["cheap"], [], False)
    copies = "completeness:raw.orders"
    assert found["tests"] == ["cheap", copies, "duplicates", "emails", "its-day", "last-week", "usual-mean"]
    assert caught_by(found, "partial load") == {
        **{share: {copies} for share in (0.01, 0.05, 0.1, 0.2)},
        0.5: {copies, "last-week"},
    }
    assert all(tests == {copies, "duplicates"} for tests in caught_by(found, "duplicated block").values())
    assert all("cheap" not in one["tests"] for one in found["copies"])
    on_email = {(one["share"], *one["tests"]) for one in found["copies"] if one["columns"] == ["email"]}
    assert on_email
    assert all(one[1:] == (("emails",) if one[0] >= 0.2 else ()) for one in on_email if one[0] in (0.01, 0.5))
    by_name = {one["column"]: one for one in found["columns"]}
    assert set(by_name) <= {"order_id", "amount", "currency", "email", "placed_at", "whole rows"}
    assert all(one["false_alarms"] == 0 for one in found["suggestions"])
    assert not any("email" in one["assertion"] for one in found["suggestions"])

    everything = DataTest.objects.filter(dataset__name="orders", dataset__namespace="mart")
    assert {*found["tests"], *found["not_judged"]} == set(everything.values_list("name", flat=True))
    why = found["not_judged"]
    assert "when the data came" in why["freshness"]
    assert "runs in phx" in why["consistency-count:phx>sea"]
    assert "datacenter phx" in why["consistency-count:sea>phx"]
    assert "whole table" in why["duplicates:whole"]
    assert "names tables by itself" in why["asks"]
    assert "names and types" in why["schema"]
    assert why["last-year"].startswith(f"{MOST}: ")

    again = challenged(capsys, *asked, "scale", "--seed", "2", "--at-least", "100%", code=1)
    assert [one["columns"] for one in again["copies"]] != [
        one["columns"] for one in found["copies"] if one["kind"] == "scale"
    ]
    text = printed(capsys, "challenge", *asked, "scale", "case", code=0)
    assert "False alarms, unless the window is wrong itself" in text
    assert "asks: its query names tables by itself" in text
    assert "what would catch what its tests miss" in text


def test_a_folder_of_csv_has_suggestions_and_novelty_and_the_checks_that_it_is_given(
    capsys: Capture, shop: Path
) -> None:
    folder = shop / "exports"
    folder.mkdir()
    for path in sorted((shop / "mart").iterdir()):
        name = path.name.removeprefix("datestr=")
        rows = pd.read_parquet(path / "part-0.parquet").drop(columns="email")
        rows.to_csv(folder / f"orders_{name}.csv", index=False, sep=";")
    asked = (str(folder), "--by-file", "-o", "delimiter=;", "--windows", "2", "--kinds", "scale", "case", "constant")
    found = challenged(capsys, *asked)
    assert [one["window"] for one in found["windows"]] == ["orders_2026-03-13.csv", "orders_2026-03-14.csv"]
    assert (found["tests"], found["not_judged"], found["caught"]["tests_share"]) == ([], {}, None)
    assert found["kinds"]["case"]["with_suggestions"] == found["kinds"]["case"]["copies"] == 10
    assert found["caught"]["with_novelty"] >= found["caught"]["with_suggestions"] > found["caught"]["tests"] == 0
    assert "currency in ('CHF', 'EUR', 'USD')" in found["suggestions"][0]["assertion"]
    assert "which suggestions catch most" in printed(capsys, "challenge", *asked, code=0)
    assert "has nothing to count" in printed(capsys, "challenge", *asked, "--at-least", "0.5", code=3)

    checks = shop / "checks.yaml"
    checks.write_text(
        "checks:\n"
        "  - compliance(\"currency in ('CHF', 'EUR', 'USD')\") = 1\n"
        "  - row_count() >= 0.5 * mean(row_count(), last=7)\n"
        "  - completeness(town) = 1\n"
    )
    found = challenged(capsys, *asked, "--checks", str(checks), "--at-least", "0.3")
    assert found["kinds"]["case"]["tests_share"] == 1
    assert len(found["tests"]) == 2
    assert "town" in found["not_judged"]["completeness(town) = 1"]


def test_few_windows_are_told_and_what_nobody_can_read_is_refused(capsys: Capture, tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("a,b\n" + "\n".join(f"{at},x{at}" for at in range(40)))
    found = challenged(capsys, str(few), "--kinds", "partial load")
    assert [one["novel"] for one in found["windows"]] == [None, False, False]  # after seven, eight and nine
    assert "Novelty is still learning" in printed(capsys, "challenge", str(few), "--kinds", "partial load", code=0)
    few.write_text("a,b\n")
    assert "has no windows with rows" in printed(capsys, "challenge", str(few), code=3)
    assert "cannot be listed" in printed(capsys, "challenge", str(tmp_path / "none.csv"), code=3)
    assert "cannot be read" in printed(capsys, "challenge", str(few), "--checks", str(tmp_path / "none.yaml"), code=3)
    for wrong in (("--kinds", "rust"), ("--windows", "0"), ("--at-least", "2")):
        assert "invalid" in printed(capsys, "challenge", str(few), *wrong, code=3)


def test_a_dataset_that_is_not_there_or_has_no_partitions_is_refused(db: None, capsys: Capture) -> None:
    DatasetFactory.create(name="riders", partition_column="", granularity="")
    assert "has no partitions" in printed(capsys, "challenge", "raw.riders", code=3)
    assert "there is no file and no dataset" in printed(capsys, "challenge", "raw.nothing", code=3)
