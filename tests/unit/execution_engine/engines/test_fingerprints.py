"""Fingerprints of many parts, found together: the same as those found one by one, from one listing."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from execution_engine.engines.files import listing as files
from execution_engine.engines.files.listing import read_fingerprint, read_fingerprints
from execution_engine.engines.protocol import NO_FILES, WHOLE, Part, Table

DAYS = ("2026-03-08", "2026-03-09", "2026-03-10")


def write(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)


def table(root: Path, storage: str = "parquet", never: tuple[str, ...] = ()) -> Table:
    return Table(name="trips", storage=storage, location=str(root), partition_column="datestr", never=never)


def one_by_one(of: Table, parts: list[Part]) -> tuple[str | None, ...]:
    return tuple(read_fingerprint(of, part) for part in parts)


PARTS = [*(Part(keys=(day,)) for day in DAYS), Part(keys=DAYS[1::-1])]


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """The parts that are listed from now on."""
    found: list[Part] = []
    list_part = files.list_part

    def counted(of: Table, part: Part) -> files.Listing:
        found.append(part)
        return list_part(of, part)

    monkeypatch.setattr(files, "list_part", counted)
    return found


def test_many_partitions_are_fingerprinted_from_one_listing(tmp_path: Path, listings: list[Part]) -> None:
    write(tmp_path, *(f"datestr={day}/{name}.parquet" for day in DAYS for name in "ab"), "datestr=2026-03-08/c/d.orc")
    found = read_fingerprints(table(tmp_path), PARTS)
    assert listings == [Part(keys=DAYS)]
    assert found == one_by_one(table(tmp_path), PARTS)
    assert len({*found, NO_FILES}) == 5


def test_only_the_part_that_was_rewritten_looks_different(tmp_path: Path) -> None:
    write(tmp_path, *(f"datestr={day}/a.parquet" for day in DAYS))
    before = read_fingerprints(table(tmp_path), PARTS)
    os.utime(tmp_path / f"datestr={DAYS[1]}/a.parquet", (1, 1))
    after = read_fingerprints(table(tmp_path), PARTS)
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True, False]


@pytest.mark.parametrize(
    "paths",
    {
        "a partition is missing": [f"datestr={DAYS[0]}/a.parquet"],
        "all are missing": ["datestr=2020-01-01/a.parquet"],
        "the table is empty": [],
        "the key is a column in the files": ["a.parquet"],
        "partitions lie deeper": [f"city=sea/datestr={day}/a.parquet" for day in DAYS],
    }.values(),
    ids=lambda paths: paths[0] if paths else "none",
)
def test_wherever_the_files_lie_the_fingerprints_are_those_of_each_part(tmp_path: Path, paths: list[str]) -> None:
    write(tmp_path, *paths)
    assert read_fingerprints(table(tmp_path), PARTS) == one_by_one(table(tmp_path), PARTS)


def test_keys_that_writers_escape_in_several_ways_are_looked_for_one_by_one(tmp_path: Path) -> None:
    write(tmp_path, "datestr=a b/x.parquet", "datestr=a%20b/y.parquet")
    parts = [Part(keys=("a b",)), Part(keys=("c",))]
    assert read_fingerprints(table(tmp_path), parts) == one_by_one(table(tmp_path), parts)


def test_a_link_that_leads_out_of_one_partition_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path, f"lake/datestr={DAYS[0]}/a.parquet", "secret/a.parquet")
    (tmp_path / f"lake/datestr={DAYS[1]}").symlink_to(tmp_path / "secret")
    of = table(tmp_path / "lake", never=(str(tmp_path / "secret"),))
    first, second, third, _ = read_fingerprints(of, PARTS)
    assert (first not in (None, NO_FILES), second, third) == (True, None, NO_FILES)


def test_a_table_that_is_one_file_is_read_from_a_folder_of_others_and_not_through_a_link(tmp_path: Path) -> None:
    write(tmp_path, "trips.parquet", "cities.parquet")
    trips, link = tmp_path / "trips.parquet", tmp_path / "link.parquet"
    link.symlink_to(tmp_path / "cities.parquet")
    assert read_fingerprint(replace(table(trips), within=(str(trips),)), WHOLE) not in (None, NO_FILES)
    assert read_fingerprint(replace(table(link), within=(str(link),)), WHOLE) is None


def test_whole_tables_and_those_of_a_catalog_are_as_ever(tmp_path: Path) -> None:
    write(tmp_path, *(f"datestr={day}/a.parquet" for day in DAYS))
    parts = [WHOLE, PARTS[0]]
    assert read_fingerprints(table(tmp_path), parts) == one_by_one(table(tmp_path), parts)
    assert read_fingerprints(table(tmp_path, storage="table"), PARTS) == (None,) * len(PARTS)
    assert read_fingerprints(table(tmp_path), []) == ()
