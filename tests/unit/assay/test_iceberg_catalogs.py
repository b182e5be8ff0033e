"""Catalogs of Iceberg as the operator names them."""

import json
from pathlib import Path

import pytest

from assay.config import Config, UnableToReadSettings, config
from assay.iceberg_catalogs import Catalog, catalogs_as_json, parse_catalogs, split_name

LAKE = {"name": "lake", "type": "rest", "uri": "https://catalog.example.com", "credential": "env:CATALOG_CREDENTIAL"}


def test_catalogs_are_read_from_json_and_from_a_file_alike(tmp_path: Path) -> None:
    (tmp_path / "catalogs.yaml").write_text(json.dumps([LAKE]))
    catalogs = parse_catalogs(str(tmp_path / "catalogs.yaml"))
    assert catalogs == parse_catalogs(json.dumps([LAKE])) == (Catalog(**LAKE),)
    assert Config(catalogs=str(tmp_path / "catalogs.yaml")).iceberg_catalogs == catalogs
    assert parse_catalogs(catalogs_as_json(catalogs)) == catalogs


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (LAKE, "write a list of catalogs"),
        ([{"type": "rest"}], "catalog 1 has no name of letters, digits, - and _: write name: lake"),
        ([LAKE | {"name": "a/b"}], "catalog 1 has no name of letters, digits, - and _"),
        ([LAKE | {"type": "jdbc"}], r"catalog 1 \(lake\): its type is 'jdbc': write one of sql, rest, hive, glue"),
        ([LAKE | {"credentials": "env:X"}], "rest takes no credentials; did you mean credential?"),
        ([LAKE | {"region": "eu"}], "rest takes no region; it takes credential, "),
        ([LAKE | {"credential": "AKIAIOSFODNN7"}], "credential is no reference: write env:NAME, .* or file:/PATH"),
        ([{"name": "lake", "type": "hive"}], "it has no uri: write uri: thrift://metastore:9083"),
        (
            [{"name": "lake", "type": "sql", "uri": "postgresql://me:AKIAIOSFODNN7@host/db"}],
            "its uri holds a password: put it in a variable, and write uri: env:NAME",
        ),
        (
            [{"name": "lake", "type": "glue", "access_key": "env:KEY"}],
            "give access_key and secret_key both, or neither",
        ),
        ([LAKE, LAKE], "two catalogs are called lake: keep one of them"),
        ([LAKE, LAKE | {"name": "other"}], "lake has two names: keep one, as what is limited under one name"),
    ],
)
def test_a_wrong_setting_is_a_sentence_that_holds_no_secret(
    entry: object, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CATALOGS", json.dumps(entry))
    config.cache_clear()
    with pytest.raises(UnableToReadSettings, match=rf"^ASSAY_CATALOGS: .*{sentence}".replace("?", r"\?")) as wrong:
        config()
    config.cache_clear()
    assert "AKIAIOSFODNN7" not in str(wrong.value)


def test_a_location_names_a_catalog_and_a_table_or_is_refused() -> None:
    assert split_name("iceberg://lake/db.sub.trips") == ("lake", "db.sub.trips")
    assert split_name("iceberg://lake") == ("lake", "")
    for wrong in ("iceberg:///db.trips", "iceberg://lake/db/trips", "iceberg://lake/../x", "iceberg://lake/db.t?x"):
        with pytest.raises(ValueError, match=r"is no table of a catalog: write iceberg://CATALOG/namespace\.table"):
            split_name(wrong)
