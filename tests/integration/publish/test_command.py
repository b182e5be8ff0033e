"""``assay publish``: what moves a pointer, what is refused, and what is recorded, on real files."""

import json
import os
import shutil
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient
from sqlalchemy import create_engine, text

from assay import clock
from assay.catalog.selectors import home
from assay.database.name_keys import name_key
from assay.models import AuditEntry, Dataset
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.storage import stored_window
from incident_manager.models import Publication
from incident_manager.services import override
from tests.factories import HOUR, DatasetFactory, DataTestFactory, day
from tests.fixture_types import Capture, Patch
from tests.integration.commands.answers import answered, ended
from tests.integration.engines.stored import put, settings, store
from tests.integration.story import due

pytestmark = pytest.mark.django_db(transaction=True)

MONDAY = day("2026-03-09")
NAME, KEY = "raw.fares of “Zürich”", "2026-03-09"


def write(folder: Path, rows: int) -> None:
    part = folder / f"datestr={KEY}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    pq.write_table(pa.table({"id": list(range(rows))}), part / "part.parquet")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The folder of a dataset with a hard and a soft test."""
    clock.simulate(due(MONDAY) + HOUR)
    dataset = DatasetFactory.create(name=NAME.removeprefix("raw."), columns=[{"name": "id", "type": "bigint"}])
    dataset.replicas.update(location=str(tmp_path / "lake"))
    DataTestFactory.create(dataset=dataset, name="enough", assertion="row_count() >= 10", severity="hard")
    DataTestFactory.create(dataset=dataset, name="many", assertion="row_count() >= 1000", severity="soft")
    write(tmp_path / "lake", 12)
    return tmp_path / "lake"


def publish(capsys: Capture, to: str, *options: str) -> tuple[int, Any, str]:
    code, out, error = ended(capsys, "publish", NAME, "--window", KEY, "--to", to, "--json", *options)
    return code, json.loads(out) if out else None, error


def test_what_was_audited_is_published_and_recorded(
    lake: Path, tmp_path: Path, capsys: Capture, admin_user: User, client: Client
) -> None:
    to = f"manifest:{tmp_path / 'out'}"
    code, told, _ = publish(capsys, to, "--versions", str(tmp_path / "versions"))
    assert (code, told["published"]) == (0, True)
    document = json.loads((tmp_path / "out" / f"_PUBLISHED_{KEY}.json").read_text())
    assert document == told["document"]
    assert [(test["name"], test["status"], test["value"]) for test in document["tests"]] == [("enough", "held", 12.0)]
    copy = Path(document["location"]) / document["files"][0]["path"]
    assert pq.read_table(copy, partitioning=None).num_rows == 12
    write(lake, 3)
    assert pq.read_table(copy, partitioning=None).num_rows == 12
    entry, row = AuditEntry.objects.get(action="publication.publish"), Publication.objects.get()
    assert (entry.via, entry.object_id, row.state) == ("command", str(row.pk), "published")
    api = APIClient()
    api.force_authenticate(admin_user)
    listed = api.get("/api/v1/publications", {"dataset": NAME, "state": "published"}).json()["results"]
    assert [(each["partition"], each["pointer"], each["sha256"]) for each in listed] == [(KEY, to, document["sha256"])]
    client.force_login(admin_user)
    assert to in client.get(f"/datasets/{NAME}?tab=settings").content.decode()


@pytest.mark.parametrize("where", ["a folder", "a store"])
def test_a_store_takes_what_is_published_from_a_folder_and_from_a_store(
    lake: Path, capsys: Capture, where: str
) -> None:
    # a process of Spark opens the stores that were named when it began
    with store() as owner, closing(ChildEngine()) as engine, storage.using(engine):
        if where == "a store":
            put(owner, lake, "lake/fares")
            Dataset.objects.get().replicas.update(location="s3://lake/fares")
        pointers = ("manifest:s3://lake/out", "signal:s3://lake/out")
        # what a process left that died while it copied
        half = f"lake/versions/{quote(NAME, safe=' ')}/{KEY}/{stored_fingerprint()}/datestr={KEY}/part.parquet"
        owner.create_dir(half.rpartition("/")[0])
        with owner.open_output_stream(half) as stream:
            stream.write(b"half")
        for to in pointers:
            code, told, said = publish(capsys, to, "--versions", "s3://lake/versions/")
            assert (code, said) == (0, ""), told
        document = json.loads(owner.open_input_file(f"lake/out/_PUBLISHED_{KEY}.json").read())
        (signal,) = pq.read_table("lake/out/dataset=" + quote(NAME, safe=" "), filesystem=owner).to_pylist()
        assert json.loads(signal["document"]) == told["document"]
        assert signal["location"] == document["location"] == f"s3://{half}".rpartition("/datestr=")[0]
        (file,) = document["files"]
        copy = owner.open_input_file(f"{document['location'].removeprefix('s3://')}/{file['path']}").read()
        assert (len(copy), sha256(copy).hexdigest()) == (file["bytes"], file["sha256"])
        assert pq.read_table(pa.BufferReader(copy)).num_rows == 12
    code, told, said = publish(capsys, pointers[0])  # the store is gone
    assert (code, "in ASSAY_STORES" in said) == ((3, True) if where == "a folder" else (1, False))


def stored_fingerprint() -> str:
    dataset = Dataset.objects.get()
    return stored_window(dataset, home(dataset), MONDAY).fingerprint


