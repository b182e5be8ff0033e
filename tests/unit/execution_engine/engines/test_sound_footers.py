"""A footer whose numbers cannot be true is that of a damaged file, and a link into a table's own folder is refused."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.files.footers import footer_statistics
from execution_engine.engines.files.listing import UnableToListFiles, list_part, read_footer
from execution_engine.engines.protocol import WHOLE, Table

ROWS = 200


def written(folder: Path, name: str = "part.parquet") -> Path:
    """A file of 200 rows in four row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": range(ROWS)}), folder / name, row_group_size=50, compression="none")
    return folder / name


def varint(number: int) -> bytes:
    """A number as Thrift's compact protocol writes it."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def claim(path: Path, old: int, new: int, *, at: int, keep_size: bool = False) -> None:
    """Change the ``at``-th number of the footer that is written as ``old`` to ``new``."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - length], data[-8 - length : -8]
    places = [place for place in range(len(footer)) if footer.startswith(b"\x16" + varint(old), place)]
    place = places[at]
    footer = footer[: place + 1] + varint(new) + footer[place + 1 + len(varint(old)) :]
    path.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize("rows", [2_000_000_000, 2**62, 2**63 - 1, -1, 0, 199, 201])
def test_a_footer_that_disagrees_with_its_row_groups_is_damaged(tmp_path: Path, rows: int) -> None:
    claim(written(tmp_path), ROWS, rows, at=0)
    table = Table(name="raw.t", storage="parquet", location=str(tmp_path))
    listing = list_part(table, WHOLE)
    with pytest.raises(UnableToListFiles, match="cut or damaged"):
        footer_statistics(listing)


@pytest.mark.parametrize("rows", [-50, 0, 49, 51, 2**31, 2**62])
def test_row_groups_that_disagree_are_damaged(tmp_path: Path, rows: int) -> None:
    path = written(tmp_path)
    claim(path, 50, rows, at=_last_of_a_group(path))
    table = Table(name="raw.t", storage="parquet", location=str(tmp_path))
    with pytest.raises(UnableToListFiles, match="cut or damaged"):
        footer_statistics(list_part(table, WHOLE))


def _last_of_a_group(path: Path) -> int:
    """Which number of 50 is the number of rows of a row group, found by trying."""
    for at in range(40):
        other = path.with_name("tried")
        other.write_bytes(path.read_bytes())
        try:
            claim(other, 50, 51, at=at)
            counts = [pq.read_metadata(other).row_group(group).num_rows for group in range(4)]
        except (IndexError, pa.ArrowException, OSError):
            continue
        finally:
            other.unlink()
        if 51 in counts:
            return at
    raise AssertionError("no row group was found")


def test_more_rows_than_a_file_can_hold_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), path)
    listing = list_part(Table(name="raw.t", storage="parquet", location=str(tmp_path)), WHOLE)
    assert read_footer(listing.root, listing.newest).num_rows == 0


def test_a_sound_footer_is_believed(tmp_path: Path) -> None:
    written(tmp_path)
    found = footer_statistics(list_part(Table(name="raw.t", storage="parquet", location=str(tmp_path)), WHOLE))
    assert found is not None
    assert (found.rows, found.columns["id"].greatest) == (ROWS, ROWS - 1)


@pytest.mark.parametrize("link", ["again", "day=2/again", "day=2/up", "file.parquet", "day=2/file.parquet"])
def test_a_link_into_the_tables_own_folder_is_refused(tmp_path: Path, link: str) -> None:
    lake = tmp_path / "lake"
    written(lake / "day=1")
    written(lake / "day=2")
    target = "day=1/part.parquet" if link.endswith("parquet") else "" if link == "again" else "day=1"
    os.symlink(lake / target, lake / link)
    for within in ((), (str(lake),)):
        table = Table(name="raw.t", storage="parquet", location=str(lake), within=within)
        with pytest.raises(UnableToListFiles, match="leads into its own folder"):
            list_part(table, WHOLE)


def test_a_table_whose_folder_is_a_link_is_read(tmp_path: Path) -> None:
    written(tmp_path / "lake" / "day=1")
    os.symlink(tmp_path / "lake", tmp_path / "link")
    assert len(list_part(Table(name="raw.t", storage="parquet", location=str(tmp_path / "link")), WHOLE).files) == 1
