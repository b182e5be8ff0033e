"""The attacks of attacks.txt, by their kinds: each is refused and nothing written, or it is harmless.

Each kind is one test, which names the attacks that came through.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.errors import MessageError
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role
from assay.command_line.cli import run as run_command
from assay.config import config
from assay.edge.destination import UnableToCall, destination, rules_for
from assay.models import AccessToken, DataChange, Dataset, DataTest, LineageEdge, Member
from execution_engine.engines.column_types import spark_type
from execution_engine.guard import UnableToAllow, read_condition, read_query
from execution_engine.metrics.keys.bits import BUCKETS
from execution_engine.metrics.keys.digest import WORDS, KeyDigest
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from incident_manager.models import Entry, Incident, Report
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, ReportFactory
from tests.integration.web.people import client

FILE = Path(__file__).parent / "attacks.txt"
WRITTEN = (Dataset, DataTest, DataChange, LineageEdge, Report, Incident, Entry, Member, AccessToken, User)
LEADS = ("href", "src", "action", "formaction", "xlink:href")
KINDS, MOST_OF_A_KIND, AT_LEAST = 20, 15, 200


def _read(line: str) -> Any:
    try:
        read = json.loads(line) if line.startswith(('"', "{")) else line
    except ValueError:
        return line
    return read["text"] if isinstance(read, dict) and set(read) == {"text"} else read


def attacks() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in FILE.read_text().splitlines()[1:]:
        if line.startswith("[") and line.endswith("]"):
            found[line.strip("[]")] = here = []
        elif line:
            here.append(_read(line))
    return found


ATTACKS = attacks()


def test_there_are_enough_of_each_kind() -> None:
    assert len(ATTACKS) >= KINDS
    assert max(map(len, ATTACKS.values())) <= MOST_OF_A_KIND
    assert sum(map(len, ATTACKS.values())) >= AT_LEAST
    assert all(len({json.dumps(each) for each in kind}) == len(kind) for kind in ATTACKS.values())


def refused(kind: str, send: Callable[[Any], Any]) -> list[Any]:
    """The attacks whose answer was none of the 400s, or that left a row behind."""
    through = []
    for attack in ATTACKS[kind]:
        before = [model.objects.count() for model in WRITTEN]
        answer = send(attack)
        if not 400 <= answer.status_code < 500 or before != [model.objects.count() for model in WRITTEN]:
            through.append((attack, answer.status_code))
    return through


def let_through(kind: str, act: Callable[[Any], object], *refusal: type[Exception]) -> list[Any]:
    through = []
    for attack in ATTACKS[kind]:
        with suppress(*refusal):
            act(attack)
            through.append(attack)
    return through


def writing(api: APIClient, dataset: str) -> Callable[[str], Any]:
    """What sends an assertion as a test of a dataset."""
    test = {"dataset": dataset, "name": "own"}
    return lambda text: api.post("/api/v1/data-tests", {**test, "assertion": text}, "json")


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An operator who allows a folder, a bucket, a server and a variable."""
    monkeypatch.setenv("ASSAY_ALLOWED_ROOTS", json.dumps(["/lake", "s3://lake/", "mysql://shop/"]))
    monkeypatch.setenv("ASSAY_LOCATION_VARIABLES", json.dumps(["ORDERS_URL"]))
    config.cache_clear()
    yield
    config.cache_clear()


def event_of(namespace: str, name: str) -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-10T01:00:00Z",
        "run": {"runId": "0195812e-64c8-7a90-8b1e-3f1b7a3c2d10"},
        "job": {"namespace": "etl", "name": "fares"},
        "outputs": [{"namespace": namespace, "name": name}],
    }


def put(api: APIClient, **changes: Any) -> Any:
    replica = {"datacenter": "sea", "storage": "parquet", "location": "/lake/trips"}
    return api.put("/api/v1/datasets/raw.new", {"owner": "ada", "tier": 3, "replicas": [replica], **changes}, "json")


