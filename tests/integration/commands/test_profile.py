"""``assay profile``: a first look at files, and at datasets of the catalog, of which sensitive columns show nothing."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.factories import DatasetFactory
from tests.fixture_types import Capture
from tests.integration.commands.answers import answered, printed

RIDES = pa.table({"id": list(range(100)), "city": ["Oslo", "Rome"] * 50, "pay": [float(at % 7) for at in range(100)]})
CSV = "id,city,pay\n" + "".join(f"{at},{'Rome' if at % 2 else 'Oslo'},{at % 7}.0\n" for at in range(100))
LINES = "".join(json.dumps(row) + "\n" for row in RIDES.to_pylist())


def profiled(capsys: Capture, *words: str) -> dict[str, Any]:
    """The answer, its columns by name."""
    found = answered(capsys, "profile", *words)
    return {**found, "columns": {column.pop("name"): column for column in found["columns"]}}


def refused(capsys: Capture, *words: str) -> str:
    """Why there is none."""
    return printed(capsys, "profile", *words, code=3)


def write(path: Path) -> None:
    """The same rows, as the name of the file says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.name:
        case "rides.parquet":
            pq.write_table(RIDES, path)
        case "rides.orc":
            orc.write_table(RIDES, path)
        case "rides.csv":
            path.write_text(CSV)
        case "rides.tsv":
            path.write_text(CSV.replace(",", "\t"))
        case "rides.csv.gz":
            path.write_bytes(gzip.compress(CSV.encode()))
        case "rides.json":
            path.write_text(LINES)


@pytest.mark.parametrize("name", ["parquet", "orc", "csv", "tsv", "csv.gz", "json"])
def test_files_of_every_kind_are_described_alike(capsys: Capture, tmp_path: Path, name: str) -> None:
    write(path := tmp_path / f"rides.{name}")
    found = profiled(capsys, str(path))
    told = {column: (each["distinct"], each["complete"]) for column, each in found["columns"].items()}
    assert (found["rows"], told) == (100, {"id": (100, 1), "city": (2, 1), "pay": (7, 1)})
    assert [column for column, each in found["columns"].items() if each["may_be_key"]] == ["id"]


def test_a_folder_is_one_table_with_the_columns_that_its_folders_name(capsys: Capture, tmp_path: Path) -> None:
    for day in ("2026-03-01", "2026-03-02"):
        write(tmp_path / "lake" / f"datestr={day}" / "rides.parquet")
    found = profiled(capsys, str(tmp_path / "lake"))
    assert (found["rows"], found["columns"]["datestr"]["distinct"]) == (200, 2)
    assert found["columns"]["id"]["may_be_key"] is False


def test_a_table_without_rows_has_columns(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "nothing.csv").write_text("a,b\n")
    pq.write_table(RIDES.slice(0, 0), tmp_path / "nothing.parquet")
    assert list(profiled(capsys, str(tmp_path / "nothing.csv"))["columns"]) == ["a", "b"]
    assert list(profiled(capsys, str(tmp_path / "nothing.parquet"))["columns"]) == ["id", "city", "pay"]


def test_the_page_stands_alone(capsys: Capture, tmp_path: Path) -> None:
    odd = pa.table({"<b>": [*range(50)], "status": ["<script>alert(1)</script>"] * 50})
    pq.write_table(odd, tmp_path / "odd.parquet")
    page = tmp_path / "page.html"
    assert profiled(capsys, str(tmp_path / "odd.parquet"), "--html", str(page))["page"] == str(page)
    html = page.read_text()
    assert "<rect" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_people_read_a_table_and_what_looks_odd(capsys: Capture, tmp_path: Path) -> None:
    pq.write_table(pa.table({"when": ["2026-03-01"] * 50, "id": range(50)}), tmp_path / "x.parquet")
    text = printed(capsys, "profile", str(tmp_path / "x.parquet"), code=0)
    assert "50 rows; may be keys: id" in text
    assert "when: dates as texts (100 %)" in text


@pytest.mark.django_db
def test_a_dataset_shows_its_partition_and_no_sensitive_value(capsys: Capture, tmp_path: Path) -> None:
    for day in ("2026-03-01", "2026-03-02"):
        write(tmp_path / f"datestr={day}" / "rides.parquet")
    columns = [{"name": "id", "type": "bigint"}, {"name": "pay", "type": "double", "sensitive": True}]
    table = DatasetFactory.create(name="trips", columns=columns)
    table.replicas.update(location=str(tmp_path), storage="parquet")
    found = profiled(capsys, "raw.trips", "--window", "2026-03-02")
    pay = found["columns"]["pay"]
    assert (found["rows"], found["columns"]["city"]["distinct"]) == (100, 2)
    assert (pay["nulls"], pay["values"], pay.get("numbers")) == (0, [], None)
    assert "raw.nothing" in refused(capsys, "raw.nothing")
    assert "does not have the key format" in refused(capsys, "raw.trips", "--window", "yesterday")


@pytest.mark.django_db
def test_a_dataset_whose_quotes_are_doubled_is_profiled_as_its_tests_read_it(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text('id,note\n1,"he said ""no"", and left"\n2,"x, ""y"""\n')
    table = DatasetFactory.create(name="notes", columns=[])
    table.replicas.update(location=str(tmp_path), storage="csv", options={"escape": '"'})
    found = profiled(capsys, "raw.notes")
    assert (found["rows"], list(found["columns"])) == (2, ["id", "note"])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (("x.parquet", b"nope"), "x.parquet cannot be read"),
        (("x.csv", b"a,b\n1,2,3\n"), "Expected 2 columns, got 3"),
        (("x.json", b"{"), "x.json cannot be read"),
        (("x.orc", b""), "x.orc cannot be read"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(
    capsys: Capture, tmp_path: Path, content: tuple[str, bytes], why: str
) -> None:
    (tmp_path / content[0]).write_bytes(content[1])
    assert why in refused(capsys, str(tmp_path / content[0]))


def test_a_wrong_question_says_how_to_ask(capsys: Capture, tmp_path: Path) -> None:
    write(path := tmp_path / "rides.csv")
    assert "write it as x=VALUE" in refused(capsys, str(path), "-o", "x")
    assert "a profile of CSV takes delimiter, quote, escape, header" in refused(capsys, str(path), "-o", "nanValue=x")
    assert "csv takes no option 'delimeter': did you mean delimiter?" in refused(capsys, str(path), "-o", "delimeter=;")
    assert "--window is of a dataset" in refused(capsys, str(path), "--window", "2026-03-01")
    assert "cannot be listed" in refused(capsys, str(tmp_path / "none.csv"))
