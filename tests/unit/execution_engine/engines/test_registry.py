import pytest

from assay.catalog.profile import STORAGES
from execution_engine.engines.registry import UnableToFindEngine, engine_for


def test_every_storage_has_an_engine_and_the_lake_has_one_for_all() -> None:
    names = {storage: engine_for(storage).name for storage in STORAGES}
    assert names == {
        **dict.fromkeys(("parquet", "iceberg", "delta", "orc", "csv", "json", "table"), "spark"),
        "sql": "sql",
    }
    assert engine_for("parquet") is engine_for("table")


def test_an_unknown_storage_is_refused() -> None:
    with pytest.raises(UnableToFindEngine, match="parquet, iceberg, delta, orc, csv, json, table, sql"):
        engine_for("tape")