def put_replica(api: APIClient, storage: str, location: str, options: Any = None) -> Any:
    options = ({"table": "t"} if storage == "sql" else {}) if options is None else options
    return put(api, replicas=[{"datacenter": "sea", "storage": storage, "location": location, "options": options}])


@pytest.mark.parametrize(
    ("kind", "storage"),
    [
        *((kind, "parquet") for kind in ("folder", "address", "variable")),
        ("database", "sql"),
        ("catalog-table", "table"),
    ],
)
def test_a_dataset_lies_where_the_operator_allows(api: APIClient, roots: None, kind: str, storage: str) -> None:
    assert refused(kind, lambda attack: put_replica(api, storage, attack)) == []


def test_a_storage_takes_the_options_that_it_knows(api: APIClient, roots: None) -> None:
    places = {"sql": "mysql://reader@shop/x", "table": "a.b"}

    def send(attack: Any) -> Any:
        storage = attack["storage"]
        return put_replica(api, storage, places.get(storage, "/lake/trips"), attack["options"])

    assert refused("option", send) == []


@pytest.mark.parametrize("kind", ["dataset", "readers"])
def test_a_dataset_is_what_the_schema_says(api: APIClient, roots: None, kind: str) -> None:
    assert refused(kind, lambda attack: put(api, **attack)) == []


def test_what_is_no_type_reaches_no_sql() -> None:
    assert [attack for attack in ATTACKS["type"] if spark_type(attack) is not None] == []


@pytest.mark.parametrize("joined", ["t a join u b on {}", "t a, u b where {}"])
def test_a_join_that_multiplies_is_refused(joined: str) -> None:
    query = f"select count(*) from {joined}"
    assert let_through("join", lambda on: read_query(query.format(on), ["t", "u"], ["id"]), UnableToAllow) == []


@pytest.mark.parametrize("kind", ["qualified", "condition"])
def test_a_condition_looks_at_its_row_only(kind: str) -> None:
    assert let_through(kind, lambda text: read_condition(text, ["fare", "city"]), UnableToAllow) == []


def test_nobody_reads_another_dataset_by_a_test(user: User) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "salary", "type": "bigint"}]
    DatasetFactory.create(namespace="hr", name="pay", owner="hanna", team="hr", readers="team:hr", columns=columns)
    DatasetFactory.create(name="trips", owner="rita", team="rides")
    assert refused("spying", writing(client("rita", Role.OWNER, "rides"), "raw.trips")) == []


def test_no_value_of_a_sensitive_column_is_asked_for(api: APIClient) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "card", "type": "bigint", "sensitive": True}]
    DatasetFactory.create(name="cards", columns=columns)
    assert refused("sensitive", writing(api, "raw.cards")) == []


def test_an_assertion_is_no_program(api: APIClient) -> None:
    DatasetFactory.create(name="trips")
    assert refused("assertion", writing(api, "raw.trips")) == []


def test_an_event_is_what_openlineage_says(api: APIClient) -> None:
    DatasetFactory.create(name="trips")
    event = event_of("raw", "trips")
    assert refused("event", lambda attack: api.post("/api/v1/lineage", {**event, **attack}, "json")) == []


def test_a_token_is_for_what_its_user_may(user: User) -> None:
    session = APIClient(raise_request_exception=False)
    session.force_login(user)
    assert refused("token", lambda attack: session.post("/api/v1/tokens", attack, "json")) == []


def test_a_member_is_what_an_admin_may_say(api: APIClient) -> None:
    User.objects.create_user("vera")
    assert refused("member", lambda attack: api.put("/api/v1/members/vera", attack, "json")) == []


def test_a_viewer_changes_nothing_of_anybodys(user: User) -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    incident = IncidentFactory.create(dataset=test.dataset)
    vera = client("vera", Role.VIEWER)

    def send(attack: str) -> Any:
        method, address = attack.format(test=test.pk, incident=incident.pk).split()
        return vera.generic(method, address, "{}", content_type="application/json")

    assert refused("trespass", send) == []


def _runs(tag: str, told: dict[str, str | None]) -> bool:
    """Whether it is a script of the page itself; data for ours is none."""
    return tag == "script" and not told.get("src") and told.get("type") != "application/json"


