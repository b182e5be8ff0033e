"""What several sources tell of one table becomes one dataset, which says of each field where it comes from."""

from datetime import timedelta
from typing import Any

import pytest

from assay.catalog.dataset_rows import merged_tellings, write_datasets, write_tellings
from assay.catalog.events import apply_event
from assay.catalog.openlineage import LineageEvent
from assay.catalog.profile import CatalogProfile, Column, DatasetProfile, LineageProfile, ReplicaProfile
from assay.catalog.services import Applied, UnableToRemove, apply_catalog, apply_telling
from assay.catalog.tellings import CORRECTION, SourceTelling, TableTelling
from assay.database.name_keys import name_key
from assay.models import Dataset, LineageEdge, Source, Telling
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(hours=1)
HOME = ReplicaProfile(datacenter="sea", storage="parquet", location="/sea/trips")
FILE = DatasetProfile(namespace="raw", name="trips", owner="ada", tier=1, replicas=(HOME,))


def table(name: str = "trips", **values: Any) -> TableTelling:
    return TableTelling(namespace="raw", name=name, **values)


def apply_tables(source: str, *tables: TableTelling, lineage: tuple[LineageProfile, ...] = (), **more: Any) -> Applied:
    """What a provider of this name tells, in full."""
    Source.objects.get_or_create(name=source, defaults={"kind": "dbt"})
    telling = SourceTelling(tables=tables, lineage=lineage)
    return apply_telling(telling, **{"source": source, "full": True, "now": NOW, **more})


def trips() -> Dataset:
    return Dataset.objects.get(full_name="raw.trips")


def test_a_file_goes_before_a_provider_and_each_field_says_where_it_comes_from() -> None:
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,), description="Trips by day."))
    assert (trips().source, trips().owner) == ("dbt", "root")
    apply_catalog(CatalogProfile(datasets=(FILE,)), source="files", full=True, now=LATER)
    row = trips()
    assert (row.source, row.owner, row.tier, row.description) == ("files", "ada", 1, "Trips by day.")
    assert row.origins["owner"] == ["files", LATER.isoformat()]
    assert row.origins["description"] == ["dbt", NOW.isoformat()]


def test_a_table_that_leaves_its_file_stays_while_a_provider_tells_of_it() -> None:
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,)))
    apply_catalog(CatalogProfile(datasets=(FILE,)), source="files", full=True, now=NOW)
    assert apply_catalog(CatalogProfile(), source="files", full=True, now=LATER).missing == ("raw.trips",)
    assert (trips().source, trips().owner, trips().missing_since) == ("dbt", "root", None)
    apply_tables("dbt", now=LATER)
    assert trips().missing_since == LATER


def test_a_table_that_lacks_an_owner_is_a_proposal_until_a_default_gives_it_one() -> None:
    assert apply_tables("dbt", table(tier=3, replicas=(HOME,))).created == ()
    assert merged_tellings(name_key("raw.trips"))[1].lacking == ("owner",)
    Source.objects.update(defaults={"owner": "data-team"})
    assert apply_tables("dbt", table(tier=3, replicas=(HOME,))).created == ("raw.trips",)
    assert trips().origins["owner"] == ["default", ""]


def test_a_provider_that_loses_more_than_a_tenth_of_its_tables_is_refused() -> None:
    tables = [table(f"t{number}", owner="ada", tier=3, replicas=(HOME,)) for number in range(12)]
    apply_tables("dbt", *tables)
    with pytest.raises(UnableToRemove, match="6 of its 12 datasets would leave"):
        apply_tables("dbt", *tables[6:])
    assert Telling.objects.count() == 12


def test_a_correction_stands_above_all_and_alone_makes_no_dataset() -> None:
    write_tellings([table(owner="eve", tier=0, replicas=(HOME,))], source=CORRECTION, full=False, now=NOW)
    assert write_datasets([name_key("raw.trips")], now=NOW).created == ()
    apply_catalog(CatalogProfile(datasets=(FILE,)), source="files", full=True, now=NOW)
    assert (trips().owner, trips().tier, trips().source) == ("eve", 0, "files")


def test_what_events_say_of_unknown_tables_is_kept_as_a_proposal_and_counts_last() -> None:
    event = LineageEvent(job="etl.load", at=NOW, columns={"raw.trips": (Column(name="id", type="bigint"),)})
    assert apply_event(event, now=NOW).unknown == ("raw.trips",)
    assert merged_tellings(name_key("raw.trips"))[1].lacking == ("owner", "tier", "replicas")
    apply_catalog(CatalogProfile(datasets=(FILE,)), source="files", full=True, now=NOW)
    assert trips().columns == [{"name": "id", "type": "bigint"}]
    apply_tables("dbt", table(columns=(Column(name="id", type="int"),)))
    assert trips().columns == [{"name": "id", "type": "int"}]


def test_a_provider_does_not_open_what_a_file_has_closed() -> None:
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,), columns=(Column(name="mail", type="string"),)))
    mail = (Column(name="mail", type="string", sensitive=True),)
    closed = {"readers": ("team:rides",), "columns": mail}
    file = DatasetProfile(**{**vars(FILE), **closed})
    apply_catalog(CatalogProfile(datasets=(file,)), source="files", full=True, now=NOW)
    apply_catalog(CatalogProfile(), source="files", full=True, now=LATER)
    assert (trips().source, trips().readers) == ("dbt", "team:rides")
    assert trips().columns[0]["sensitive"]


def test_an_edge_of_a_provider_waits_for_its_ends_and_gives_way_to_a_file() -> None:
    edge = LineageProfile(upstream="raw.trips", downstream="raw.fares")
    trips_and_fares = (table(owner="root", tier=3, replicas=(HOME,)), table("fares", owner="root", tier=3))
    apply_tables("dbt", *trips_and_fares, lineage=(edge,))
    assert not LineageEdge.objects.exists()
    fares = DatasetProfile(**{**vars(FILE), "name": "fares"})
    strict = LineageProfile(upstream="raw.trips", downstream="raw.fares", one_to_one=True)
    apply_catalog(CatalogProfile(datasets=(fares,), lineage=(strict,)), source="files", full=True, now=NOW)
    apply_tables("dbt", *trips_and_fares, lineage=(edge,))
    assert (LineageEdge.objects.get().source, LineageEdge.objects.get().one_to_one) == ("files", True)
