"""A dbt project's tables, as dbt 1.11 wrote a shop with DuckDB (what no reader takes was cut out of its documents)."""

import copy
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.catalog.profile import Column, PartitionProfile
from assay.catalog.providers import dbt
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from assay.time.stored_times import Holds
from assay.time.windows import Granularity

DOCUMENTS = {
    name: json.loads((Path(__file__).parent / "documents" / f"dbt_{name}.json").read_text())
    for name in ("manifest", "catalog", "sources")
}
ENTRY = {"target": "/shop/target", "location": "postgresql://reader@host/{database}"}
ORDERS = "model.shop.orders"


def shop(entry: dict[str, Any] | None = None, **documents: Any) -> SourceTelling:
    """What the shop's documents say, some of them as they are given."""
    return dbt.parse({**ENTRY, **(entry or {})}, **{**copy.deepcopy(DOCUMENTS), **documents})


def manifest_with(key: str, **values: Any) -> Any:
    """The manifest in which a node has these values."""
    manifest = copy.deepcopy(DOCUMENTS["manifest"])
    section = "sources" if key.startswith("source.") else "nodes"
    manifest[section][key] = {**manifest[section].get(key, {}), **values}
    return manifest


def table(telling: SourceTelling, name: str) -> TableTelling:
    return next(table for table in telling.tables if table.full_name == name)


def test_a_model_says_its_owner_its_description_and_what_its_meta_say() -> None:
    orders = table(shop(), "main_mart.orders")
    assert (orders.owner, orders.team, orders.tier) == ("ann@example.com", "finance", 0)
    assert (orders.description, orders.freshness) == ("One row per valid order.", timedelta(hours=4))
    assert orders.partition is not None
    assert (orders.partition.column, orders.partition.granularity) == ("day", Granularity.DAY)


def test_a_model_without_an_owner_is_its_groups() -> None:
    customers = table(shop(), "main_mart.customers")
    assert (customers.owner, customers.team, customers.tier) == ("finance@example.com", "finance", 1)


@pytest.mark.parametrize(
    ("owner", "group", "expected"),
    [
        ("Ann", {"name": "Finance", "email": "fin@example.com"}, ("Ann", {"email": "fin@example.com"})),
        ({"name": "Ann", "slack": "fin"}, {"slack": "x", "email": "f@x"}, ("Ann", {"slack": "#fin", "email": "f@x"})),
        (None, {"email": "fin@example.com", "slack": "#fin"}, ("fin@example.com", {"slack": "#fin"})),
        (["ann@example.com", "bob"], {"slack": "fin"}, ("ann@example.com", None)),
        ("Ann", {"name": "Finance"}, ("Ann", None)),
    ],
)
def test_where_an_owner_is_told_is_their_slack_or_the_address_of_their_group(
    owner: Any, group: dict[str, str], expected: tuple[str, dict[str, str] | None]
) -> None:
    manifest = manifest_with(ORDERS, meta={"owner": owner}, config={"materialized": "table"})
    manifest["groups"]["group.shop.finance"]["owner"] = group
    orders = table(shop(manifest=manifest), "main_mart.orders")
    assert (orders.owner, orders.channels) == expected


def test_a_model_may_say_by_which_name_it_is_known() -> None:
    told = shop(manifest=manifest_with(ORDERS, meta={"assay": "mart.sales"}, config={"materialized": "table"}))
    assert table(told, "mart.sales").primary_key == ("order_id",)
    assert ("mart.sales", "main_mart.customers") in {(edge.upstream, edge.downstream) for edge in told.lineage}


def test_columns_are_those_of_the_database_in_their_order() -> None:
    columns = table(shop(), "main_mart.orders").columns or ()
    assert [(column.name, column.type) for column in columns][:3] == [
        ("order_id", "INTEGER"),
        ("customer_id", "INTEGER"),
        ("status", "VARCHAR"),
    ]


def test_without_a_catalog_only_a_contract_names_all_columns() -> None:
    told = shop(catalog=None)
    assert len(table(told, "main_mart.orders").columns or ()) == 5
    assert table(told, "main_mart.customers").columns is None


def test_a_column_that_is_marked_as_sensitive_is_named_without_a_catalog_too() -> None:
    manifest = manifest_with(
        "model.shop.customers", columns={"name": {"name": "name", "config": {"meta": {"sensitive": True}}}}
    )
    marked = (Column(name="name", type="", sensitive=True),)
    assert table(shop(manifest=manifest, catalog=None), "main_mart.customers").columns == marked


def test_a_key_is_that_of_a_constraint_or_a_column_that_is_tested_as_unique_and_not_null() -> None:
    told = shop()
    assert table(told, "main_mart.orders").primary_key == ("order_id",)
    assert table(told, "main_mart.customers").primary_key == ("customer_id",)
    assert table(told, "main_staging.stg_orders").primary_key is None


def test_a_key_that_only_warns_is_none() -> None:
    test = "test.shop.unique_customers_customer_id.c5af1ff4b1"
    assert (
        table(shop(manifest=manifest_with(test, config={"severity": "WARN"})), "main_mart.customers").primary_key
        is None
    )


