"""Providers of metadata: read when they are due or by command, and what a bad answer does."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from alerting.models import Notice
from alerting.tasks import tell_of_pull
from assay import clock
from assay.catalog.edge_rows import end_aged_edges
from assay.config import config
from assay.models import AuditEntry, Dataset, DataTest, LineageEdge, Pull, Telling
from assay.scheduler.beat import begin_pulling
from test_generator.services import pull_due
from tests.factories import DAY, HOUR, NOW
from web.doctor import providers, pulled

pytestmark = pytest.mark.django_db
VERSION = "https://schemas.getdbt.com/dbt/manifest/v12.json"
DEFAULTS = {"owner": "data-team", "tier": 3, "datacenter": "sea"}


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dbt project of three models, read daily as the provider ``shop``."""
    monkeypatch.setattr(config(), "providers", json.dumps([{**SHOP, "target": str(tmp_path)}]))
    clock.simulate(NOW)
    begin_pulling(NOW)
    return write(tmp_path / "manifest.json", "orders", "users", "items")


SHOP: dict[str, Any] = {"name": "shop", "kind": "dbt", "storage": "table", "defaults": DEFAULTS}


def change_entry(monkeypatch: pytest.MonkeyPatch, **keys: Any) -> None:
    monkeypatch.setattr(config(), "providers", json.dumps([{**json.loads(config().providers)[0], **keys}]))


def write(path: Path, *names: str, **tests: dict[str, Any]) -> Path:
    """A manifest of models of these names, and the generic tests of ``orders``."""
    nodes: dict[str, Any] = {
        f"model.shop.{name}": {
            "resource_type": "model", "schema": "mart", "name": name,
            "columns": {"id": {"name": "id", "data_type": "bigint"}},
            "config": {"materialized": "table"}, "contract": {"enforced": True}, "depends_on": {"nodes": []},
        }
        for name in names
    } | {
        f"test.shop.{name}": {
            "resource_type": "test", "name": name, "attached_node": "model.shop.orders", "test_metadata": test,
            "depends_on": {"nodes": ["model.shop.orders"]},
        }
        for name, test in tests.items()
    }  # fmt: skip
    metadata = {"dbt_schema_version": VERSION, "adapter_type": "spark"}
    path.write_text(json.dumps({"metadata": metadata, "nodes": nodes, "sources": {}, "exposures": {}}))
    return path


def live() -> list[str]:
    return sorted(Dataset.objects.filter(missing_since=None).values_list("name", flat=True))


def pull_after(days: int) -> Pull:
    clock.simulate(NOW + days * DAY)
    assert pull_due() == 1
    tell_of_pull()
    return Pull.objects.get()


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        call_command(*words)
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out + captured.err


def test_a_provider_is_read_when_it_is_due_and_again_a_day_later(manifest: Path) -> None:
    row = pull_after(0)
    assert (row.name, row.fault, row.due_at) == ("shop", "", NOW + DAY)
    assert live() == ["items", "orders", "users"]
    assert Dataset.objects.get(name="users").origins["owner"] == ["default", ""]
    assert [entry.object_id for entry in AuditEntry.objects.all()] == ["shop"]
    write(manifest, "orders", "users", "items", "visits")
    pull_after(1)
    assert live() == ["items", "orders", "users", "visits"]


@pytest.mark.parametrize("answer", ["", "{", "[]", '{"metadata": {}, "nodes": 7}', "nothing", "half", "gone"])
def test_a_provider_that_answers_half_garbage_or_nothing_retires_nothing_and_on_call_hears_of_it_once(
    manifest: Path, client: Client, admin_user: Any, answer: str
) -> None:
    whole = manifest.read_text()
    pull_after(0)
    match answer:
        case "gone":
            manifest.unlink()
        case "nothing":
            write(manifest)
        case "half":
            write(manifest, "orders")
        case _:
            manifest.write_text(answer)
    pull_after(1)
    row = pull_after(2)
    assert (live(), row.failing_since) == (["items", "orders", "users"], NOW + DAY)
    assert row.due_at == NOW + 2 * DAY + HOUR
    assert ["shop" in text for text in (row.fault, pulled().found)] == [True, True]
    client.force_login(admin_user)
    assert "Assay reads the provider shop on a schedule" in client.get("/").content.decode()
    manifest.write_text(whole)
    pull_after(3)
    assert list(Notice.objects.order_by("pk").values_list("subject", flat=True)) == [
        "Assay cannot read the provider shop",
        "Assay reads the provider shop again",
    ]


