"""The way of each toy metric through language, pages, checks and service.

Run by ``test_a_new_metric.py`` in a copy of the project to which the toys were added; here there are none.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role
from assay.command_line.cli import run as run_command
from assay.models import AccessToken, Dataset, DataTest, Member
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Measurement, Run
from execution_engine.verification import Check, ConstraintStatus, UnableToAssert, VerificationSuite
from tests.factories import NOW, DatasetFactory
from tests.fakes import FakeEngine
from tests.integration.execution_engine.conftest import Loop
from tests.unit.execution_engine.metrics.metrics_page import PATH

Rows = dict[str, list[Any]]
ANYWHERE = {  # the assertion that holds, and the one that is broken
    "null_count": ("null_count(fare) = 1", "null_count(fare) = 0"),
    "approx_distinct_share": ("approx_distinct_share(id) between 0.95 and 1.05", "approx_distinct_share(city) > 0.9"),
    "repeated_keys": ("repeated_keys(city) = 2", "repeated_keys(id) > 0"),
    "widest_gap": ("widest_gap(fare) = 13", "widest_gap(fare) < 13"),
    "rows_beside": ("rows_beside('raw.events') = 3", "rows_beside('raw.events') = 10"),
}
BY_THE_SERVICE = {
    "rows_per_key": ("rows_per_key(city) between 1.42 and 1.43", "rows_per_key(id) > 1"),
    "rows_missing": ("rows_missing(datacenter='phx') = 1", "rows_missing(datacenter='phx') = 0"),
    "stray_keys": ("stray_keys() = 1", "stray_keys() = 0"),
}
ALL = ANYWHERE | BY_THE_SERVICE
WITHOUT_SPARK = ("null_count", "repeated_keys")
TRIPS: Rows = {
    "id": list(range(10)),
    "fare": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, None, 20.0],
    "city": list("aabbbcdefg"),
}
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "fare", "type": "double"}, {"name": "city", "type": "string"}]


def write(folder: Path, rows: Rows) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows), folder / "part-0.parquet")
    return folder


@pytest.fixture
def spark(spark_engine: SparkEngine) -> Iterator[SparkEngine]:
    with storage.using(spark_engine):
        yield spark_engine


@pytest.fixture
def trips(db: None, tmp_path: Path) -> Dataset:
    """Ten rows at home, nine of them in phx, and one row that lies in no partition."""
    clock.simulate(NOW)
    events = DatasetFactory.create(name="events")
    dataset = DatasetFactory.create(name="trips", datacenters=("sea", "phx"), columns=COLUMNS)
    for replica in (*dataset.replicas.all(), *events.replicas.all()):
        replica.location = str(tmp_path / replica.datacenter / replica.dataset.name)
        replica.save()
    write(tmp_path / "sea" / "trips" / "datestr=2026-03-09", TRIPS)
    write(tmp_path / "phx" / "trips" / "datestr=2026-03-09", {name: some[:9] for name, some in TRIPS.items()})
    write(tmp_path / "sea" / "trips" / "datestr=garbage", {name: some[:1] for name, some in TRIPS.items()})
    write(tmp_path / "sea" / "events" / "datestr=2026-03-09", {"id": [1, 2, 3], "fare": [1.0, 2.0, 3.0]})
    return dataset


@pytest.mark.parametrize("name", ALL)
def test_the_page_of_metrics_lists_it(name: str) -> None:
    assert f"| `{name}(" in PATH.read_text()


@pytest.mark.parametrize(("holds", "breaks"), ANYWHERE.values(), ids=ANYWHERE)
def test_checks_in_python(spark: SparkEngine, tmp_path: Path, holds: str, breaks: str) -> None:
    events = write(tmp_path / "events", {"id": [1, 2, 3]})
    suite = VerificationSuite(engine=spark).on(write(tmp_path / "trips", TRIPS)).with_table("raw.events", events)
    result = suite.add_check(Check().holds(holds).holds(breaks)).run()
    statuses = [each.status for each in result.checks[0].constraints]
    assert statuses == [ConstraintStatus.SUCCESS, ConstraintStatus.FAILURE], [str(one) for one in result.failed]


@pytest.mark.parametrize(
    ("name", "why"), [("rows_per_key", "needs the catalog"), ("rows_missing", "has no replica in")]
)
def test_what_needs_a_catalog_is_told_so(name: str, why: str) -> None:
    with pytest.raises(UnableToAssert, match=why):
        Check().holds(ALL[name][0])


def test_what_needs_partitions_is_told_so(spark: SparkEngine, tmp_path: Path) -> None:
    check = Check().holds(ALL["stray_keys"][0])
    result = VerificationSuite(engine=spark).on(write(tmp_path, TRIPS)).add_check(check).run()
    assert "register the table in the catalog" in result.checks[0].constraints[0].message


@pytest.mark.parametrize("name", WITHOUT_SPARK)
def test_what_is_plain_sql_over_a_row_needs_no_spark(tmp_path: Path, name: str) -> None:
    result = VerificationSuite().on(write(tmp_path, TRIPS)).add_check(Check().holds(ALL[name][0])).run()
    assert (result.spark_jobs, len(result.failed)) == (0, 0)


def test_checks_in_yaml(spark: SparkEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As assertions, and in the short form that every metric has."""
    write(tmp_path / "events", {"id": [1, 2, 3]})
    said: list[dict[str, Any]] = [{"assertion": holds} for holds, _ in ANYWHERE.values()]
    said += [{"null_count": {"fare": 1}}, {"repeated_keys": {"id": 0, "city": "<= 2"}}, {"widest_gap": {"fare": 13}}]
    checks = tmp_path / "checks.yaml"
    checks.write_text(yaml.safe_dump({"tables": {"raw.events": "./events"}, "checks": said}))
    capsys.readouterr()
    run_command(["verify", str(write(tmp_path / "trips", TRIPS)), "--checks", str(checks), "--json"])
    rows = json.loads(capsys.readouterr().out)["constraints"]
    assert [row["message"] for row in rows if row["status"] != "success"] == []
    assert len(rows) == len(said) + 1


@pytest.mark.django_db
def test_data_tests_that_are_written_run_and_shown(spark: SparkEngine, trips: Dataset, client: Client) -> None:
    user = User.objects.create_user("grace", password="hopper")
    Member.objects.create(user=user, role=Role.ADMIN)
    api = APIClient(raise_request_exception=False)
    api.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(user)[1]}")
    for name, (holds, breaks) in ALL.items():
        for said, text in (("holds", holds), ("breaks", breaks)):
            body = {"dataset": trips.full_name, "name": f"{name} {said}", "assertion": text, "severity": "soft"}
            made = api.post("/api/v1/data-tests", body, format="json")
            assert made.status_code == 201, made.json()
            asked = {"data_test": made.json()["id"], "window": "2026-03-09"}
            assert api.post("/api/v1/runs", asked, format="json").status_code == 201
    Loop(lake=FakeEngine()).drain()
    found = {run.data_test.name: (run.outcome, run.sentence) for run in Run.objects.all()}
    wanted = {f"{name} {said}": said for name in ALL for said in ("holds", "breaks")}
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        name: {"holds": "held", "breaks": "broken"}[said] for name, said in wanted.items()
    }, found
    assert {row.metric.name for row in Measurement.objects.exclude(value=None)} >= set(ALL)
    client.force_login(user)
    pages = range(1, len(wanted) // 10 + 2)
    page = "".join(client.get(f"/datasets/{trips.full_name}?tab=tests&page={n}").content.decode() for n in pages)
    assert [test.name for test in DataTest.objects.all() if test.name not in page] == []
