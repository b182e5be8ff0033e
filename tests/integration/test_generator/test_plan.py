"""A plan says what a sync would do, of datasets, lineage and tests, and does none of it."""

from pathlib import Path

import pytest

from assay.models import Dataset, DataTest, LineageEdge, Revision, Source
from assay.time.windows import Granularity
from test_generator.models import Gap
from test_generator.services import reconcile_datasets, sync_files
from test_generator.sync import Difference, Planned, plan
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory

pytestmark = pytest.mark.django_db

FULL = """
  - name: mart.full
    owner: rita
    team: trips
    description: All of them.
    tier: 1
    columns: {id: bigint, fare: {type: double, sensitive: true}}
    primary_key: [id, city]
    partition: {column: city, granularity: hour, time_zone: Europe/Berlin, key_format: "%Y%m%d%H", first: "2026010100"}
    slas: {freshness: 90m, completeness: 0.9, duplicates: 0.1, consistency: 0.8, unpartitioned: 0.2}
    sustain: 0s
    grace: 30m
    severity: soft
    catch_up: none
    allow_empty: true
    retention: 30d
    gate_on: incident
    unknown_policy: open
    readers: ["team:trips", "user:rita"]
    replicas:
      - {datacenter: sea, storage: csv, location: /sea/full, options: {header: "true"}}
      - {datacenter: phx, storage: parquet, location: /phx/full}"""


def table(name: str, tier: int = 2, key: str = "[id]", partition: str = "{column: d, granularity: day}") -> str:
    return f"""
  - name: {name}
    owner: rita
    tier: {tier}
    columns: {{id: bigint}}
    primary_key: {key}
    partition: {partition}
    replicas: [{{datacenter: sea, storage: parquet, location: /sea/{name}}}]"""


def write(path: Path, *datasets: str, more: str = "") -> Path:
    path.write_text(f"datasets:{''.join(datasets)}\n{more}\n")
    return path


def bring(path: Path) -> None:
    """Sync, and bring the tests of what has changed to what they should be."""
    sync_files(path, now=NOW, allow_removal=True)
    for dataset in Dataset.objects.filter(reconcile_at__isnull=False):
        reconcile_datasets([dataset], NOW)


def found(planned: Planned, kind: str) -> dict[str, Difference]:
    return {each.name: each for each in planned.differences if each.kind == kind}


def signs(planned: Planned, kind: str = "test") -> dict[str, str]:
    return {name: each.sign for name, each in found(planned, kind).items()}


def everything() -> list[list[object]]:
    """All rows that a sync or a reconciliation might touch."""
    models = (Dataset, LineageEdge, DataTest, Revision, Source, Gap)
    return [list(model.objects.order_by("pk").values()) for model in models]


def test_every_field_of_a_new_dataset_is_told_as_people_write_it(tmp_path: Path) -> None:
    planned = plan(write(tmp_path / "catalog.yaml", FULL), now=NOW)
    difference = found(planned, "dataset")["mart.full"]
    assert difference.sign == "+"
    assert {before for before, _ in difference.fields.values()} == {""}
    assert {name: after for name, (_, after) in difference.fields.items()} == {
        "owner": "rita",
        "tier": "1",
        "replicas": "datacenter: sea, storage: csv, location: /sea/full, options: header: true; "
        "datacenter: phx, storage: parquet, location: /phx/full",
        "description": "All of them.",
        "team": "trips",
        "primary_key": "id; city",
        "slas.freshness": "90m",
        "slas.completeness": "0.9",
        "slas.duplicates": "0.1",
        "slas.consistency": "0.8",
        "slas.unpartitioned": "0.2",
        "partition.column": "city",
        "partition.granularity": str(Granularity.HOUR),
        "partition.holds": "key",
        "partition.stored_time_zone": "UTC",
        "partition.time_zone": "Europe/Berlin",
        "partition.key_format": "%Y%m%d%H",
        "partition.first": "2026010100",
        "sustain": "0s",
        "grace": "30m",
        "severity": "soft",
        "catch_up": "none",
        "allow_empty": "yes",
        "retention": "30d",
        "gate_on": "incident",
        "unknown_policy": "open",
        "readers": "team:trips; user:rita",
        "columns": "id: bigint, fare: double",
    }


