"""Sources of catalogs: whose a dataset is, what leaves a source, and what a plan says of it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alerting.tasks import judge
from assay import clock
from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from assay.models import AuditEntry, Dataset, DataTest, LineageEdge
from incident_manager.models import Incident
from incident_manager.tasks import rejudge
from test_generator.tasks import reconcile
from tests.factories import IncidentFactory, SpoiltWindowFactory, StandingFactory
from tests.fixture_types import Capture

pytestmark = pytest.mark.django_db(transaction=True)  # a command closes its connection

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _noon() -> None:
    clock.simulate(NOW)


def dataset(name: str, tier: int = 1) -> str:
    return f"""
  - name: {name}
    owner: rita@example.com
    tier: {tier}
    columns: {{id: bigint, fare: double}}
    primary_key: [id]
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: parquet, location: /sea/{name}}}]"""


def write(path: Path, *names: str, tier: int = 1, more: str = "", source: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    head = f"source: {source}\n" if source else ""
    datasets = "datasets:" + "".join(dataset(name, tier) for name in names) if names else ""
    path.write_text(f"{head}{datasets}\n{more}\n")
    return path


def fares(assertion: str = "mean(fare) >= 5", name: str = "fares") -> str:
    return f"tests:\n  - {{dataset: raw.trips, name: {name}, assertion: {assertion}, severity: soft}}"


def run_and_read(capsys: Capture, *arguments: object) -> tuple[int, str]:
    capsys.readouterr()
    code = run_command([str(argument) for argument in arguments])
    told = capsys.readouterr()
    return code, told.out + told.err


def missing() -> set[str]:
    return set(Dataset.objects.filter(missing_since__isnull=False).values_list("full_name", flat=True))


def test_a_second_file_of_the_same_name_is_refused_and_takes_nothing_from_the_first(
    tmp_path: Path, capsys: Capture
) -> None:
    ours, theirs = write(tmp_path / "a" / "catalog.yaml", "raw.a"), write(tmp_path / "b" / "catalog.yaml", "raw.b")
    assert run_and_read(capsys, "sync", ours)[0] == ExitCode.HELD
    code, told = run_and_read(capsys, "sync", theirs)
    assert code == ExitCode.UNABLE
    assert str(ours) in told
    assert str(theirs) in told
    assert missing() == set()


def test_files_that_name_their_sources_live_side_by_side(tmp_path: Path, capsys: Capture) -> None:
    for team in ("a", "b"):
        path = write(tmp_path / team / "catalog.yaml", f"raw.{team}", source=f"team-{team}")
        assert run_and_read(capsys, "sync", path)[0] == ExitCode.HELD
    assert Dataset.objects.filter(missing_since__isnull=True).count() == 2


def test_a_named_source_may_be_read_from_another_place(tmp_path: Path, capsys: Capture) -> None:
    for build in ("build-1", "build-2"):
        path = write(tmp_path / build / "catalog.yaml", "raw.a", source="team-a")
        assert run_and_read(capsys, "sync", path)[0] == ExitCode.HELD


def test_a_folder_is_one_source_in_which_files_may_be_renamed(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "catalog"
    trips, cities = write(folder / "trips.yaml", "raw.trips"), write(folder / "cities.yml", "raw.cities")
    write(folder / "lineage.yaml", more="lineage: [{upstream: raw.cities, downstream: raw.trips}]")
    assert run_and_read(capsys, "sync", folder)[0] == ExitCode.HELD
    trips.rename(folder / "rides.yaml")
    told = run_and_read(capsys, "sync", folder)[1]
    assert (missing(), LineageEdge.objects.count()) == (set(), 1)
    assert "changed: none" in told
    cities.unlink()
    (folder / "lineage.yaml").unlink()
    run_and_read(capsys, "sync", folder)
    assert missing() == {"raw.cities"}


def test_a_dataset_of_another_source_is_refused_until_that_lets_go_of_it(tmp_path: Path, capsys: Capture) -> None:
    ours, theirs = write(tmp_path / "ours.yaml", "raw.trips"), write(tmp_path / "theirs.yaml", "RAW.Trips")
    run_and_read(capsys, "sync", ours)
    code, told = run_and_read(capsys, "sync", theirs)
    assert code == ExitCode.UNABLE
    assert f"{theirs}:2: raw.trips belongs to the source 'ours' ({ours})" in told
    assert run_and_read(capsys, "sync", "--remove-source", "ours")[0] == ExitCode.HELD
    assert run_and_read(capsys, "sync", theirs)[0] == ExitCode.HELD
    assert Dataset.objects.get().source == "theirs"
    assert missing() == set()


def test_more_than_a_tenth_and_more_than_five_go_only_where_that_is_meant(tmp_path: Path, capsys: Capture) -> None:
    names = [f"raw.t{number}" for number in range(12)]
    path = write(tmp_path / "catalog.yaml", *names)
    run_and_read(capsys, "sync", path)
    write(path, *names[:6])
    for command in ("plan", "sync"):
        code, told = run_and_read(capsys, command, path)
        assert code == (ExitCode.FAILED if command == "plan" else ExitCode.UNABLE)
        assert "6 of its 12 datasets would leave the source at once: raw.t10, raw.t11, raw.t6" in told
        assert "--allow-removal" in told
    assert missing() == set()
    assert run_and_read(capsys, "sync", path, "--allow-removal")[0] == ExitCode.HELD
    assert missing() == set(names[6:])


def test_a_test_that_left_its_file_is_retired_after_the_grace_and_its_incident_withdrawn(
    tmp_path: Path, capsys: Capture
) -> None:
    path = write(tmp_path / "catalog.yaml", "raw.trips", more=fares())
    run_and_read(capsys, "sync", path)
    test = DataTest.objects.get(name="fares")
    StandingFactory.create(data_test=test, revision=test.revision, state="FAIL", last_outcome="broken")
    SpoiltWindowFactory.create(incident=IncidentFactory.create(dataset=test.dataset), data_test=test, datacenter="sea")
    write(path, "raw.trips")
    run_and_read(capsys, "sync", path)
    assert live() == {"fares"}
    clock.simulate(NOW + DAY)
    _settle()
    assert live() == set()
    assert Incident.objects.get().resolution == "withdrawn"


def test_a_plan_is_a_diff_of_datasets_lineage_and_tests(tmp_path: Path, capsys: Capture) -> None:
    more = "lineage: [{upstream: raw.cities, downstream: raw.trips, one_to_one: true}]\n" + fares()
    path = write(tmp_path / "catalog.yaml", "raw.trips", "raw.cities", more=more)
    run_and_read(capsys, "sync", path)
    write(path, "raw.trips", "raw.rides", tier=2, more=fares("mean(fare) >= 6", name="higher"))
    code, told = run_and_read(capsys, "plan", path)
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert code == ExitCode.HELD
    for line in (
        "- dataset raw.cities",
        "+ dataset raw.rides",
        "~ dataset raw.trips",
        "tier: 1 → 2",
        "- lineage raw.cities → raw.trips",
        "- test raw.trips: fares",
        "+ test raw.trips: higher",
        "mean(fare) >= 6",
        "- test raw.cities: freshness",
        "- test raw.trips: completeness:raw.cities",
        "~ test raw.trips: freshness",
    ):
        assert line in lines
    assert missing() == set()


def test_a_plan_as_json_holds_every_field_before_and_after(tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "catalog.yaml", "raw.trips", more=fares())
    run_and_read(capsys, "sync", path)
    write(path, "raw.trips", more=fares("mean(fare) >= 6"))
    planned: Any = json.loads(run_and_read(capsys, "plan", path, "--json")[1])
    assert [(change["sign"], change["name"]) for change in planned["changes"]] == [("~", "raw.trips: fares")]
    assert planned["changes"][0]["fields"] == {"assertion": ["mean(fare) >= 5", "mean(fare) >= 6"]}


def test_a_plan_of_many_tables_sums_up_by_reason_what_is_not_testable(tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "catalog.yaml", *(f"raw.t{number:02}" for number in range(12)))
    path.write_text(path.read_text().replace("primary_key: [id]", "primary_key: []"))
    code, told = run_and_read(capsys, "plan", path)
    lines = [line for line in told.splitlines() if "not testable" in line]
    assert (code, len(lines), lines[-1]) == (ExitCode.HELD, 4, "--json names all that is not testable")
    assert "not testable: raw.t00, raw.t01, raw.t02 and 9 more, duplicates: it has no primary key." in lines
    assert len(json.loads(run_and_read(capsys, "plan", path, "--json")[1])["gaps"]) == 36


@pytest.mark.parametrize("command", ["plan", "sync"])
def test_every_mistake_of_an_assertion_is_told_with_file_line_test_and_caret(
    tmp_path: Path, capsys: Capture, command: str
) -> None:
    more = fares("mean(fair) >= 5")
    for name, assertion in (("kind", "freshness() < 3"), ("words", "row_count( >= 1"), ("right", "row_count() > 0")):
        more += f"\n  - dataset: raw.trips\n    name: {name}\n    assertion: {assertion}"
    path = write(
        tmp_path / "catalog.yaml", "raw.trips", more=f"lineage: [{{upstream: raw.x, downstream: raw.trips}}]\n{more}"
    )
    code, told = run_and_read(capsys, command, path)
    assert code == ExitCode.UNABLE
    assert f"{path}:9: lineage[0].upstream: found 'raw.x'" in told
    for line, name in ((11, "fares"), (14, "kind"), (17, "words")):
        assert f"{path}:{line}: raw.trips, test '{name}': Cannot " in told
    assert told.count("^") >= 3
    assert "right" not in told
    assert not Dataset.objects.exists()
    assert not AuditEntry.objects.exists()


def live() -> set[str]:
    return set(DataTest.objects.filter(origin="user", retired_at__isnull=True).values_list("name", flat=True))


def _settle() -> None:
    while reconcile() + rejudge() + judge():
        pass
