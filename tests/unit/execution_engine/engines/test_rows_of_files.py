"""Rows as pyarrow reads them: a CSV table with the options that Spark reads it by has the same rows."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, orc

from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.native.profiles import batches_of, profiles_told
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Table
from execution_engine.metrics.spec import MetricSpec
from execution_engine.profiles.stored import from_bytes


def rows(folder: Path, text: str, storage: str = "csv", **options: str) -> list[tuple[Any, ...]]:
    (folder / f"rows.{storage}").write_text(text, encoding=options.get("encoding", "utf8"))
    table = Table(name="raw.rows", storage=storage, location=str(folder), options=options)
    found = pa.Table.from_batches(batches_of(table, list_part(table, WHOLE)))
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("text", "options", "values"),
    [
        ('a,b\n1,"x ""y"" z"\n', {"escape": '"'}, (1, 'x "y" z')),
        ('a,b\n1,"x \\"y\\" z"\n', {"escape": "\\"}, (1, 'x "y" z')),
        ("a;b\n1;'x''y'\n", {"delimiter": ";", "quote": "'", "escape": "'"}, (1, "x'y")),
        ("a,b\n1,NONE\n", {"nullValue": "NONE"}, (1, None)),
        ("# made by hand\na,b\n#1,y\n1,x\n", {"comment": "#"}, (1, "x")),
        ("a,b\n1, x \n", {"ignoreLeadingWhiteSpace": "true"}, (1, "x ")),
        ("a,b\n1, x \n", {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}, (1, "x")),
        ('a,b\n1,"x\ny"\n', {"multiLine": "true", "mode": "FAILFAST"}, (1, "x\ny")),
        ("a,b\n1,31.12.2025\n", {"dateFormat": "dd.MM.yyyy"}, (1, datetime(2025, 12, 31))),
        (
            "a,b\n1,31.12.2025T23:59\n",
            {"timestampFormat": "dd.MM.yyyy'T'HH:mm", "locale": "en"},
            (1, datetime(2025, 12, 31, 23, 59)),
        ),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, dict) else "",
)
def test_a_csv_table_is_read_by_the_options_of_its_storage(
    tmp_path: Path, text: str, options: dict[str, str], values: tuple[Any, ...]
) -> None:
    assert rows(tmp_path, text, **options) == [values]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"emptyValue": "none"}, "a profile of CSV takes delimiter, quote, escape,"),
        ({"dateFormat": "EEE d MMM"}, "a profile reads dates of yyyy, MM, dd, HH, mm, ss, not of 'EEE d MMM'"),
    ],
)
def test_an_option_that_arrow_has_no_word_for_is_refused(tmp_path: Path, options: dict[str, str], why: str) -> None:
    with pytest.raises(UnableToListFiles, match=why):
        rows(tmp_path, "a,b\n1,2\n", **options)


def test_an_object_of_json_may_take_several_lines(tmp_path: Path) -> None:
    assert rows(tmp_path, '{"a":\n1}\n', "json", multiLine="true") == [(1,)]


def write_rows(path: Path, rows: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".parquet":
            pq.write_table(rows, path)
        case ".orc":
            orc.write_table(rows, path)
        case ".csv":
            csv.write_csv(rows, path)
        case ".json":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))


@pytest.mark.parametrize("storage", ["parquet", "orc", "csv", "json"])
def test_rows_have_the_keys_of_their_folders_beside_what_files_hold(tmp_path: Path, storage: str) -> None:
    for place, key in enumerate(("city=rome", "city=__HIVE_DEFAULT_PARTITION__")):
        write_rows(tmp_path / key / f"rows.{storage}", pa.table({"id": [place, place + 2]}))
    table, files = Table(name="raw.rows", storage=storage, location=str(tmp_path)), []
    read = batches_of(table, list_part(table, WHOLE), lambda file: files.append(file.base_name))
    found = pa.Table.from_batches(read).to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": at, "city": None if at % 2 else "rome"} for at in range(4)
    ]
    assert files == [f"rows.{storage}"] * 2


@pytest.mark.parametrize(
    ("columns", "where", "is_told"), [((), None, True), (("id",), None, False), ((), "id > 1", False)]
)
def test_profiles_of_whole_small_tables_are_told_without_an_engine(
    tmp_path: Path, columns: tuple[str, ...], where: str | None, is_told: bool
) -> None:
    for name, rows in (("a", {"id": [1, 2], "city": ["x", "y"]}), ("b", {"id": [3], "city": ["z"]})):
        write_rows(tmp_path / f"{name}.parquet", pa.table(rows))
    table = Table(name="raw.rows", storage="parquet", location=str(tmp_path))
    spec = MetricSpec(name="profile", columns=columns, where=where, options=() if columns else (("without", "city"),))
    other = MeasurementRequest(key="rows", spec=MetricSpec(name="row_count"))
    found = profiles_told(table, WHOLE, [other, MeasurementRequest(key="profile", spec=spec)])
    assert (list(found.measured), bool(found.fingerprint)) == (["profile"] if is_told else [], is_told)
    if is_told:
        profile = from_bytes(found.measured["profile"].state or b"")
        assert (found.measured["profile"].value, profile.all_rows, list(profile.columns)) == (3, 3, ["id"])
    assert profiles_told(replace(table, storage="csv"), WHOLE, [MeasurementRequest(key="p", spec=spec)]).measured == {}
