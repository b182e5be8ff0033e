"""Templates from a catalog to tests: made where they are selected, changed by one edit, gone with their grace."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.catalog.profile import CatalogProfile, Column, CustomProfile, DatasetProfile, Selector, TemplateProfile
from assay.catalog.services import apply_catalog
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.models import Dataset, DataTest, Revision
from test_generator.models import Gap, RuleTemplate
from test_generator.services import UnableToWrite, reconcile_datasets, remove_source, sync, sync_files, write_data_test
from test_generator.sync import plan
from test_generator.templates.services import template_summaries
from tests.factories import DAY, HOUR, NOW, DataTestFactory
from tests.unit.test_generator.profiles import dataset
from tests.unit.test_generator.templates.written import of_columns, template

pytestmark = pytest.mark.django_db

KNOWN = replace(of_columns("known", "completeness({column}) >= {share}", names=("*_id",)), parameters={"share": "0.9"})
ROWS = template("rows", selector=Selector(tags=("pii",)))


def table(name: str, *, tags: tuple[str, ...] = ("pii",), **columns: str) -> DatasetProfile:
    told = tuple(Column(name=key, type=type_) for key, type_ in columns.items())
    return dataset(name, tags=tags, columns=(Column(name="trip_id", type="bigint"), *told), partition=None)


TRIPS, RIDES = table("raw.trips", city="string"), table("raw.rides", tags=())


def synced(
    *templates: TemplateProfile, tests: tuple[CustomProfile, ...] = (), now: datetime = NOW, **more: Any
) -> None:
    """A full sync of both datasets and the templates, and what follows from it."""
    datasets = more.pop("datasets", (TRIPS, RIDES))
    profile = CatalogProfile(datasets=datasets, custom=tests, templates=templates)
    sync(profile, **{"source": "shop", "now": now, "allow_removal": True, **more})
    reconciled(now)


def reconciled(now: datetime) -> None:
    for row in Dataset.objects.filter(reconcile_at__lte=now).prefetch_related("replicas"):
        reconcile_datasets([row], now)


def live() -> dict[str, str]:
    """The assertions of the live tests that templates make, by dataset and name."""
    rows = DataTest.objects.exclude(template="").filter(retired_at=None, missing_since=None)
    return {str(row): row.revision.assertion for row in rows.select_related("dataset", "revision") if row.revision}


def gaps() -> dict[tuple[str, str], str]:
    rows = Gap.objects.exclude(template="").filter(closed_at=None).select_related("dataset")
    return {(row.template, row.dataset.full_name): row.reason for row in rows}


def test_a_template_makes_a_test_of_exactly_what_it_selects() -> None:
    synced(KNOWN, ROWS)
    assert live() == {
        "raw.trips/known: trip_id": "completeness(trip_id) >= 0.9",
        "raw.rides/known: trip_id": "completeness(trip_id) >= 0.9",
        "raw.trips/rows": "row_count() >= 1",
    }
    test = DataTest.objects.get(template="rows")
    assert (test.origin, test.source, test.scope, test.datacenter) == ("user", "shop", "table", "sea")
    assert test.revision is not None
    assert (test.revision.author, test.revision.schedule) == ("shop", "weekly")
    counted = {
        each.row.name: (each.datasets, each.tests, each.gaps) for each in template_summaries(RuleTemplate.objects.all())
    }
    assert counted == {"known": (2, 2, 0), "rows": (1, 1, 0)}


def test_what_is_told_again_changes_nothing() -> None:
    synced(KNOWN, ROWS)
    written = Revision.objects.count()
    DataTest.objects.update(next_due_at=NOW - HOUR)
    synced(replace(KNOWN, place="elsewhere.yaml:7"), ROWS, now=NOW + HOUR)
    assert Revision.objects.count() == written
    assert set(DataTest.objects.values_list("next_due_at", flat=True)) == {NOW - HOUR}
    assert RuleTemplate.objects.get(name="known").said["place"] == "elsewhere.yaml:7"


@pytest.mark.parametrize(
    ("edit", "field", "value"),
    [
        ({"parameters": {"share": "0.5"}}, "assertion", "completeness(trip_id) >= 0.5"),
        ({"severity": "soft"}, "severity", "soft"),
        ({"schedule": "0 6 * * *"}, "schedule", "0 6 * * *"),
    ],
)
def test_one_edit_changes_all_of_its_tests(edit: dict[str, Any], field: str, value: object) -> None:
    synced(KNOWN, ROWS)
    synced(replace(KNOWN, **edit), ROWS, now=NOW + HOUR)
    rows = DataTest.objects.filter(template="known").select_related("revision")
    assert [(getattr(row.revision, field), row.revision and row.revision.number) for row in rows] == [(value, 2)] * 2
    assert DataTest.objects.get(template="rows").revisions.count() == 1


def test_a_template_that_is_gone_takes_its_tests_with_it_after_the_grace() -> None:
    synced(KNOWN, ROWS)
    later = NOW + HOUR
    synced(ROWS, now=later)
    left = DataTest.objects.filter(template="known")
    assert {(row.missing_since, row.retired_at) for row in left} == {(later, None)}
    assert list(live()) == ["raw.trips/rows"]
    reconciled(later + DAY)
    assert {row.retired_at for row in left.all()} == {later + DAY}
    synced(KNOWN, ROWS, now=later + 2 * DAY)
    assert len(live()) == 3
    assert Revision.objects.filter(data_test__template="known").count() == 2


def test_a_template_that_comes_back_within_the_grace_has_lost_nothing() -> None:
    synced(KNOWN)
    synced(now=NOW + HOUR)
    synced(KNOWN, now=NOW + 2 * HOUR)
    reconciled(NOW + 3 * DAY)
    rows = DataTest.objects.filter(template="known")
    assert {(row.missing_since, row.retired_at) for row in rows} == {(None, None)}
    assert Revision.objects.filter(data_test__template="known").count() == 2


def test_what_a_dataset_becomes_changes_the_templates_that_select_it() -> None:
    synced(KNOWN, ROWS)
    wider = replace(RIDES, tags=("pii",), columns=(*RIDES.columns, Column(name="car_id", type="int")))
    synced(KNOWN, ROWS, datasets=(replace(TRIPS, tags=()), wider), now=NOW + HOUR)
    assert set(live()) == {
        "raw.rides/known: car_id",
        "raw.rides/known: trip_id",
        "raw.rides/rows",
        "raw.trips/known: trip_id",
    }


def test_a_dataset_of_another_source_is_selected_too_and_one_that_is_gone_no_more() -> None:
    synced(KNOWN)
    pushed = CatalogProfile(datasets=(table("app.orders", tags=()),))
    apply_catalog(pushed, source="other", full=False, now=NOW + HOUR)
    reconciled(NOW + HOUR)
    assert "app.orders/known: trip_id" in live()
    synced(KNOWN, datasets=(TRIPS,), now=NOW + 2 * HOUR)
    assert "raw.rides/known: trip_id" not in live()
    reconciled(NOW + 2 * DAY)
    assert DataTest.objects.get(dataset__name="rides", template="known").retired_at == NOW + 2 * DAY


def test_a_template_that_does_not_fit_a_dataset_leaves_a_gap_there_and_applies_elsewhere() -> None:
    city = template("city", "min_length(city) >= {least}", selector=Selector(names=("raw.*",)))
    mean = of_columns("mean", "mean({column}) > 0")
    synced(city, mean)
    assert set(live()) == {"raw.trips/city", "raw.trips/mean: trip_id", "raw.rides/mean: trip_id"}
    assert gaps() == {
        ("city", "raw.rides"): "raw.rides has no column city: take one of trip_id",
        ("mean", "raw.trips"): "mean needs a numeric column, and city is text: take another",
    }
    assert not Gap.objects.exclude(template="").filter(mendable=True).exists()
    with_city = replace(RIDES, columns=(*RIDES.columns, Column(name="city", type="string")))
    synced(city, datasets=(TRIPS, with_city), now=NOW + HOUR)
    assert ("raw.rides/city" in live(), gaps()) == (True, {})


def test_a_test_that_fits_no_more_leaves_and_the_gap_says_why() -> None:
    city = template("city", "min_length(city) >= {least}", selector=Selector(tags=("pii",)))
    synced(city)
    synced(city, datasets=(table("raw.trips", town="string"), RIDES), now=NOW + HOUR)
    assert live() == {}
    assert DataTest.objects.get(template="city").missing_since == NOW + HOUR
    assert "raw.trips has no column city" in gaps()["city", "raw.trips"]


@pytest.mark.parametrize(("source", "where"), [("", "by page or API"), ("rides", "in the source 'rides'")])
def test_a_test_of_peoples_own_keeps_its_name_and_the_clash_is_told(source: str, where: str) -> None:
    synced()
    own = DataTestFactory.create(dataset=Dataset.objects.get(name="trips"), name="rows", source=source)
    synced(ROWS, now=NOW + HOUR)
    own.refresh_from_db()
    assert (own.template, own.source, own.missing_since) == ("", source, None)
    assert gaps()["rows", "raw.trips"].startswith(f"a test 'rows' was written {where}: give the template another name")


def test_nobody_else_writes_a_test_under_a_name_that_a_template_makes() -> None:
    synced(ROWS)
    with pytest.raises(UnableToWrite, match="has a test called 'rows' already"):
        write_data_test(
            dataset=Dataset.objects.get(name="trips"), name="rows", assertion="row_count() > 9", author="ada", now=NOW
        )
    custom = CustomProfile(dataset="raw.trips", name="rows", assertion="row_count() > 9", schedule="weekly")
    with pytest.raises(UnableToWrite, match="the template 'rows' makes a test of that name: give it another name"):
        synced(ROWS, tests=(custom,))


def test_a_test_that_a_template_made_may_become_a_test_of_its_own() -> None:
    synced(ROWS)
    synced(now=NOW + HOUR)
    custom = CustomProfile(dataset="raw.trips", name="rows", assertion="row_count() > 9", schedule="weekly")
    synced(tests=(custom,), now=NOW + 2 * HOUR)
    test = DataTest.objects.get(name="rows")
    assert (test.template, test.missing_since) == ("", None)
    reconciled(NOW + 3 * DAY)
    assert DataTest.objects.get(name="rows").retired_at is None


def test_a_rule_may_become_a_test_of_its_own_in_one_sync_and_back() -> None:
    synced(ROWS)
    first = DataTest.objects.get(name="rows").pk
    custom = CustomProfile(dataset="raw.trips", name="rows", assertion="row_count() > 9", schedule="weekly")
    synced(tests=(custom,), now=NOW + HOUR)
    assert (DataTest.objects.get(name="rows").template, gaps()) == ("", {})
    synced(ROWS, now=NOW + 2 * HOUR)
    test = DataTest.objects.get(name="rows")
    assert (test.pk, test.template, test.missing_since, list(live())) == (first, "rows", None, ["raw.trips/rows"])


def test_what_a_sync_did_to_templates_is_returned() -> None:
    def applied(*templates: TemplateProfile) -> tuple[str, ...]:
        return sync(CatalogProfile(datasets=(TRIPS,), templates=templates), source="shop", now=NOW).templates

    assert applied(ROWS, KNOWN) == ("rows", "known")
    assert applied(ROWS, KNOWN) == ()
    assert applied(replace(ROWS, severity="soft")) == ("rows", "known")


def test_a_template_belongs_to_one_source_and_its_tests_to_one_category() -> None:
    synced(ROWS)
    other = CatalogProfile(templates=(replace(ROWS, name="ROWS", place="b.yaml:3"),))
    with pytest.raises(
        UnableToWrite, match=r"b.yaml:3: template 'rows': the source 'shop' has a template of that name"
    ):
        sync(other, source="bikes", now=NOW)
    with pytest.raises(UnableToWrite, match="the category of its tests is custom and stays so: give it another name"):
        synced(replace(ROWS, category="column"))
    with pytest.raises(UnableToWrite, match="template 'off': there is no metric row_cont"):
        synced(ROWS, template("off", "row_cont() > {least}"))
    assert [row.name for row in RuleTemplate.objects.all()] == ["rows"]
    synced(replace(ROWS, name="Rows"), now=NOW + HOUR)
    assert list(live()) == ["raw.trips/rows"]


def test_a_source_that_is_taken_away_takes_its_templates_with_it() -> None:
    synced(KNOWN, ROWS)
    remove_source("shop", now=NOW + HOUR)
    reconciled(NOW + HOUR)
    assert (RuleTemplate.objects.count(), live()) == (0, {})
    reconciled(NOW + 2 * DAY)
    assert not DataTest.objects.filter(retired_at=None).exists()


def test_a_dataset_is_reconciled_with_few_statements_where_nothing_changes(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    synced(KNOWN, ROWS, *(template(f"rows {number}") for number in range(20)))
    trips = Dataset.objects.prefetch_related("replicas").get(name="trips")
    with django_assert_max_num_queries(40):
        reconcile_datasets([trips], NOW + HOUR)


FILE = """
source: shop
datasets:
- name: raw.trips
  owner: ann
  tier: 4
  columns: {id: bigint}
  replicas: [{datacenter: sea, storage: parquet, location: t}]
