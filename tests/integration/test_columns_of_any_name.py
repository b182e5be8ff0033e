"""Columns whose names hold dots, spaces, quotes and backticks: catalogued, tested and told of as any other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
import yaml
from sqlalchemy import create_engine

from assay.command_line.cli import run as assay
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Check, VerificationSuite

pytestmark = pytest.mark.usefixtures("transactional_db")

DAY = "2026-03-02"
TYPES = {
    "item.one": "bigint",
    "order id": "string",
    "it's": "string",
    "a`b": "double",
    "by": "string",
    " at ": "bigint",
}
PARQUET = TYPES | {"item": "struct<one:bigint,`unit price`:double>"}
BACKTICK = {"orc": "a-b"}  # no ORC file can hold a backtick in a name: its own notation of types ends there
EVERYWHERE = [
    "completeness(`order id`) = 1 and completeness(`it's`) = 0.75 and max(`item.one`) = 100",
    "distinct_count(`order id`, by) = 100 and count_distinct(`it's`) = 3 and mean(`a``b`) = 0.5",
    "row_count(where='`order id` is not null and `item.one` <= 10 and `a``b` = 0.5') = 10",
    "compliance(\"`it's` in ('x', 'y', 'z') or `it's` is null\") = 1 and row_count() = 25 by `by`",
    "query('select count(distinct `order id`) from shop.orders where `item.one` > 50 and `kept on` is not null') = 50",
    "uniqueness(`item.one`) = 1 and row_count() = 25 by `it's`",
    "max(` at `) = 7 and row_count(where='` at ` = 7') = 100",
]
WORDS_OF_SQL = [  # a condition reads desc, but not union, without backticks; metrics read both
    "completeness(union) = 0.75 and count_distinct(desc) = 100 and count_distinct(union, desc) = 75",
    "compliance(\"`union` = 'x'\") = 0.25 and compliance(\"desc in ('o 1', 'o 2')\") = 0.02",
    "row_count(where=\"`union` is null or `desc` = 'o 1'\") = 26",
    "row_count(where=\"`union` = 'x' or `desc` is null\") = coalesce(row_count(), 0) by union for 25 % of groups",
    "query(\"select count(distinct `desc`) from shop.orders where `union` = 'x'\") = 25",
]
OF_STRUCTS = [
    "max(item.one) = 200 and max(`item.one`) = 100 and max(item.`unit price`) = 50",
    "row_count(where='item.one = 200 and item.`unit price` = 50') = 1",
]


@pytest.fixture
def engine(spark_engine: SparkEngine) -> Iterator[None]:
    """Real files, read by Spark."""
    with storage.using(spark_engine):
        yield


def rows(count: int, kind: str = "parquet") -> pd.DataFrame:
    """``count`` orders with keys that are unique."""
    found = pd.DataFrame(
        {
            "item.one": range(1, count + 1),
            "order id": [f"o {at}" for at in range(count)],
            "it's": [("x", "y", "z", None)[at % 4] for at in range(count)],
            "a`b": [0.5] * count,
            "by": [("n", "e", "s", "w")[at % 4] for at in range(count)],
            " at ": [7] * count,
        }
    )
    return found.rename(columns={"a`b": BACKTICK.get(kind, "a`b")})


def write(folder: Path, frame: pd.DataFrame, kind: str) -> None:
    """One partition of files of a kind."""
    part = folder / f"kept on={DAY}"
    part.mkdir(parents=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    match kind:
        case "csv":
            frame.to_csv(part / "part-0.csv", index=False)
        case "json":
            frame.to_json(part / "part-0.json", orient="records", lines=True)
        case "orc":
            orc.write_table(table, part / "part-0.orc")
        case _:
            item = [{"one": 2 * one, "unit price": one / 2} for one in frame["item.one"]]
            type_ = pa.struct([("one", pa.int64()), ("unit price", pa.float64())])
            pq.write_table(table.append_column("item", pa.array(item, type_)), part / "part-0.parquet")


def catalog(home: Path, kind: str, assertions: list[str]) -> None:
    """The table, in two datacenters, and tests of it that somebody wrote."""
    types = PARQUET if kind == "parquet" else TYPES
    dataset = {
        "name": "shop.orders",
        "owner": "olga@example.com",
        "tier": 2,
        "columns": {BACKTICK.get(kind, name) if name == "a`b" else name: type_ for name, type_ in types.items()},
        "primary_key": ["item.one", "order id"],
        "partition": {"column": "kept on", "granularity": "day", "first": DAY},
        "slas": {"consistency": 1},
        "replicas": [{"datacenter": at, "storage": kind, "location": f"{at}/orders"} for at in ("sea", "phx")],
    }
    texts = [each.replace("`a``b`", f"`{BACKTICK[kind]}`") if kind in BACKTICK else each for each in assertions]
    tests = [{"dataset": "shop.orders", "name": f"own {n}", "assertion": each} for n, each in enumerate(texts)]
    (home / "catalog.yaml").write_text(yaml.safe_dump({"datasets": [dataset], "tests": tests}))


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """A command's exit code and what it printed."""
    capsys.readouterr()
    code = assay(list(arguments))
    found = capsys.readouterr()
    return code, found.out or found.err


def runs(capsys: pytest.CaptureFixture[str], dataset: str = "shop.orders") -> dict[str, dict[str, Any]]:
    """What a run of all tests of a table came to, by their names."""
    _, text = told(capsys, "run", dataset, "--window", DAY, "--json", "--fail-on", "never")
    return {run["data_test"]: run for run in json.loads(text)["runs"]}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "orc"])