def test_a_plan_keeps_nothing_and_knows_its_source(tmp_path: Path) -> None:
    path = write(tmp_path / "catalog.yaml", table("raw.trips"))
    before = everything()
    assert plan(path, now=NOW).source == "catalog"
    assert plan(path, name="ours", now=NOW).source == "ours"
    assert everything() == before
    bring(path)
    before = everything()
    assert plan(write(path, table("raw.rides")), now=NOW + HOUR).differences
    assert everything() == before
    with pytest.raises(ValueError, match="tier"):
        plan(write(path, table("raw.rides", tier=9)), now=NOW + HOUR)
    assert everything() == before


def test_a_catalog_that_was_brought_has_nothing_left_to_do(tmp_path: Path) -> None:
    DataTestFactory.create(dataset=DatasetFactory.create(namespace="other"), name="theirs")
    LineageEdgeFactory.create(upstream=Dataset.objects.get())
    path = write(tmp_path / "catalog.yaml", table("raw.trips"), FULL)
    bring(path)
    assert plan(path, now=NOW + HOUR).differences == ()


def test_lineage_is_told_by_its_ends_and_flags(tmp_path: Path) -> None:
    tables = [table(f"raw.{name}") for name in ("a", "b", "c", "d")]
    edges = "lineage: [{upstream: raw.a, downstream: raw.b}, {upstream: raw.b, downstream: raw.c, one_to_one: true}]"
    path = write(tmp_path / "catalog.yaml", *tables, more=edges)
    bring(path)
    edges = "lineage: [{upstream: raw.a, downstream: raw.b, sampled: true}, {upstream: raw.c, downstream: raw.d}]"
    told = found(plan(write(path, *tables, more=edges), now=NOW + HOUR), "lineage")
    assert {name: (each.sign, dict(each.fields)) for name, each in told.items()} == {
        "raw.a → raw.b": ("~", {"sampled": ("", "yes")}),
        "raw.b → raw.c": ("-", {}),
        "raw.c → raw.d": ("+", {}),
    }
    edges = "lineage: [{upstream: raw.a, downstream: raw.b, one_to_one: true}]"
    told = found(plan(write(path, *tables, more=edges), now=NOW + HOUR), "lineage")
    assert told["raw.a → raw.b"].fields == {"one_to_one": ("", "yes")}


def test_users_tests_are_told_as_they_are_written_unless_they_are_gone(tmp_path: Path) -> None:
    line = "  - {dataset: raw.trips, name: %s, assertion: row_count() >= %d%s}"
    path = write(
        tmp_path / "catalog.yaml",
        table("raw.trips"),
        more="\n".join(["tests:", line % ("kept", 1, ""), line % ("changed", 1, ""), line % ("over", 1, "")]),
    )
    bring(path)
    trips = Dataset.objects.get()
    for name, gone in (("ended", {"retired_at": NOW}), ("away", {"missing_since": NOW - 2 * DAY}), ("ours", {})):
        DataTestFactory.create(dataset=trips, name=name, **gone)
    lines = [
        line % ("kept", 1, ""),
        line % ("changed", 2, ", severity: soft, sustain: 90m, catch_up: all, schedule: weekly"),
        line % ("new", 3, ", sustain: 1h"),
        line % ("ended", 4, ""),
    ]
    planned = plan(write(path, table("raw.trips"), more="\n".join(["tests:", *lines])), now=NOW + HOUR)
    told = found(planned, "test")
    assert signs(planned) == {
        "raw.trips: changed": "~",
        "raw.trips: ended": "+",
        "raw.trips: new": "+",
        "raw.trips: over": "-",
    }
    assert told["raw.trips: changed"].fields == {
        "assertion": ("row_count() >= 1", "row_count() >= 2"),
        "severity": ("hard", "soft"),
        "sustain": ("4h", "90m"),
        "catch_up": ("latest", "all"),
        "schedule": ("partition", "weekly"),
    }
    assert told["raw.trips: new"].fields == {
        "category": ("", "custom"),
        "assertion": ("", "row_count() >= 3"),
        "severity": ("", "hard"),
        "schedule": ("", "partition"),
        "sustain": ("", "1h"),
        "catch_up": ("", "latest"),
    }
    assert told["raw.trips: over"].fields == {}