templates:
- name: rows
  assertion: row_count() >= {least}
  parameters: {least: 1}
  selector: {names: [raw.*]}
"""


def test_a_plan_tells_what_becomes_of_the_tests_of_templates_and_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(FILE)

    def told() -> list[tuple[str, str]]:
        return [(each.sign, each.name) for each in plan(path, now=NOW).differences if each.name.endswith(": rows")]

    assert told() == [("+", "raw.trips: rows")]
    assert not DataTest.objects.exists()
    sync_files(path, now=NOW)
    reconciled(NOW)
    assert told() == []
    path.write_text(FILE.replace("least: 1", "least: 2"))
    assert told() == [("~", "raw.trips: rows")]
    path.write_text(FILE.replace("raw.*", "mart.*"))
    assert told() == [("-", "raw.trips: rows")]
    path.write_text(FILE.replace("row_count() >= {least}", "mean(fare) >= {least}"))
    (gap,) = [gap for gap in plan(path, now=NOW).gaps if gap.template]
    assert (gap.dataset, gap.template, gap.reason) == (
        "raw.trips",
        "rows",
        "raw.trips has no column fare: take one of id",
    )


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ("row_count( >= {least}", "catalog.yaml:11: template 'rows': Cannot read the assertion: expected"),
        (
            "row_cont() >= {least}",
            "catalog.yaml:11: template 'rows': there is no metric row_cont: did you mean row_count?",
        ),
    ],
)
def test_an_assertion_that_fits_no_dataset_is_told_by_its_line(tmp_path: Path, assertion: str, said: str) -> None:
    (tmp_path / "catalog.yaml").write_text(FILE.replace("row_count() >= {least}", assertion))
    with pytest.raises(UnableToReadCatalog) as raised:
        sync_files(tmp_path / "catalog.yaml", now=NOW)
    assert said in str(raised.value)
    assert len([line for line in str(raised.value).splitlines() if "catalog.yaml" in line]) == 1