class Scripts(HTMLParser):
    """What a browser would run of a page, or lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note scripts of no file of ours, handlers, and links that run."""
        told = dict(attrs)
        if tag in ("iframe", "object", "embed", "math") or _runs(tag, told):
            self.found.append(tag)
        self.found += [
            name
            for name, value in attrs
            if name.startswith("on") or (name in LEADS and (value or "").strip().lower().startswith("javascript:"))
        ]


def test_no_text_of_a_user_is_a_script_on_any_page(pages: Client) -> None:
    through = []
    for number, text in enumerate(ATTACKS["script"]):
        of = {"description": text, "owner": text[:100], "team": text[:100], "columns": [{"name": text, "type": text}]}
        dataset = DatasetFactory.create(name=f"t{number}", **of)
        test = DataTestFactory.create(dataset=dataset, name=text)
        incident = IncidentFactory.create(dataset=dataset, root_cause=text, backfill=text[:100])
        Entry.objects.create(incident=incident, at=NOW, actor=text[:100], event="annotated", text=text)
        ReportFactory.create(dataset=dataset, incident=incident, description=text, reporter=text[:100])
        own = ["/", "/incidents", f"/datasets/{dataset.full_name}?test={test.pk}", f"/incidents/{incident.pk}"]
        for page in [*own, f"/?q={quote(text)}", f"/?owner={quote(text)}"]:
            answer, scripts = pages.get(page), Scripts()
            scripts.feed(answer.content.decode())
            if answer.status_code != 200 or scripts.found:
                through.append((text, page, answer.status_code, scripts.found))
    assert through == []


def test_no_text_is_a_header_of_an_email() -> None:
    through = []
    for text in ATTACKS["mail"]:
        for field in ({"subject": text}, {"to": [f"{text}@example.com"]}):
            try:
                sent = EmailMessage(**{"body": "x", "from_email": "a@example.com", "to": ["b@example.com"], **field})
                wire = sent.message().as_bytes().decode("ascii", "replace")
            except (ValueError, MessageError):
                continue  # refused for good
            names = [line.partition(":")[0].lower() for line in wire.partition("\n\n")[0].splitlines()]
            if "bcc" in names or names.count("content-type") > 1 or not sent.recipients():
                through.append((field, names))
    assert through == []


def test_nothing_inward_is_called() -> None:
    rules = rules_for("https://hooks.example.com/assay")
    assert let_through("webhook", lambda url: destination(url, rules), UnableToCall) == []


def test_a_state_that_is_cut_or_changed_is_refused() -> None:
    sound = KeyDigest(columns=("id",), rows=0, words=np.zeros((BUCKETS, WORDS), dtype=np.uint64)).to_bytes(b"key")
    assert KeyDigest.from_bytes(sound, b"key").keys == 0

    def read(attack: dict[str, int]) -> None:
        state = bytearray(sound)
        if "flip" in attack:
            state[attack["flip"]] ^= 1
        state = state[: attack.get("cut", len(state))] + b"\0" * attack.get("more", 0)
        KeyDigest.from_bytes(bytes(state), b"key")

    assert let_through("state", read, UnableToReadKeys) == []


def test_a_window_is_two_instants(api: APIClient) -> None:
    DatasetFactory.create(name="trips")
    report = {"dataset": "raw.trips", "description": "x"}
    assert refused("window", lambda text: api.post("/api/v1/reports", {**report, "window": text}, "json")) == []


def test_a_path_leads_to_no_file_of_ours(pages: Client) -> None:
    pages.raise_request_exception = False
    assert refused("page", pages.get) == []


@pytest.mark.django_db(transaction=True)  # a command closes its connection
def test_a_catalog_file_is_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock.simulate(NOW)
    through = []
    for text in ATTACKS["yaml"]:
        (tmp_path / "catalog.yaml").write_text(text)
        code = run_command(["sync", str(tmp_path / "catalog.yaml")])
        if code != 3 or Dataset.objects.exists() or "Traceback" in capsys.readouterr().err:
            through.append((text, code))
    assert through == []
