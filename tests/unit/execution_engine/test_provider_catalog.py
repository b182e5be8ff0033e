"""The catalog file that is written of what a provider tells says the same as the provider."""

from datetime import timedelta
from pathlib import Path

from assay.catalog.profile import (
    Column,
    CustomProfile,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
)
from assay.catalog.tellings import SourceTelling, TableTelling
from assay.catalog.yaml.provider import load
from assay.provider_entries import ProviderEntry
from assay.time.windows import Granularity
from execution_engine.provider_catalog import catalog_of

PROVIDER = ProviderEntry(name="shop", kind="dbt")
PARTITION = PartitionProfile(column="day", granularity=Granularity.DAY, time_zone="Europe/Berlin", first="2026-01-01")
ORDERS = TableTelling(
    namespace="mart",
    name="orders",
    owner="ann",
    tier=0,
    columns=(Column(name="id", type="bigint"), Column(name="mail", type="string", sensitive=True)),
    primary_key=("id",),
    partition=PARTITION,
    replicas=(ReplicaProfile(datacenter="sea", storage="parquet", location="/lake/orders"),),
    freshness=timedelta(hours=4),
    tags=("finance",),
)
BARE = TableTelling(namespace="raw", name="bare", replicas=ORDERS.replicas)
NOWHERE = TableTelling(namespace="raw", name="nowhere", owner="ann", tier=1)
EDGE = LineageProfile(upstream="raw.bare", downstream="mart.orders", one_to_one=True, keys={"id": "order_id"})
LOST = LineageProfile(upstream="raw.nowhere", downstream="mart.orders")
CHECK = CustomProfile(dataset="mart.orders", name="ids", assertion="completeness(id) = 1", severity="soft", schedule="")


def test_all_that_a_source_tells_is_read_back_from_the_file(tmp_path: Path) -> None:
    telling = SourceTelling(tables=(ORDERS, BARE, NOWHERE), lineage=(EDGE, LOST), custom=(CHECK,), notes=("odd",))
    written = catalog_of(telling, {"owner": "bo", "tier": 3})
    assert written.left_out == ("odd", "raw.nowhere: it does not say its replicas")
    file = tmp_path / "catalog.yaml"
    file.write_text(written.to_yaml(PROVIDER))
    catalog = load(file)
    orders, bare = catalog.datasets
    assert (orders.owner, orders.tier, orders.columns, orders.partition) == ("ann", 0, ORDERS.columns, PARTITION)
    assert (orders.slas, orders.replicas, orders.tags) == (
        SlaProfile(freshness=timedelta(hours=4)),
        ORDERS.replicas,
        ("finance",),
    )
    assert (bare.owner, bare.tier) == ("bo", 3)
    assert catalog.lineage == (EDGE,)
    (check,) = catalog.custom
    assert (check.name, check.assertion, check.severity, check.schedule) == (
        "ids",
        CHECK.assertion,
        "soft",
        "partition",
    )