def test_the_key_by_which_dbt_merges_rows_is_one() -> None:
    manifest = manifest_with("model.shop.stg_orders", config={"materialized": "incremental", "unique_key": "order_id"})
    assert table(shop(manifest=manifest), "main_staging.stg_orders").primary_key == ("order_id",)
    assert table(shop(), "snapshots.orders_history").primary_key == ("dbt_scd_id",)


def test_a_source_is_as_fresh_as_dbt_asks_and_is_one_with_the_seed_that_fills_it() -> None:
    orders = [table for table in shop().tables if table.full_name == "main.raw_orders"]
    assert [(table.owner, table.freshness) for table in orders] == [("app-team@example.com", timedelta(days=1))]


def test_the_criteria_of_the_last_check_of_freshness_count_where_the_manifest_has_none() -> None:
    source = "source.shop.app.orders"
    assert table(shop(manifest=manifest_with(source, freshness=None)), "main.raw_orders").freshness == timedelta(days=1)


def test_exposures_and_tags_are_tags() -> None:
    assert table(shop(), "main_mart.orders").tags == ("money", "exposure:weekly_revenue")


COMPILED = {  # as dbt 1.11 compiles the shop
    "model.shop.stg_orders": """select id as order_id, customer as customer_id, status, amount, day
        from "shop"."main"."raw_orders\"""",
    ORDERS: """with __dbt__cte__int_valid as (select * from "shop"."main_staging"."stg_orders"
        where status <> 'returned')
        select order_id, customer_id, status, cast(amount as double) as amount, day from __dbt__cte__int_valid""",
    "model.shop.customers": """select c.customer_id, c.name, count(o.order_id) as orders
        from "shop"."main_staging"."stg_customers" c left join "shop"."main_mart"."orders" o
        on o.customer_id = c.customer_id group by 1, 2""",
}


def test_the_columns_of_edges_are_those_of_the_compiled_sql() -> None:
    manifest = copy.deepcopy(DOCUMENTS["manifest"])
    for key, sql in COMPILED.items():
        manifest["nodes"][key]["compiled_code"] = sql
    edges = {(edge.upstream, edge.downstream): edge.columns for edge in shop(manifest=manifest).lineage}
    of_views = {"location": "s3://lake/{schema}/{table}"}  # there the views of the staging area lie nowhere
    through = {(edge.upstream, edge.downstream): edge.columns for edge in shop(of_views, manifest=manifest).lineage}
    staged, raw = edges["main_staging.stg_orders", "main_mart.orders"], through["main.raw_orders", "main_mart.orders"]
    assert (staged["amount"], staged["order_id"], staged[""]) == (("amount",), ("order_id",), ("status",))
    assert (raw["amount"], raw["order_id"], raw[""]) == (("amount",), ("id",), ("status",))
    assert edges["main_mart.orders", "main_mart.customers"] == {"orders": ("order_id",), "": ("customer_id",)}
    assert not any(edge.columns for edge in shop().lineage)  # dbt has compiled nothing


def test_lineage_passes_through_what_lies_nowhere() -> None:
    edges = {(edge.upstream, edge.downstream) for edge in shop().lineage}
    assert ("main_staging.stg_orders", "main_mart.orders") in edges  # through the ephemeral int_valid
    in_lake = {(edge.upstream, edge.downstream) for edge in shop({"location": "/lake/{schema}/{table}"}).lineage}
    assert in_lake == {
        ("main.raw_orders", "main_mart.orders"),  # through the view stg_orders too
        ("main.raw_orders", "snapshots.orders_history"),
        ("main.raw_customers", "main_mart.customers"),
        ("main_mart.orders", "main_mart.customers"),
    }


def test_generic_tests_are_assertions() -> None:
    assert {(test.dataset, test.assertion, test.severity) for test in shop().custom} == {
        ("main_mart.orders", "completeness(customer_id) = 1", "soft"),
        ("main_mart.orders", "referential_integrity(customer_id, 'main_mart.customers') = 1", "hard"),
        (
            "main_mart.orders",
            "compliance(\"`status` is null or `status` in ('placed', 'shipped')\", where=\"amount > 1\") = 1",
            "hard",
        ),
        ("main_mart.customers", "completeness(customer_id) = 1", "hard"),
        ("main.raw_customers", "completeness(id) = 1", "hard"),
        ("main.raw_orders", "completeness(id) = 1", "hard"),
        ("main.raw_orders", "compliance(\"`status` is null or `status` in ('placed', 'returned')\") = 1", "hard"),
    }


@pytest.mark.parametrize("version", range(7, 13))
def test_manifests_of_six_versions_are_read(version: int) -> None:
    manifest = copy.deepcopy(DOCUMENTS["manifest"])
    manifest["metadata"]["dbt_schema_version"] = f"https://schemas.getdbt.com/dbt/manifest/v{version}.json"
    if version < 9:  # which do not attach tests
        for node in manifest["nodes"].values():
            node.pop("attached_node", None)
    assert shop(manifest=manifest) == shop()