def test_every_test_of_such_columns_runs_in_files_of_each_kind(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "sea/orders", rows(100, kind), kind)
    write(tmp_path / "phx/orders", rows(99, kind), kind)
    catalog(tmp_path, kind, EVERYWHERE + (OF_STRUCTS if kind == "parquet" else []))
    code, said = told(capsys, "sync", str(tmp_path / "catalog.yaml"))
    assert code == 0, said
    found = runs(capsys)
    own = {name: run["sentence"] for name, run in found.items() if name.startswith("own") and run["outcome"] != "held"}
    assert own == {}
    assert found["duplicates"]["outcome"] == "held"
    assert found["consistency-bloom:phx>sea"]["outcome"] == "held"
    lossy = found["consistency-bloom:sea>phx"]
    assert (lossy["outcome"], lossy["value"]) == ("broken", 0.99)
    assert "keys_found(`item.one`, `order id`, datacenter='phx')" in lossy["sentence"]


@pytest.mark.usefixtures("engine")
def test_a_column_whose_name_is_a_word_of_sql_stands_between_backticks_in_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = rows(100).rename(columns={"it's": "union", "order id": "desc"})[["union", "desc"]]
    part = tmp_path / "orders" / f"day={DAY}"
    part.mkdir(parents=True)
    renamed.to_parquet(part / "part-0.parquet", index=False)
    dataset = {
        "name": "shop.orders",
        "owner": "olga@example.com",
        "tier": 3,
        "columns": {"union": "string", "desc": "string"},
        "partition": {"column": "day", "granularity": "day", "first": DAY},
        "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "orders"}],
    }
    tests = [{"dataset": "shop.orders", "name": f"own {n}", "assertion": each} for n, each in enumerate(WORDS_OF_SQL)]
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump({"datasets": [dataset], "tests": tests}))
    code, said = told(capsys, "sync", str(tmp_path / "catalog.yaml"))
    assert code == 0, said
    own = [run for name, run in runs(capsys).items() if name.startswith("own")]
    assert (len(own), [run["sentence"] for run in own if run["outcome"] != "held"]) == (len(WORDS_OF_SQL), [])
    bare = {"dataset": "shop.orders", "name": "bare", "assertion": "compliance(\"union = 'x'\") = 0.25"}
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump({"datasets": [dataset], "tests": [bare]}))
    code, said = told(capsys, "sync", str(tmp_path / "catalog.yaml"))
    assert (code, "if union is a column's name, put it between backticks: `union`" in said) == (3, True), said


@pytest.mark.django_db(transaction=True)
def test_a_table_outside_the_lake_is_tested_and_sampled_by_such_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "sea/orders", rows(99), "parquet")
    write(tmp_path / "phx/orders", rows(99), "parquet")
    location = f"sqlite:///{tmp_path}/app.db"
    rows(100).assign(**{"kept on": DAY}).to_sql("orders % new", create_engine(location), index=False)
    catalog(tmp_path, "parquet", [])
    told_ = yaml.safe_load((tmp_path / "catalog.yaml").read_text())
    source = {
        **{"name": "app.orders", "owner": "olga@example.com", "tier": 2, "primary_key": ["item.one", "order id"]},
        "partition": {"column": "kept on", "granularity": "day", "first": DAY},
        "replicas": [
            {"datacenter": "sea", "storage": "sql", "location": location, "options": {"table": "orders % new"}}
        ],
    }
    told_["datasets"].append(source)
    told_["lineage"] = [{"upstream": "app.orders", "downstream": "shop.orders", "sampled": True}]
    portable = [each for each in EVERYWHERE if not each.startswith("query")]
    portable = [each.partition(" by `")[0].replace("row_count() = 25", "row_count() = 100") for each in portable]
    told_["tests"] = [
        {"dataset": "app.orders", "name": f"own {at}", "assertion": each} for at, each in enumerate(portable)
    ]
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(told_))
    code, said = told(capsys, "sync", str(tmp_path / "catalog.yaml"))
    assert code == 0, said
    outside = runs(capsys, "app.orders")
    assert {name: run["sentence"] for name, run in outside.items() if run["outcome"] != "held"} == {}
    assert outside.keys() >= {"duplicates", "own 0", "own 1", "own 2", "own 3"}
    sampled = runs(capsys)["completeness-sample:app.orders"]
    assert (sampled["outcome"], sampled["value"]) == ("broken", 0.99), sampled["sentence"]


def test_every_column_of_a_frame_is_checked_by_the_name_that_the_frame_has(spark_engine: SparkEngine) -> None:
    session = spark_engine.session
    schema = "`item.one` int, `order id` string, `a``b` double, thing struct<`unit price`: double, `x:y,z`: int>"
    orders = session.createDataFrame([(1, "o 1", 0.5, (2.0, 3)), (2, None, 0.5, (4.0, 5))], schema)
    known = session.createDataFrame([("o 1", 1)], "`the id, whole` string, `item.one` int")
    check = Check().is_complete(*orders.columns).is_complete("thing.unit price").has_max("thing.`x:y,z`", 5)
    check = check.refers_to("order id", "known", to="`the id, whole`")
    check = check.holds("accuracy(`order id`, 'known', on='`item.one`') = 0 and schema_match('`order id` string') = 1")
    verification = VerificationSuite().on(orders, "orders").with_table("known", known).add_check(check)
    result = verification.run()
    found = {str(each) for one in result.checks for each in one.constraints if each.status.value != "success"}
    assert len(found) == 2, found
    assert any("Failure(is_complete(order id), completeness(`order id`) = 1, 0.5)" in each for each in found), found
    assert any("has no column `order id`" in each for each in found), found
    assert [each.breaks for each in verification.failing_rows(result, 5).rows] == [("completeness(`order id`)",)]
