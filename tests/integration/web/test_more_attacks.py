"""More attacks of attacks.txt: places of restricted data, names, files, links, roles and parameters."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay.access import Role
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.selectors import by_name, home
from assay.catalog.yaml.provider import UnableToReadCatalog, load
from assay.edge.destination import UnableToCall, destination, judged, rules_for
from assay.models import Dataset, DataTest
from execution_engine.engines.files.footers import columns_of_files, footer_statistics, read_columns
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.guard import UnableToAllow, read_query
from execution_engine.storage import table_of
from incident_manager.models import Entry
from tests.factories import DatasetFactory, DataTestFactory, IncidentFactory, RunFactory
from tests.integration.web.people import client
from tests.integration.web.test_attacks import ATTACKS, event_of, let_through, put
from tests.integration.web.test_places_of_limits import limits, pay, push, sync


def test_no_spelling_of_a_place_is_without_its_limits(tmp_path: Path, api: APIClient) -> None:
    sync(tmp_path, pay())
    for number, location in enumerate(ATTACKS["place"]):
        name = f"evil.alias{number}"
        assert push(api, location, name=name).status_code >= 400 or limits(name)[0] == "team:hr", location


def test_no_name_holds_what_is_not_seen(api: APIClient) -> None:
    through = [attack for attack in ATTACKS["name"] if put(api, **attack).status_code != 400]
    assert (through, Dataset.objects.count()) == ([], 0)


def test_no_query_multiplies_or_is_none_to_spark() -> None:
    assert let_through("query", lambda text: read_query(text, ["t", "u"], ["id"]), UnableToAllow) == []


def test_odd_yaml_is_refused(tmp_path: Path) -> None:
    def read(text: str) -> None:
        (tmp_path / "catalog.yaml").write_text(text.replace("\\n", "\n"))
        load(tmp_path / "catalog.yaml")

    assert let_through("merge", read, UnableToReadCatalog) == []


def test_a_wrong_body_has_a_short_answer(api: APIClient) -> None:
    DatasetFactory.create(name="trips")
    names = json.dumps({f"{number:0>60}": 0 for number in range(20_000)})
    for attack in ATTACKS["body"]:
        text = json.dumps(attack).replace('"NAMES"', names).replace("LONG", "r" * 1_000_000)
        answer = api.post("/api/v1/pipelines/p/completed", text, content_type="application/json")
        assert (answer.status_code, len(answer.content) <= 20_000) == (400, True), str(attack)[:100]


def test_no_link_leads_out_or_in_twice(tmp_path: Path, api: APIClient) -> None:
    for name in ("pay", "home/states", "outside"):
        (tmp_path / name).mkdir(parents=True)
    for file in ("pay/part.parquet", "home/assay.db", "home/states/s.parquet", "outside/x.parquet"):
        (tmp_path / file).write_text("rows")
    (tmp_path / "hop").symlink_to(tmp_path / "pay" / "part.parquet")
    (tmp_path / "chain").symlink_to(tmp_path / "hop2")
    (tmp_path / "hop2").symlink_to(tmp_path / "pay")
    sync(tmp_path, pay(str(tmp_path / "pay")))
    through = []
    for number, attack in enumerate(ATTACKS["link"]):
        folder = tmp_path / f"at{number}" / "innocent"
        (folder / "day=1").mkdir(parents=True)
        (folder / "own.parquet").write_text("rows")
        for shared in ("pay", "home", "outside", "hop", "chain", "hop2"):
            (tmp_path / f"at{number}" / shared).symlink_to(tmp_path / shared)
        link = folder / attack["link"]
        if link.is_dir() and not link.is_symlink():
            link.rmdir()
        link.symlink_to(attack["to"])
        push(api, str(folder), name=f"evil.t{number}")
        row = by_name(f"evil.t{number}")
        assert row is not None
        try:
            table = table_of(row, home(row))
            list_part(Table(**{**table.__dict__, "within": (str(folder), str(tmp_path / "pay"))}), WHOLE)
        except (UnableToListFiles, UnableToUseLocation):
            continue
        through.append(attack)
    assert through == []


def test_a_file_that_is_none_is_an_error_in_words(tmp_path: Path) -> None:
    through = []
    for number, attack in enumerate(ATTACKS["footer"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / f"part.{attack['storage']}"
        columns = ["id", "id"] if attack.get("twice") else ["id", "fare"]
        pq.write_table(pa.table([[1, 2], [3, 4]], names=columns), path)
        data = bytearray(path.read_bytes())
        if "flip" in attack:
            data[attack["flip"]] ^= 0xFF
        if "bytes" in attack:
            data = bytearray(attack["bytes"].encode("latin-1"))
        data = data[: attack.get("cut", len(data))]
        path.write_bytes(bytes(data))
        listing = list_part(Table(name="raw.t", storage=attack["storage"], location=str(folder)), WHOLE)
        try:
            if attack["storage"] == "parquet":
                read_columns(listing)
                footer_statistics(listing)
            columns_of_files(listing, attack["storage"])
        except UnableToListFiles as error:
            if str(path) in str(error):
                continue
        through.append(attack)
    assert through == []


def test_a_role_alone_opens_no_dataset_that_has_readers(user: User) -> None:
    dataset = DatasetFactory.create(namespace="hr", name="pay", owner="hanna", team="hr", readers="team:hr")
    test = DataTestFactory.create(dataset=dataset, assertion="row_count() > 987654")
    run = RunFactory.create(data_test=test, sentence="max(salary) is 987654")
    incident = IncidentFactory.create(dataset=dataset, root_cause="987654")
    keys = {"test": test.pk, "run": run.pk, "incident": incident.pk}
    before, through = (Entry.objects.count(), DataTest.objects.count()), []
    for number, attack in enumerate(ATTACKS["role"]):
        role, method, address = attack.format(**keys).split()
        api: Any = client(f"user{number}", Role(role), "rides")
        if not address.startswith("/api/"):
            api = Client()
            api.force_login(User.objects.get(username=f"user{number}"))
        answer = api.generic(method, address, "{}", content_type="application/json")
        if answer.status_code not in (400, 403, 404) or b"987654" in answer.content:
            through.append((attack, answer.status_code))
    assert (through, (Entry.objects.count(), DataTest.objects.count())) == ([], before)


def test_no_name_of_a_host_leads_inward() -> None:
    for attack in ATTACKS["called"]:
        destination(attack["url"], rules_for(attack["url"]))  # the name itself may be called
    assert let_through("called", lambda attack: judged(attack["to"], rules_for(attack["url"])), UnableToCall) == []


def test_an_event_changes_nothing_of_a_dataset_that_is_closed(user: User) -> None:
    columns = [{"name": "salary", "type": "bigint", "sensitive": True}]
    dataset = DatasetFactory.create(namespace="hr", name="pay", owner="hanna", readers="team:hr", columns=columns)
    pia, through = client("pia", Role.PRODUCER), []
    for attack in ATTACKS["lineage"]:
        answer = pia.post("/api/v1/lineage", {**event_of("hr", "pay"), **attack}, "json")
        dataset.refresh_from_db()
        is_kept = (dataset.owner, dataset.readers, dataset.missing_since) == ("hanna", "team:hr", None)
        if answer.status_code >= 500 or not is_kept or not all(one.get("sensitive") for one in dataset.columns[:1]):
            through.append((attack, answer.status_code))
    assert through == []


def test_a_page_takes_any_parameter(pages: Client) -> None:
    DatasetFactory.create(name="trips")
    pages.raise_request_exception = False
    answers = {address: pages.get(address) for address in ATTACKS["parameter"]}
    is_bad = {address: a.status_code >= 500 or b"\xe2\x80\xae" in a.content for address, a in answers.items()}
    assert [address for address in is_bad if is_bad[address]] == []
