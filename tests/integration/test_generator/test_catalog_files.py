"""A catalog in files beside other sources: what it may name of theirs, and where its own mistakes are told."""

from pathlib import Path
from typing import Any

import pytest

from assay.catalog.services import UnableToApply, UnableToRemove
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.models import Dataset, DataTest, LineageEdge, Source
from test_generator.services import sync_files
from test_generator.sync import default_name
from tests.factories import HOUR, NOW, DatasetFactory
from tests.integration.test_generator.written import newest

pytestmark = pytest.mark.django_db

TRIPS = """
datasets:
  - name: mart.trips
    owner: rita
    tier: 1
    columns: {id: bigint, fare: double}
    partition: {column: datestr, granularity: day}
    replicas: [{datacenter: sea, storage: parquet, location: /sea/trips}]
"""


def write(path: Path, *parts: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(parts))
    return path


def one_test(of: str, more: str = "", assertion: str = "row_count() >= 1", name: str = "rows") -> str:
    return f"  - {{dataset: {of}, name: {name}, assertion: {assertion}{more}}}"


def mistakes(path: Path, **more: Any) -> list[str]:
    """The first line of each mistake that is told of a catalog of which nothing is kept."""
    before = (Dataset.objects.count(), DataTest.objects.count(), Source.objects.count())
    with pytest.raises(UnableToReadCatalog) as error:
        sync_files(path, now=NOW, **more)
    assert (Dataset.objects.count(), DataTest.objects.count(), Source.objects.count()) == before
    return [line for line in str(error.value).splitlines() if line.startswith(str(path.parent))]


def test_a_file_is_written_under_the_name_that_it_was_given_or_else_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "catalog.yaml", TRIPS, "tests:", one_test("mart.trips"))
    source, applied = sync_files(path, name="rita", now=NOW)
    assert (source.name, source.place) == ("rita", str(path))
    assert applied.created == ("mart.trips",)
    found = Dataset.objects.get()
    assert (found.source, found.created_at) == ("rita", NOW)
    assert (DataTest.objects.get().source, DataTest.objects.get().created_at) == ("rita", NOW)
    other = write(tmp_path / "rides.yaml", TRIPS.replace("mart", "rides"))
    assert sync_files(other, now=NOW)[0].name == default_name(other) == "rides"


def test_lineage_and_tests_may_name_what_other_sources_tell_of_in_whatever_case(tmp_path: Path) -> None:
    DatasetFactory.create(name="Daily", source="other")
    DatasetFactory.create(name="whole", source="other", partition_column="", granularity="")
    lines = ("tests:", one_test("RAW.daily"), one_test("raw.whole"))
    edge = "lineage: [{upstream: raw.DAILY, downstream: mart.trips}]"
    sync_files(write(tmp_path / "catalog.yaml", TRIPS, edge, *lines), now=NOW)
    tests = {test.dataset.full_name: newest(test).schedule for test in DataTest.objects.all()}
    assert tests == {"raw.Daily": "partition", "raw.whole": "weekly"}
    assert LineageEdge.objects.get().upstream.full_name == "raw.Daily"


@pytest.mark.parametrize(
    ("told", "option"),
    [("source: ours", ""), ("", "ours"), ("", "")],
    ids=["the file says its name", "its name is given", "it is named as the file"],
)
def test_what_the_same_source_told_before_and_what_is_gone_is_no_other_sources(
    tmp_path: Path, told: str, option: str
) -> None:
    DatasetFactory.create(name="mine", source="ours")
    DatasetFactory.create(name="gone", source="other", missing_since=NOW)
    DatasetFactory.create(name="theirs", source="other")
    name = "ours.yaml" if not (told or option) else "catalog.yaml"
    lines = [one_test(f"raw.{each}") for each in ("mine", "gone", "theirs")]
    path = write(tmp_path / name, told, TRIPS, "tests:", *lines)
    first = path.read_text().splitlines().index(lines[0]) + 1
    found = mistakes(path, name=option)
    assert [line.partition(", a dataset")[0] for line in found] == [
        f"{path}:{first}: tests[0].dataset: found 'raw.mine'",
        f"{path}:{first + 1}: tests[1].dataset: found 'raw.gone'",
    ]


