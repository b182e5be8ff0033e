"""What people say of a dataset stands above all that its sources say, until they take it back."""

from typing import Any

import pytest

from assay.catalog.corrections import UnableToCorrect, correct, origins_of
from assay.catalog.profile import CatalogProfile, Column, PartitionProfile
from assay.catalog.services import apply_catalog
from assay.models import Dataset, Telling
from assay.time.windows import Granularity
from tests.factories import NOW

from .test_origins import FILE, HOME, LATER, apply_tables, table, trips

pytestmark = pytest.mark.django_db
COLUMNS = (Column(name="id", type="bigint"), Column(name="day", type="string"))


@pytest.fixture
def of_dbt() -> None:
    """raw.trips as dbt tells of it."""
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,), columns=COLUMNS))
    Dataset.objects.update(reconcile_at=None)


def origin(field: str) -> tuple[Any, str | None, tuple[tuple[str, Any], ...]]:
    row = next(row for row in origins_of(trips()) if row.field == field)
    return row.value, row.source, tuple((other.source, other.value) for other in row.others)


def test_a_correction_survives_what_sources_say_later_and_each_of_them_is_shown(of_dbt: None) -> None:
    applied = correct("RAW.trips", {"tier": 1, "primary_key": ["id"], "slas": {"freshness": "2h"}}, now=NOW)
    assert applied.changed == ("raw.trips",)
    assert trips().reconcile_at == NOW
    apply_catalog(CatalogProfile(datasets=(FILE,)), source="files", full=True, now=LATER)
    assert (trips().tier, trips().primary_key, trips().owner) == (1, ["id"], "ada")
    assert origin("tier") == (1, "correction", (("files", 1), ("dbt", 3)))
    assert origin("owner") == ("ada", "files", (("dbt", "root"),))
    assert origin("slas.freshness") == ("2h", "correction", ())
    assert origin("severity") == (None, None, ())


def test_a_correction_that_is_taken_back_leaves_what_the_source_says(of_dbt: None) -> None:
    correct("raw.trips", {"tier": 1, "slas": {"freshness": "2h", "completeness": "99 %"}}, now=NOW)
    correct("raw.trips", {"tier": None, "slas": {"freshness": None}}, now=LATER)
    assert (trips().tier, trips().freshness_sla, trips().completeness_sla) == (3, None, 0.99)
    assert origin("tier") == (3, "dbt", ())


def test_a_correction_may_say_that_there_is_no_key(of_dbt: None) -> None:
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,), columns=COLUMNS, primary_key=("id",)))
    correct("raw.trips", {"primary_key": []}, now=NOW)
    assert (trips().primary_key, origin("primary_key")) == ([], ([], "correction", (("dbt", ["id"]),)))


def test_a_correction_may_say_that_there_is_no_partition(of_dbt: None) -> None:
    partition = PartitionProfile(column="day", granularity=Granularity.DAY)
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,), columns=COLUMNS, partition=partition))
    correct("raw.trips", {"partition": "none", "tier": 1}, now=NOW)
    told = (("dbt", {"column": "day", "granularity": "day"}),)
    assert (trips().partition_column, trips().tier, origin("partition")) == ("", 1, ("none", "correction", told))
    correct("raw.trips", {"description": "Rides."}, now=NOW)
    assert trips().partition_column == ""
    correct("raw.trips", {"partition": None}, now=LATER)
    assert (trips().partition_column, origin("partition")[1:]) == ("day", ("dbt", ()))


@pytest.mark.parametrize(
    ("patch", "field", "sentence"),
    [
        ({"tier": 9}, "tier", "less than or equal to 5"),
        ({"ownr": "ada"}, "ownr", "did you mean 'owner'"),
        ({"ownr": None}, "ownr", "known here: owner, tier"),
        ({"name": "raw.other"}, "name", "no field that can be corrected"),
        ({"slas": None}, "slas", "write a mapping"),
        ({"slas": {"freshness": "soon"}}, "slas.freshness", "number and s, m, h, d or w"),
        ({"primary_key": ["idd"]}, "primary_key.0", "did you mean 'id'"),
        ({"partition": {"column": "day", "granularity": "day", "holds": "time"}}, "partition.holds", "sql table"),
        ({"replicas": [{"datacenter": "sea", "storage": "parquet", "location": "trips"}]}, "replicas", "absolute"),
    ],
)
def test_a_correction_that_cannot_hold_is_refused_whole(
    of_dbt: None, patch: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(UnableToCorrect, match=sentence) as unable:
        correct("raw.trips", {"description": "Trips by day."} | patch, now=NOW)
    assert unable.value.field == field
    assert (trips().description, Telling.objects.count()) == ("", 1)


def test_what_a_source_says_wrongly_itself_keeps_nobody_from_correcting_the_rest(of_dbt: None) -> None:
    apply_tables("dbt", table(owner="root", tier=3, replicas=(HOME,), columns=COLUMNS, primary_key=("gone",)))
    correct("raw.trips", {"tier": 2}, now=NOW)
    assert trips().tier == 2


def test_a_proposal_whose_owner_is_corrected_becomes_a_dataset_and_a_name_that_nobody_tells_of_none() -> None:
    apply_tables("dbt", table(tier=3, replicas=(HOME,)))
    assert correct("raw.trips", {"owner": "ada"}, now=NOW).created == ("raw.trips",)
    with pytest.raises(UnableToCorrect, match=r"No source tells of raw\.nothing"):
        correct("raw.nothing", {"owner": "ada"}, now=NOW)
