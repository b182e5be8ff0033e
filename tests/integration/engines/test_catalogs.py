"""Tables that a catalog of Iceberg names: in a database, behind REST, and in Glue; and what is wrong with catalogs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest
import yaml
from pyiceberg.catalog.sql import SqlCatalog

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from execution_engine.engines.catalogs import locate
from execution_engine.engines.catalogs.locate import UnableToAskCatalog, fault_of_catalog, metadata_location, tables_of
from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.verification.data import table_of
from tests import servers
from tests.fixture_types import Capture
from tests.integration.engines.rest_catalog import RestCatalog, rest_catalog
from tests.integration.engines.stored import settings
from tests.integration.engines.trips import metric

SECRETS = {"CATALOG_CREDENTIAL": "reader:secret", "CATALOG_KEY": "k"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    """A catalog with one table of three rows."""
    folder = tmp_path_factory.mktemp("lake")
    catalog = SqlCatalog("prod", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("raw")
    rows = pa.table({"id": [1, 2, 3], "day": ["2026-11-01", "2026-11-01", "2026-11-02"]})
    catalog.create_table("raw.trips", schema=rows.schema).append(rows)
    return catalog


@pytest.fixture(scope="module")
def rest(lake: SqlCatalog) -> Iterator[RestCatalog]:
    with rest_catalog(lake, view="raw.late") as server:
        yield server


@pytest.fixture(autouse=True)
def named(lake: SqlCatalog, rest: RestCatalog) -> Iterator[None]:
    """The settings name both, and one that is away."""
    entries = [
        {"name": "db", "type": "sql", "uri": lake.properties["uri"], "catalog": "prod"},
        {"name": "lake", "type": "rest", "uri": uri_of(rest), "credential": "env:CATALOG_CREDENTIAL"},
        {"name": "away", "type": "rest", "uri": "http://127.0.0.1:9"},
        {"name": "empty", "type": "sql", "uri": "sqlite:////dev/null"},
        {"name": "hive", "type": "hive", "uri": "thrift://127.0.0.1:9"},
    ]
    with settings(ASSAY_CATALOGS=json.dumps(entries), **SECRETS):
        yield
    rest.status, rest.is_silent = 200, False
    locate._away.clear()


def uri_of(server: RestCatalog) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def rows_of(location: str) -> object:
    report = report_without_spark(table_of(location, "t"), [MeasurementRequest(key="rows", spec=metric("row_count"))])
    assert report is not None
    return report.measured["rows"].value


@pytest.mark.parametrize("name", ["db", "lake"])
def test_the_rows_of_a_table_are_those_that_its_catalog_has_committed(lake: SqlCatalog, name: str) -> None:
    table = lake.load_table("raw.trips")
    before = table.scan().to_arrow().num_rows
    assert rows_of(f"iceberg://{name}/raw.trips") == before
    table.append(pa.table({"id": [4], "day": ["2026-11-02"]}))
    assert rows_of(f"iceberg://{name}/raw.trips") == before + 1
    # written, and not committed: the newest file of the folder does not count
    current = Path(table.metadata_location.removeprefix("file://"))
    (current.parent / f"99999-{current.name[6:]}").write_bytes(current.read_bytes())
    assert metadata_location(f"iceberg://{name}/raw.trips") == table.metadata_location


def test_a_catalog_in_glue_gives_the_place_that_its_table_has(lake: SqlCatalog) -> None:
    with servers.s3() as endpoint:  # which serves all of Amazon
        keys = {"access_key": "env:CATALOG_KEY", "secret_key": "env:CATALOG_KEY"}
        entry = {"name": "aws", "type": "glue", "region": "eu-central-1", "endpoint": endpoint, **keys}
        with settings(ASSAY_CATALOGS=json.dumps([entry]), **SECRETS):
            from execution_engine.engines.catalogs.locate import _named, _open

            place = lake.load_table("raw.trips").metadata_location
            glue = _open(_named("iceberg://aws")[0]).glue  # type: ignore[attr-defined]
            glue.create_database(DatabaseInput={"Name": "raw"})
            parameters = {"table_type": "ICEBERG", "metadata_location": place}
            glue.create_table(DatabaseName="raw", TableInput={"Name": "trips", "Parameters": parameters})
            glue.create_table(DatabaseName="raw", TableInput={"Name": "csv", "Parameters": {"table_type": "HIVE"}})
            assert metadata_location("iceberg://aws/raw.trips") == place
            assert tables_of("iceberg://aws") == ["raw.trips"]
            assert sentence_of("iceberg://aws/raw.none").startswith("the catalog aws at http://127.0.0.1:")
            assert "has raw.csv as a table of another kind" in sentence_of("iceberg://aws/raw.csv")


@pytest.mark.whole
def test_a_catalog_in_postgresql_is_read_by_the_driver_that_there_is(tmp_path: Path) -> None:
    with servers.postgresql() as server:
        catalog = SqlCatalog("mart", uri=server.url, warehouse=f"file://{tmp_path}/warehouse")
        catalog.create_namespace("raw")
        place = catalog.create_table("raw.trips", schema=pa.schema({"id": pa.int64()})).metadata_location
        url = server.url.replace("+psycopg", "")
        entries = [
            {"name": "mart", "type": "sql", "uri": "env:MART_URL"},
            {"name": "stranger", "type": "sql", "uri": "env:STRANGER_URL"},
            {"name": "other", "type": "sql", "uri": url.replace("/lake", "/postgres")},
        ]
        stranger = url.replace("assay@", "nobody:secret@")
        with settings(ASSAY_CATALOGS=json.dumps(entries), MART_URL=url, STRANGER_URL=stranger):
            assert metadata_location("iceberg://mart/raw.trips") == place
            assert tables_of("iceberg://mart") == ["raw.trips"]
            assert "the catalog stranger at env:STRANGER_URL: " in sentence_of("iceberg://stranger/raw.trips")
            assert "is a database in which iceberg_tables is not there" in sentence_of("iceberg://other/raw.trips")
    with settings(ASSAY_CATALOGS=json.dumps(entries), MART_URL=url, STRANGER_URL=stranger):
        assert "no server answers there: see that it runs" in sentence_of("iceberg://mart/raw.trips")


def sentence_of(location: str) -> str:
    """What is said of a location, and that it is said in time."""
    started = monotonic()
    with pytest.raises(UnableToAskCatalog) as error:
        metadata_location(location)
    assert monotonic() - started < 10
    assert "secret" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("location", "sentence"),
    [
        ("iceberg://db/raw.none", "has no table raw.none: `assay init iceberg://db` lists its tables"),
        ("iceberg://lake/raw.none", "has no table raw.none: `assay init iceberg://lake` lists its tables"),
        ("iceberg://lake/raw.late", "raw.late of the catalog lake at http://127.0.0.1:.* is a view, whose query only"),
        ("iceberg://lake/raw", "names no table: write iceberg://lake/namespace.table"),
        ("iceberg://other/raw.trips", "no catalog of ASSAY_CATALOGS is called other: it names db, lake, away"),
        ("iceberg://lake/../raw", "'iceberg://lake/../raw' is no table of a catalog: write iceberg://CATALOG/"),
        ("iceberg://empty/raw.trips", "there is no file /dev/null: see that it runs"),
        ("iceberg://away/raw.trips", r"the catalog away at http://127.0.0.1:9 does not answer \(Connection refused\)"),
        ("iceberg://hive/raw.trips", "the catalog hive at thrift://127.0.0.1:9 needs the package thrift: pip install"),
    ],
)
def test_what_is_wrong_with_a_location_is_a_sentence_that_says_how_to_mend_it(location: str, sentence: str) -> None:
    assert re.search(sentence, sentence_of(location))


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (403, "does not let its credential read raw.trips"),
        (503, "does not answer .*: see that it runs and is reached from here"),
        (500, "does not answer .*: see that it runs"),
        (418, "gives no answer that is understood .*: correct it in ASSAY_CATALOGS"),
    ],
)
def test_each_answer_of_a_catalog_is_a_sentence(rest: RestCatalog, status: int, sentence: str) -> None:
    rest.status = status
    text = sentence_of("iceberg://lake/raw.trips")
    assert re.search(sentence, text), text


def test_a_wrong_credential_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_CREDENTIAL", "reader:wrong")
    assert "refuses its credential (OAuthError" in sentence_of("iceberg://lake/raw.trips")
    monkeypatch.delenv("CATALOG_CREDENTIAL")
    assert "takes its credential from CATALOG_CREDENTIAL, which is not set" in sentence_of("iceberg://lake/raw.trips")


@pytest.mark.whole
def test_a_silent_catalog_is_told_of_within_seconds_and_not_asked_again_at_once(rest: RestCatalog) -> None:
    rest.is_silent = True
    assert "does not answer" in sentence_of("iceberg://lake/raw.trips")
    started = monotonic()
    assert "does not answer" in sentence_of("iceberg://lake/raw.other")
    assert monotonic() - started < 0.5


def test_doctor_asks_each_catalog() -> None:
    from assay.config import config

    faults = {catalog.name: fault_of_catalog(catalog) for catalog in config().iceberg_catalogs}
    assert [name for name, fault in faults.items() if not fault] == ["db", "lake"]


@pytest.mark.parametrize("where", ["iceberg://lake", "iceberg://db/raw"])
def test_init_describes_the_tables_of_a_catalog(tmp_path: Path, where: str, capsys: Capture) -> None:
    output = tmp_path / "catalog.yaml"
    assert run_command(["init", where, "--output", str(output)]) == ExitCode.HELD, capsys.readouterr().err
    (dataset,) = yaml.safe_load(output.read_text())["datasets"]
    place = {"datacenter": "local", "storage": "iceberg", "location": f"{where.removesuffix('/raw')}/raw.trips"}
    assert (dataset["name"], dataset["replicas"]) == ("raw.trips", [place])


def test_verify_and_profile_take_the_name_of_a_table(tmp_path: Path, capsys: Capture) -> None:
    checks = tmp_path / "checks.yaml"
    checks.write_text("checks:\n- is_complete: id\n")
    assert run_command(["verify", "iceberg://lake/raw.trips", "--checks", str(checks)]) == ExitCode.HELD
    assert run_command(["profile", "iceberg://lake/raw.trips"]) == ExitCode.HELD
    assert run_command(["profile", "iceberg://lake/raw.none"]) == ExitCode.UNABLE
    assert "has no table raw.none" in capsys.readouterr().err
