"""The ``assay`` command: what it prints, and how it exits."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay import clock
from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.models import AuditEntry, Dataset, DataTest
from execution_engine import storage
from execution_engine.outcome import Failure, Reason
from tests.factories import DatasetFactory
from tests.fakes import FakeEngine, Row, rows
from tests.fixture_types import Capture, Patch

pytestmark = pytest.mark.django_db(transaction=True)  # a command closes its connection

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
CATALOG = """
datasets:
  - name: raw.trips
    owner: rita@example.com
    tier: 1
    columns: {id: bigint, fare: double}
    primary_key: [id]
    partition: {column: datestr, granularity: day, time_zone: UTC}
    replicas: [{datacenter: sea, storage: parquet, location: /sea/raw.trips}]
tests:
  - {dataset: raw.trips, name: fares, assertion: mean(fare) >= 5, severity: soft}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    clock.simulate(NOW)
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG)
    return path


@pytest.fixture
def lake() -> Any:
    engine = FakeEngine()
    with storage.using(engine):
        yield engine


def answer(capsys: Capture, *arguments: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = run_command([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def synced(catalog: Path, capsys: Capture) -> None:
    answer(capsys, "sync", str(catalog))


def test_a_sync_writes_the_standard_tests_and_the_users(catalog: Path, capsys: Capture) -> None:
    code, synced = answer(capsys, "sync", str(catalog))
    assert (code, synced["created"]) == (ExitCode.HELD, ["raw.trips"])
    assert set(DataTest.objects.values_list("name", flat=True)) >= {"freshness", "duplicates", "fares"}


def test_who_brought_the_catalog_where_it_is_can_be_read_in_the_audit(catalog: Path, capsys: Capture) -> None:
    answer(capsys, "sync", str(catalog))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.via, entry.object_id) == ("catalog.synced", "command", "catalog")
    assert entry.after == {
        "created": ["raw.trips"], "changed": [], "missing": [], "templates": [], "bindings": []
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "name", "code", "outcome"),
    [
        (rows(10), "duplicates", ExitCode.HELD, "held"),
        ([*rows(10), *rows(10)], "duplicates", ExitCode.FAILED, "broken"),
        ([{"id": number, "fare": 1.0} for number in range(5)], "fares", ExitCode.WARNED, "broken"),
    ],
    ids=["held", "a broken hard test", "a broken soft test"],
)
def test_a_run_exits_as_its_tests_end(
    synced: None, lake: FakeEngine, capsys: Capture, written: list[Row], name: str, code: int, outcome: str
) -> None:
    lake.write("/sea/raw.trips", "2026-03-09", written)
    for window in ((), ("--window", "2026-03-09")):
        exit_code, done = answer(capsys, "run", "raw.trips", *window, "--data-test", name)
        assert (exit_code, [run["outcome"] for run in done["runs"]]) == (code, [outcome])


def test_a_test_of_the_whole_table_that_is_named_runs_over_all_of_it(
    synced: None, lake: FakeEngine, capsys: Capture
) -> None:
    lake.write("/sea/raw.trips", "2026-03-09", rows(10))
    lake.write("/sea/raw.trips", "__HIVE_DEFAULT_PARTITION__", rows(2))
    code, done = answer(capsys, "run", "raw.trips", "--data-test", "unpartitioned:whole")
    assert (code, [run["value"] for run in done["runs"]]) == (ExitCode.WARNED, [2])
    assert done["window"].startswith("1970-01-01T")


@pytest.mark.parametrize(
    "arguments",
    [
        ["gate"],
        ["claim", "no.such", "bad", "--window", "2026-01-05"],
        ["claim", "raw.trips", "bad", "--window", "2026-01-05", "--saw", "ghosts"],
        ["claim", "raw.trips", "bad", "--window", "2026-01-05", "--datacenter", "moon"],
        ["gate", "no.such"],
        ["run", "raw.trips", "--window", "yesterday"],
        ["run", "raw.trips", "--data-test", "no-such"],
        ["report", "--from", "2026-02-01", "--to", "2026-01-01"],
        ["sync", "no-such.yaml"],
        ["no-such-command"],
    ],
)
def test_what_cannot_be_asked_exits_3_and_says_why(
    synced: None, lake: FakeEngine, capsys: Capture, arguments: list[str]
) -> None:
    assert run_command(arguments) == ExitCode.UNABLE
    assert "assay" in capsys.readouterr().err


def test_a_bare_date_of_a_report_on_one_dataset_is_midnight_there(capsys: Any) -> None:
    DatasetFactory.create(name="berlin", time_zone="Europe/Berlin")
    range_ = ("--from", "2026-02-01", "--to", "2026-02-02")
    assert answer(capsys, "report", *range_, "--dataset", "raw.berlin")[1]["from"] == "2026-01-31T23:00:00+00:00"
    assert answer(capsys, "report", *range_)[1]["from"] == "2026-02-01T00:00:00+00:00"


def test_a_report_of_what_was_never_tested_has_no_figures(synced: None, capsys: Capture) -> None:
    code, scores = answer(capsys, "report")
    assert (code, scores["total"]["precision"], scores["total"]["data_quality"]) == (ExitCode.HELD, None, None)
    run_command(["report"])
    assert "not tested" in (shown := capsys.readouterr().out)
    assert "100" not in shown


def test_a_claim_from_a_shell_says_what_was_seen_and_who_hears_of_it(synced: None, capsys: Capture) -> None:
    claim = ("claim", "raw.trips", "I miss a third.", "--window", "2026-01-05", "--saw", "rows missing")
    code, told = answer(capsys, *claim)
    assert (code, told["saw"], told["state"]) == (ExitCode.HELD, "rows missing", "open")
    assert f"It is incident {told['incident']} now." in told["message"]
    assert AuditEntry.objects.filter(action="report.create", object_id=str(told["report"])).exists()
    _, again = answer(capsys, *claim)
    assert (again["state"], again["joined"]) == ("joined", [told["incident"]])


def test_the_doctor_finds_an_empty_catalog_and_says_how_to_mend_it(capsys: Capture) -> None:
    code, examined = answer(capsys, "doctor")
    ill = {finding["check"]: finding["mend"] for finding in examined["findings"] if not finding["is_well"]}
    assert code == ExitCode.FAILED
    assert "assay sync" in ill["catalog"]


def test_the_doctor_finds_a_replica_that_is_not_there(synced: None, capsys: Capture) -> None:
    _, examined = answer(capsys, "doctor")
    found = {finding["check"]: finding["found"] for finding in examined["findings"]}
    assert "/sea/raw.trips" in found["replicas"]


def test_a_second_dataset_whose_name_differs_by_case_only_is_refused(catalog: Path, capsys: Capture) -> None:
    second = CATALOG[CATALOG.index("  - name:") : CATALOG.index("tests:")].replace("raw.trips", "RAW.Trips")
    catalog.write_text(CATALOG.replace("tests:", f"{second}tests:"))
    assert run_command(["sync", str(catalog)]) == ExitCode.UNABLE
    said = capsys.readouterr().err
    assert "catalog.yaml:10" in said
    assert "'RAW.Trips'" in said
    assert "'raw.trips'" in said
    assert not Dataset.objects.exists()


def test_a_catalog_that_names_assays_own_database_or_secrets_is_refused(
    catalog: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("ASSAY_SECRET_KEY", "hush")
    own = f"sqlite:///{config().home.resolve()}/assay.db"
    for place in (
        f"storage: sql, location: '{own}', options: {{table: auth_user}}",
        "storage: parquet, location: 'env:ASSAY_SECRET_KEY'",
        "storage: sql, location: 'env:ASSAY_DATABASE_URL', options: {table: auth_user}",
    ):
        catalog.write_text(CATALOG.replace("storage: parquet, location: /sea/raw.trips", place))
        code = run_command(["sync", str(catalog)])
        assert (code, Dataset.objects.exists()) == (ExitCode.UNABLE, False)
        assert "raw.trips in sea" in capsys.readouterr().err


def test_a_report_names_the_tables_of_which_nobody_knows_whether_they_are_good(
    synced: None, lake: FakeEngine, capsys: Capture
) -> None:
    lake.failures["/sea/raw.trips"] = Failure(reason=Reason.UNREADABLE, detail="The file is cut short.")
    answer(capsys, "run", "raw.trips", "--window", "2026-03-09", "--data-test", "duplicates")
    capsys.readouterr()
    assert run_command(["report"]) == ExitCode.HELD
    said = capsys.readouterr().out
    assert "unknown now: raw.trips: duplicates: could not be judged: table cannot be read" in said
    for arguments, names in ((["--tier", "1"], ["raw.trips"]), (["--tier", "2"], []), (["--category", "custom"], [])):
        _, found = answer(capsys, "report", *arguments)
        assert [each["dataset"] for each in found["unknown"]] == names
