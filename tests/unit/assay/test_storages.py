"""Which options each storage takes, as the docs tell, and what is said of one that it does not."""

from typing import get_args

import pytest

from assay.catalog.profile import FILES, OPTIONS, STORAGES, Storage, check_options

OF_TEXTS = {"encoding", "lineSep", "multiLine", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale", "mode"}


def test_a_profile_knows_every_storage() -> None:
    assert get_args(Storage) == STORAGES


def test_each_storage_takes_what_spark_or_a_database_needs_to_read_it() -> None:
    assert FILES == ("parquet", "iceberg", "delta", "orc", "csv", "json")
    assert {storage: set(options) for storage, options in OPTIONS.items()} == {
        "parquet": set(),
        "iceberg": {"snapshot"},
        "delta": {"snapshot"},
        "orc": set(),
        "csv": OF_TEXTS
        | {"header", "delimiter", "quote", "escape", "comment", "nullValue", "emptyValue", "nanValue"}
        | {"ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"},
        "json": OF_TEXTS | {"allowComments", "allowSingleQuotes", "allowUnquotedFieldNames"},
        "table": set(),
        "sql": {"table", "schema"},
    }


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_what_a_storage_takes_is_right(mode: str) -> None:
    check_options("csv", {"header": "true", "mode": mode, "encoding": "DROPMALFORMED"})
    check_options("sql", {"table": "orders", "schema": "shop"})
    check_options("orc", {})


@pytest.mark.parametrize(
    ("storage", "options", "said"),
    [
        ("parquet", {"header": "true"}, "parquet takes no option 'header': known here: none"),
        (
            "sql",
            {"table": "t", "tables": "x"},
            "sql takes no option 'tables': did you mean table? known here: table, schema",
        ),
        ("sql", {"zzz": "x"}, "sql takes no option 'zzz': known here: table, schema"),
        ("csv", {"header": "true", "mode": "DROPMALFORMED"}, "mode is 'DROPMALFORMED': write FAILFAST or PERMISSIVE"),
        ("json", {"mode": "failfast"}, "mode is 'failfast': write FAILFAST or PERMISSIVE"),
    ],
)
def test_the_first_wrong_option_is_told_with_how_to_mend_it(storage: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=r"known here|write") as refused:
        check_options(storage, options)
    assert str(refused.value) == said