def test_each_mistake_of_a_test_is_told_where_it_stands(tmp_path: Path) -> None:
    DatasetFactory.create(name="rides", source="other")
    path = write(
        tmp_path / "a:b" / "catalog.yaml",
        TRIPS,
        "tests:",
        one_test("MART.Trips", name="right", assertion="mean(fare) >= 1"),
        one_test("Mart.trips", name="wrong", assertion="mean(tip) >= 1"),
        one_test("raw.rides", name="theirs", assertion="mean(tip) >= 1"),
        one_test("mart.trips", name="unread", assertion="mean(fare) >="),
        one_test("mart.trips", name="other", assertion="\"mean(fare) >= mean(fare, dataset='MART.TRIPS')\""),
        one_test("mart.trips", name="never", more=", schedule: 99 * * * *"),
    )
    first = path.read_text().splitlines().index("tests:") + 2
    found = mistakes(path)
    assert [line.partition(": ")[0] for line in found] == [f"{path}:{first + n}" for n in (1, 2, 3, 5)]
    assert [line.split(": ", 2)[1] for line in found] == [
        "Mart.trips, test 'wrong'",
        "raw.rides, test 'theirs'",
        "mart.trips, test 'unread'",
        "mart.trips, test 'never'",
    ]
    assert "mart.trips has no column tip" in found[0]
    assert "raw.rides has no column tip" in found[1]
    assert "is no schedule" in found[3]


def test_mistakes_of_shape_and_of_assertions_are_told_together(tmp_path: Path) -> None:
    lines = (one_test("mart.nope"), one_test("mart.trips", assertion="mean(tip) >= 1"))
    path = write(tmp_path / "catalog.yaml", TRIPS, "tests:", *lines)
    assert len(mistakes(path)) == 2


@pytest.mark.parametrize("is_meant", [False, True])
def test_a_file_may_let_many_go_only_where_that_is_meant(tmp_path: Path, is_meant: bool) -> None:
    names = [f"t{number}" for number in range(7)]
    datasets = [TRIPS.replace("trips", name).replace("datasets:\n", "") for name in names]
    path = write(tmp_path / "catalog.yaml", "datasets:", *datasets)
    sync_files(path, now=NOW)
    write(path, "datasets:", datasets[0])
    later = NOW + HOUR
    if is_meant:
        sync_files(path, allow_removal=True, now=later)
    else:
        with pytest.raises(UnableToRemove):
            sync_files(path, now=later)
    assert Dataset.objects.filter(missing_since=later).count() == (6 if is_meant else 0)


@pytest.mark.parametrize("is_meant", [False, True])
def test_another_file_may_replace_all_of_a_source_only_where_that_is_meant(tmp_path: Path, is_meant: bool) -> None:
    sync_files(write(tmp_path / "a.yaml", TRIPS), name="ours", now=NOW)
    other = write(tmp_path / "b.yaml", TRIPS.replace("trips", "rides"))
    if is_meant:
        sync_files(other, name="ours", allow_removal=True, now=NOW)
    else:
        with pytest.raises(UnableToApply, match="tells of other datasets"):
            sync_files(other, name="ours", now=NOW)
    assert Dataset.objects.filter(name="rides").exists() is is_meant


def test_a_folder_that_is_no_table_and_an_assertion_of_a_wrong_dataset_are_told_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / "delta/_delta_log").mkdir(parents=True)
    wrong = TRIPS.replace("mart.trips", "mart.wrong").replace("tier: 1", "tier: 9")
    delta = TRIPS.replace("/sea/trips", "delta").removeprefix("\ndatasets:\n")
    path = write(tmp_path / "catalog.yaml", wrong, delta, "tests:", one_test("mart.wrong", assertion="row_count("))
    places = [line.removeprefix(f"{path}:").split(": ")[1] for line in mistakes(path)]
    assert places == ["datasets[0].tier", "mart.trips in sea", "mart.wrong, test 'rows'"]
