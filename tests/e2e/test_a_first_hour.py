"""The first hour with a catalog: the commands of docs/first-hour.md as they are typed there, over a hospital."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from shlex import split
from types import SimpleNamespace

import pyarrow as pa
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import snapshots
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField
from pytest_django import DjangoDbBlocker

from assay.command_line.cli import run
from assay.queue.drain import drain
from tests.e2e.newcomer import empty_home
from tests.fixture_types import Capture

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"
NOW = datetime.now(UTC)
TABLES = {
    "ward": "admissions discharges transfers beds bed_moves vitals falls meals visits handovers triage consents",
    "lab": "orders samples results microbiology pathology reagents analyzers critical_values turnaround blood_bank",
    "pharmacy": "prescriptions dispensings administrations stock interactions returns deliveries formulary",
    "imaging": "studies reports appointments doses devices",
    "billing": "claims invoices payments denials cases tariffs insurers",
    "staff": "shifts absences rosters employees trainings departments icd_codes wards",
}
WITHOUT_OWNER = ("billing", "staff", "lab.critical_values", "ward.consents")
FAULTS = {"lab.results", "pharmacy.administrations", "imaging.studies"}
SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "day", DateType()))
DAYS = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Fifty tables with three weeks of loads, of which three are ill since yesterday, and an empty home of Assay."""
    uri, chance = f"sqlite:///{tmp_path}/catalog.db", Random("hospital")
    catalog = SqlCatalog("hospital", uri=uri, warehouse=f"file://{tmp_path}/warehouse")
    loaded_at = NOW
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(time=lambda: loaded_at.timestamp()))
    for namespace, names in TABLES.items():
        catalog.create_namespace(namespace)
        for name in (f"{namespace}.{table}" for table in names.split()):
            properties = {} if name.startswith(WITHOUT_OWNER) else {"owner": f"{namespace}@hospital.example"}
            table = catalog.create_table(name, SCHEMA, partition_spec=DAYS, properties=properties)
            for ago in range(21, 3 if name == "imaging.studies" else 0, -1):
                loaded_at = NOW - timedelta(days=ago - 1, hours=3, minutes=chance.uniform(0, 9))
                rows = chance.randrange(280, 320) // (2 if (name, ago) == ("lab.results", 1) else 1)
                day = [(NOW - timedelta(days=ago)).date()] * rows
                load = pa.table({"id": list(range(rows)), "day": pa.array(day, pa.date32())})
                table.append(load)
                if (name, ago) == ("pharmacy.administrations", 1):
                    loaded_at += timedelta(minutes=3)
                    table.append(load)
    variables = {
        "ASSAY_CATALOGS": json.dumps([{"name": "hospital", "type": "sql", "uri": uri}]),
        "ASSAY_PROVIDERS": json.dumps(
            [{"name": "lake", "kind": "iceberg", "catalog": "hospital", "every": "1h", "defaults": {"tier": 4}}]
        ),
    }
    with django_db_blocker.unblock(), empty_home(tmp_path / "home", variables, monkeypatch):
        yield


def typed() -> Iterator[tuple[list[str], list[str]]]:
    """Each command of Assay on the page before ``assay up``, and the lines that are shown of its answer."""
    text = PAGE.read_text().partition("    $ assay up")[0]
    for command, shown in re.findall(r"^    \$ assay (.*)\n((?:    [^$\n].*\n)*)", text, re.MULTILINE):
        yield split(command.partition(" | ")[0]), [line.strip() for line in shown.splitlines()]


def words(line: str) -> list[str]:
    """The words of a line, without its figures of tests, which are those of other columns."""
    return re.sub(r"\d+ (\+|live)", r"\1", line).split()


@pytest.mark.whole
def test_a_catalog_of_fifty_tables_shows_its_three_faults_within_the_hour(hospital: None, capsys: Capture) -> None:
    for command, shown in typed():
        run(command)
        answer = [words(line) for line in capsys.readouterr().out.splitlines()]
        assert [line for line in shown if line != "…" and words(line) not in answer] == [], command
    drain()
    page = Client()
    page.force_login(User.objects.create_superuser("ann"))
    unusual = page.get("/api/v1/vital-signs?unusual=true").json()["results"]
    assert {row["dataset"] for row in unusual} == FAULTS
    assert all(name in PAGE.read_text() for name in FAULTS)