def test_standard_tests_are_told_as_reconciling_will_have_them(tmp_path: Path) -> None:
    path = write(tmp_path / "catalog.yaml", table("raw.trips"), table("raw.rides"), table("raw.gone"))
    bring(path)
    Dataset.objects.filter(name="rides").update(reconcile_at=NOW + 2 * HOUR, tier=0)  # not yet due
    retired = DataTest.objects.get(dataset__name="trips", name="unpartitioned:whole")
    DataTest.objects.filter(pk=retired.pk).update(retired_at=NOW)
    DataTest.objects.filter(dataset__name="rides").update(retired_at=NOW)
    Dataset.objects.filter(name="rides").update(tier=2)
    write(path, table("raw.trips", tier=1, key="[]"), table("raw.rides"), table("raw.new"))
    planned = plan(path, now=NOW + HOUR)
    told = found(planned, "test")
    names = ("freshness", "duplicates", "duplicates:whole", "unpartitioned:whole", "schema", "schema-keys", "novelty")
    assert signs(planned) == {
        "raw.trips: duplicates": "-",
        "raw.trips: duplicates:whole": "-",
        "raw.trips: freshness": "~",
        "raw.trips: novelty": "~",
        "raw.trips: schema": "+",
        "raw.trips: schema-keys": "-",
        "raw.trips: unpartitioned:whole": "+",
        **{f"raw.gone: {name}": "-" for name in names if name != "schema"},
        **{f"raw.new: {name}": "+" for name in names if name != "schema"},
    }
    assert list(told) == sorted(told)
    assert told["raw.trips: freshness"].fields == {
        "assertion": ("freshness(complete=0.995) < 6h", "freshness(complete=0.999) < 4h"),
        "catch_up": ("latest", "all"),
        "sustain": ("4h", "1h"),
    }
    assert told["raw.trips: unpartitioned:whole"].fields == {
        "category": ("", "completeness"),
        "assertion": ("", "unpartitioned_rows() = 0"),
        "datacenter": ("", "sea"),
        "scope": ("", "table"),
        "severity": ("", "soft"),
        "catch_up": ("", "all"),
        "sustain": ("", "1h"),
        "schedule": ("", "weekly"),
    }
    assert told["raw.trips: duplicates"].fields == told["raw.gone: freshness"].fields == {}
    assert {name for name, each in found(planned, "dataset").items() if each.sign == "-"} == {"raw.gone"}


def test_users_tests_that_leave_are_told_once_and_standard_ones_of_the_same_dataset_stay(tmp_path: Path) -> None:
    more = "tests: [{dataset: raw.trips, name: rows, assertion: row_count() >= 1}]"
    path = write(tmp_path / "catalog.yaml", table("raw.trips"), more=more)
    bring(path)
    planned = plan(write(path, table("raw.trips")), now=NOW + HOUR)
    assert [(each.sign, each.name) for each in planned.differences] == [("-", "raw.trips: rows")]


def test_the_gaps_are_those_of_all_that_the_source_still_tells_of(tmp_path: Path) -> None:
    DatasetFactory.create(namespace="other", primary_key=[])
    DatasetFactory.create(name="away", source="catalog", missing_since=NOW, primary_key=[])
    path = write(tmp_path / "catalog.yaml", table("raw.b", key="[]"), table("raw.a"), table("raw.c", key="[]"))
    bring(path)
    write(path, table("raw.b", key="[]"), table("raw.a"))
    gaps = plan(path, now=NOW + HOUR).gaps
    assert [(gap.dataset, gap.category, gap.mendable) for gap in gaps] == [
        ("raw.a", "completeness", False),
        ("raw.a", "consistency", False),
        ("raw.b", "completeness", False),
        ("raw.b", "duplicates", True),
        ("raw.b", "consistency", False),
    ]


@pytest.mark.parametrize(("known", "gone", "is_refused"), [(6, 5, False), (7, 6, True)])
def test_a_plan_says_what_would_be_refused(tmp_path: Path, known: int, gone: int, is_refused: bool) -> None:
    names = [f"raw.t{number:02}" for number in range(known)]
    for name in names:
        DatasetFactory.create(name=name.removeprefix("raw."), source="catalog")
    DatasetFactory.create(namespace="other")
    path = write(tmp_path / "catalog.yaml", *(table(name) for name in names[gone:]))
    planned = plan(path, now=NOW)
    said = f"{gone} of its {known} datasets would leave the source at once: {', '.join(names[:gone])}"
    assert planned.refused == (said if is_refused else None)
    assert Dataset.objects.filter(missing_since__isnull=True).count() == known + 1