class Broken(BaseHTTPRequestHandler):
    """A server that has an error, or ends in the middle of its answer."""

    def do_GET(self) -> None:
        self.send_response(500 if self.path.startswith("/error") else 200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"metadata": {')

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("place", ["error", "half"])
def test_a_server_with_an_error_or_half_an_answer_retires_nothing(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    pull_after(0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        Thread(target=server.serve_forever).start()
        change_entry(monkeypatch, target=f"http://127.0.0.1:{server.server_port}/{place}")
        row, finding = pull_after(1), providers()
        server.shutdown()
    assert live() == ["items", "orders", "users"]
    assert row.fault.startswith("the provider shop: ")
    assert (finding.is_well, finding.found) == (False, row.fault)


def test_commands_plan_and_write_what_a_provider_tells(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "plan", "--provider", "shop")
    assert (code, "+ dataset mart.orders" in text, Telling.objects.exists()) == (0, True, False)
    code, text = run(capsys, "sync", "--provider", "shop")
    assert (code, "3 datasets" in text) == (0, True)
    assert providers().found == "shop answers, with 3 tables"
    code, text = run(capsys, "sync", "--provider", "shopp")
    assert (code, "lists no provider 'shopp': there are shop" in text) == (3, True)


def test_half_of_the_tables_go_only_when_somebody_says_so(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pull_after(0)
    write(manifest, "orders")
    code, text = run(capsys, "plan", "--provider", "shop")
    assert (code, "without --allow-removal: 2 of its 3 datasets" in text) == (1, True)
    assert run(capsys, "sync", "--provider", "shop")[0] == 3
    assert run(capsys, "sync", "--provider", "shop", "--allow-removal")[0] == 0
    assert live() == ["orders"]


def test_a_failing_provider_that_somebody_reads_with_success_fails_no_more(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pull_after(0)
    write(manifest, "orders")
    assert "2 of its 3 datasets" in pull_after(1).fault
    run(capsys, "sync", "--provider", "shop", "--allow-removal")
    tell_of_pull()
    row = Pull.objects.get()
    assert (row.fault, row.failing_since, row.tell_at, row.read_at) == ("", None, None, NOW + DAY)
    subjects = Notice.objects.order_by("pk").values_list("subject", flat=True)
    assert list(subjects) == ["Assay cannot read the provider shop", "Assay reads the provider shop again"]


def test_new_defaults_hold_for_what_was_read_before(manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pull_after(0)
    change_entry(monkeypatch, defaults={**DEFAULTS, "tier": 1})
    pull_after(1)
    assert set(Dataset.objects.values_list("tier", flat=True)) == {1}


def test_a_table_that_cannot_be_written_is_left_out_by_name_and_stays_as_it_was(manifest: Path) -> None:
    pull_after(0)
    write(manifest, "orders", "users", "items", "x" * 130)
    assert "has more than 120 characters" in pull_after(1).left_out[0]
    text = manifest.read_text().replace('"name": "id"', f'"name": "{"c" * 200}"', 1)
    manifest.write_text(text)
    assert "has more than 128 characters" in " ".join(pull_after(2).left_out)
    assert live() == ["items", "orders", "users"]
    assert "without 2 things" in pulled().found


def test_tables_that_nobody_says_enough_of_are_named_with_what_to_write(
    manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_entry(monkeypatch, defaults={"owner": "ann"}, storage="")
    row = pull_after(0)
    assert (live(), row.fault) == ([], "")
    assert row.left_out == [
        "mart.items, mart.orders, mart.users: no source says a tier (write defaults: {tier: 4} in the entry) and where "
        "the table lies (write location: in the entry), so no dataset is made"
    ]


def test_a_test_that_does_not_fit_its_table_is_left_out_and_the_others_run_weekly(manifest: Path) -> None:
    complete = {"name": "not_null", "kwargs": {"column_name": "id"}}
    stray = {"name": "unique", "kwargs": {"column_name": "code"}}
    write(manifest, "orders", id_complete=complete, code_unique=stray, own={"name": "odd", "namespace": "shop"})
    row = pull_after(0)
    (test,) = DataTest.objects.filter(source="shop").select_related("revision")
    assert test.revision is not None
    assert (test.name, test.revision.schedule) == ("id_complete", "weekly")
    of_own, of_stray = row.left_out
    assert ("'code_unique'" in of_stray, "the dbt test own is not taken" in of_own, row.fault) == (True, True, "")


# Stories of weeks: what a source that changes, or is away, does to the catalog.


def draw(path: Path, **upstreams: str) -> None:
    """Say in the manifest from which model each of these is made."""
    document = json.loads(path.read_text())
    for downstream, upstream in upstreams.items():
        document["nodes"][f"model.shop.{downstream}"]["depends_on"] = {"nodes": [f"model.shop.{upstream}"]}
    path.write_text(json.dumps(document))


def edges() -> set[str]:
    end_aged_edges()
    return {row.downstream.name for row in LineageEdge.objects.select_related("downstream")}


def test_a_catalog_that_loses_a_tenth_retires_that_and_one_that_loses_more_retires_nothing(manifest: Path) -> None:
    names = [f"t{number:02}" for number in range(20)]
    write(manifest, *names)
    pull_after(0)
    write(manifest, *names[:18])
    assert (pull_after(1).fault, live()) == ("", names[:18])
    write(manifest, *names[:16])
    assert "2 of its 18 datasets would leave the source at once" in pull_after(2).fault
    assert live() == names[:18]
    write(manifest, *names)
    assert (pull_after(3).fault, live()) == ("", names)


def test_a_source_that_is_away_for_a_week_keeps_all_and_ages_nothing(manifest: Path) -> None:
    draw(manifest, users="orders", items="orders")
    pull_after(0)
    write(manifest, "orders", "users", "items")
    draw(manifest, users="orders")
    pull_after(1)
    whole = manifest.read_text()
    manifest.unlink()
    subjects = [pull_after(day).fault and Notice.objects.count() for day in range(2, 30)]
    assert (set(subjects), edges(), live()) == ({1}, {"users", "items"}, ["items", "orders", "users"])
    manifest.write_text(whole)
    assert (pull_after(30).failing_since, edges()) == (None, {"users"})


def test_an_edge_ends_once_its_source_tells_without_it_for_two_weeks(manifest: Path) -> None:
    draw(manifest, users="orders", items="orders")
    pull_after(0)
    write(manifest, "orders", "users", "items")
    draw(manifest, users="orders")
    for day in range(1, 15):
        pull_after(day)
        assert edges() == {"users", "items"}
    pull_after(15)
    assert edges() == {"users"}
    draw(manifest, items="users")
    pull_after(16)
    assert edges() == {"users", "items"}
