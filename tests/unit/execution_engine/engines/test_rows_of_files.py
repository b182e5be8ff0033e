"""Rows as pyarrow reads them: a CSV table with the options that Spark reads it by has the same rows."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.native.profiles import batches_of
from execution_engine.engines.protocol import WHOLE, Table


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
            "a,b\n1,2025-12-31T23:59\n",
            {"timestampFormat": "yyyy-MM-dd'T'HH:mm", "locale": "en"},
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