@pytest.mark.parametrize(
    ("config", "storage", "location"),
    [
        ({"materialized": "external", "location": "lake/orders.parquet"}, "parquet", "/shop/lake/orders.parquet"),
        ({"materialized": "external", "location": "lake/orders", "format": "csv"}, "csv", "/shop/lake/orders"),
        ({"materialized": "external", "location": "s3://lake/orders.json"}, "json", "s3://lake/orders.json"),
        ({"materialized": "external"}, "sql", "postgresql://reader@host/shop"),
        ({"materialized": "table", "location": "lake/orders.parquet"}, "sql", "postgresql://reader@host/shop"),
    ],
)
def test_a_file_that_dbt_duckdb_writes_lies_where_the_model_says(
    config: dict[str, str], storage: str, location: str
) -> None:
    (replica,) = table(shop(manifest=manifest_with(ORDERS, config=config)), "main_mart.orders").replicas or ()
    assert (replica.storage, replica.location) == (storage, location)


def test_a_file_that_dbt_duckdb_reads_lies_where_the_source_says() -> None:
    source = "source.shop.files.visits"
    node = {"resource_type": "source", "name": "visits", "schema": "files"}
    manifest = manifest_with(source, **node, config={"external_location": "lake/in/{name}.parquet"})
    (replica,) = table(shop(manifest=manifest), "files.visits").replicas or ()
    assert (replica.storage, replica.location) == ("parquet", "/shop/lake/in/visits.parquet")
    manifest = manifest_with(source, **node, config={"external_location": "read_csv('lake/*.csv')"})
    assert (table(shop(manifest=manifest), "files.visits").replicas or ())[0].storage == "sql"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"partition_by": "day"}, PartitionProfile(column="day", granularity=Granularity.DAY)),
        ({"options": {"partition_by": ["status", "day"]}}, PartitionProfile(column="day", granularity=Granularity.DAY)),
        (
            {"partition_by": {"field": "at", "data_type": "timestamp", "granularity": "hour"}},
            PartitionProfile(column="at", granularity=Granularity.HOUR, holds=Holds.TIME),
        ),
        ({"partition_by": {"field": "at", "data_type": "int64", "range": {}, "granularity": "year"}}, None),
        ({"partition_by": "status"}, None),
    ],
)
def test_a_partition_is_what_the_model_is_cut_by(config: dict[str, Any], expected: PartitionProfile | None) -> None:
    assert table(shop(manifest=manifest_with(ORDERS, config=config, meta={})), "main_mart.orders").partition == expected


def test_what_cannot_be_taken_is_said() -> None:
    test = "test.shop.unique_customers_customer_id.c5af1ff4b1"
    manifest = manifest_with(
        test, test_metadata={"name": "recent", "namespace": "shop", "kwargs": {"model": "'customers'"}}
    )
    told = shop(manifest=manifest)
    assert told.notes == (
        "main_mart.customers: the dbt test unique_customers_customer_id is not taken: shop.recent has no equal",
    )
    manifest = manifest_with(ORDERS, config={"meta": {"assay": {"tier": 9}}})
    assert "assay.tier is 9" in shop(manifest=manifest).notes[0]


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        ({"manifest": []}, "manifest.json is list, not an object"),
        ({"manifest": DOCUMENTS["catalog"]}, "manifest.json is no manifest of dbt"),
        ({"manifest": {**DOCUMENTS["manifest"], "nodes": None}}, "nodes of manifest.json is missing"),
        ({"manifest": {**DOCUMENTS["manifest"], "nodes": {}, "sources": {}}}, "names no table"),
        ({"catalog": {**DOCUMENTS["catalog"], "errors": ["no such schema"]}}, "catalog.json was not written whole"),
        ({"catalog": {"metadata": DOCUMENTS["catalog"]["metadata"]}}, "nodes of catalog.json is missing"),
        ({"sources": {**DOCUMENTS["sources"], "results": "none"}}, "results of sources.json is str, not a list"),
    ],
)
def test_garbage_and_half_answers_are_refused(documents: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnableToReadSource, match=sentence):
        shop(**documents)


def test_a_manifest_of_a_later_version_is_refused() -> None:
    metadata = {
        **DOCUMENTS["manifest"]["metadata"],
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v99.json",
    }
    with pytest.raises(UnableToReadSource, match="of version 99, and 7 to 12 are understood"):
        shop(manifest={**DOCUMENTS["manifest"], "metadata": metadata})


def test_a_folder_is_read_with_the_documents_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(UnableToReadSource, match=r"there is no .*manifest.json"):
        dbt.read({**ENTRY, "target": str(tmp_path)})
    (tmp_path / "manifest.json").write_text(json.dumps(DOCUMENTS["manifest"]))
    told = dbt.read({**ENTRY, "target": str(tmp_path)})
    assert table(told, "main_mart.customers").columns is None
    (tmp_path / "catalog.json").write_text('{"metadata": ')
    with pytest.raises(UnableToReadSource, match=r"catalog.json is no whole JSON document \(13 bytes\)"):
        dbt.read({**ENTRY, "target": str(tmp_path)})