def test_publishing_twice_is_publishing_once(lake: Path, tmp_path: Path, capsys: Capture) -> None:
    to = f"signal:{tmp_path / 'out'}"
    first, second = publish(capsys, to), publish(capsys, to)
    assert (first[0], first[1]) == (0, second[1])
    shutil.rmtree(tmp_path / "out")
    assert publish(capsys, to)[0] == 0
    signals = pq.read_table(tmp_path / "out").to_pylist()
    assert [(row["dataset"], str(row["partition"]), row["window"]) for row in signals] == [(NAME, KEY, MONDAY.text)]
    assert Publication.objects.filter(state="published").count() == 2


def test_a_table_with_a_hard_test_by_a_query_is_published(lake: Path, tmp_path: Path, capsys: Capture) -> None:
    query = f"query(\"select count(*) from fares where datestr = '{KEY}'\") >= 10"
    Dataset.objects.update(name="fares", full_name="raw.fares", name_key=name_key("raw.fares"))
    DataTestFactory.create(dataset=Dataset.objects.get(), name="by query", assertion=query, severity="hard")
    command = ("publish", "raw.fares", "--window", KEY, "--to", f"manifest:{tmp_path / 'out'}")
    told = answered(capsys, *command)
    assert (told["reasons"], [test["value"] for test in told["document"]["tests"]]) == ([], [12.0, 12.0])
    write(lake, 11)
    assert answered(capsys, *command)["document"]["tests"][0]["value"] == 11.0


def test_what_fails_is_refused_whatever_lets_pipelines_read_it(lake: Path, tmp_path: Path, capsys: Capture) -> None:
    write(lake, 9)
    to = f"manifest:{tmp_path / 'out'}"
    assert publish(capsys, to)[0] == 1
    dataset = Dataset.objects.get()
    override(dataset=dataset, window=MONDAY, reason="It can live with it.", author="ada", now=clock.now())
    code, told, _ = publish(capsys, to)
    assert (code, told["published"]) == (1, False)
    assert "enough: custom is broken" in told["reasons"][0]
    assert not (tmp_path / "out").exists()


def test_data_that_was_written_after_its_audit_is_audited_again_before_the_pointer_moves(
    lake: Path, tmp_path: Path, capsys: Capture
) -> None:
    to = f"manifest:{tmp_path / 'out'}"
    assert publish(capsys, to)[0] == 0
    before = (tmp_path / "out" / f"_PUBLISHED_{KEY}.json").read_bytes()
    write(lake, 9)
    assert publish(capsys, to)[0] == 1
    assert (tmp_path / "out" / f"_PUBLISHED_{KEY}.json").read_bytes() == before
    write(lake, 20)
    code, told, _ = publish(capsys, to)
    assert (code, told["document"]["tests"][0]["value"]) == (0, 20.0)


def test_a_row_of_a_database_is_replaced_in_one_transaction(
    lake: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    url = f"sqlite:///{tmp_path / 'signals.db'}"
    monkeypatch.setenv("SIGNALS", url)
    for rows in (12, 30):
        write(lake, rows)
        code, told, _ = publish(capsys, "sql:SIGNALS:signals")
        assert code == 0
    with create_engine(url).connect() as connection:
        found = connection.execute(text("select dataset, partition, sha256, document from signals")).all()
    assert [(row[0], row[1], row[2]) for row in found] == [(NAME, KEY, told["document"]["sha256"])]
    assert json.loads(found[0][3])["tests"][0]["value"] == 30.0


def test_a_hard_test_must_have_read_the_data(lake: Path, tmp_path: Path, capsys: Capture) -> None:
    Dataset.objects.get().data_tests.filter(name="enough").delete()
    code, told, _ = publish(capsys, f"manifest:{tmp_path / 'out'}")
    assert code == 1
    assert "no hard test" in told["reasons"][0]


@pytest.mark.parametrize(
    ("to", "options", "says"),
    [
        ("out", (), "'out' is no pointer"),
        ("manifest:hdfs://name/out", (), "or a place in a store: s3://BUCKET/FOLDER"),
        ("manifest:s3://kept/out", (), "the store s3://kept is read_only in ASSAY_STORES"),
        ("manifest:OUT", ("--versions", "s3://kept/out"), "the store s3://kept is read_only in ASSAY_STORES"),
        ("sql:NO_SUCH_VARIABLE:signals", (), "NO_SUCH_VARIABLE"),
        ("manifest:OUT", ("--versions", "LAKE/versions"), "lies in the data's own folder"),
        ("manifest:OUT", ("--poll", "1s"), "give --wait"),
        ("manifest:OUT", ("--window", "2026-03-09T00:00:00Z/2026-03-11T00:00:00Z"), "one partition"),
    ],
)
def test_what_cannot_be_done_says_why(
    lake: Path, capsys: Capture, to: str, options: tuple[str, ...], says: str
) -> None:
    places = {"OUT": str(lake.parent / "out"), "LAKE": str(lake)}
    for name, place in places.items():
        to, options = to.replace(name, place), tuple(option.replace(name, place) for option in options)
    with settings(ASSAY_STORES=json.dumps([{"prefix": "s3://kept", "read_only": True}])):
        code, told, said = publish(capsys, to, *options)
    assert (code, told) == (3, None)
    assert says in said
    assert not os.path.exists(lake.parent / "out")
