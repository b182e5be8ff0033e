"""Tables that events, queries and catalogs name become datasets with all that lies around them, by plan and by yes."""

import json
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from assay.catalog.events import apply_event
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.openlineage import JobCompletion, LineageEvent
from assay.catalog.profile import Column, LineageProfile, ReplicaProfile
from assay.catalog.proposals import end_aged_proposals, hops_from, note_queried, proposals
from assay.catalog.services import apply_telling
from assay.catalog.tellings import DEFAULT, Merged, SourceTelling, TableTelling
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.models import AuditEntry, Dataset, DataTest, LineageEdge, Source, Telling
from execution_engine.storage import table_of
from test_generator.onboarding import (
    Onboarding,
    UnableToOnboard,
    filling,
    onboard,
    parse_lineage,
    plan_onboarding,
)
from tests.factories import DAY, NOW

pytestmark = pytest.mark.django_db

COLUMNS = (Column(name="id", type="bigint"), Column(name="day", type="date"))
FIELDS = {
    "owner": "ada",
    "tier": 2,
    "primary_key": ["id"],
    "partition": {"column": "day", "granularity": "day"},
    "location": "s3://lake/{schema}/{table}",
}
CHAIN = (
    ("raw.trips", "stage.trips"),
    ("stage.trips", "mart.fares"),
    ("raw.zones", "mart.fares"),
    ("mart.fares", "bi.top"),
)


@pytest.fixture(autouse=True)
def _allowed_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "allowed_roots", ["s3://lake", "/sea"])


def event(*edges: tuple[str, str], at: datetime = NOW) -> None:
    """A job that writes the downstreams of these edges, with the columns of all of them."""
    names = {name for edge in edges for name in edge}
    lineage = tuple(LineageProfile(upstream=upstream, downstream=downstream) for upstream, downstream in edges)
    completed = tuple(JobCompletion(dataset=downstream, window=None) for _, downstream in edges)
    columns = dict.fromkeys(names, COLUMNS)
    apply_event(LineageEvent(job="load", at=at, lineage=lineage, columns=columns, completed=completed), now=at)


def test_a_table_becomes_a_dataset_with_its_upstreams_which_its_tests_compare_it_with() -> None:
    event(*CHAIN)
    tables = onboard(Onboarding(names=["Mart.Fares"], side="up", fields=FIELDS), now=NOW)
    hops = {table.name: table.hops for table in tables}
    assert hops == {"mart.fares": 0, "raw.zones": -1, "stage.trips": -1, "raw.trips": -2}
    assert {(table.state, table.fault) for table in tables} == {("new", "")}
    assert "duplicates" in tables[0].tests
    fares = Dataset.objects.get(full_name="mart.fares")
    assert (fares.owner, fares.tier, fares.replicas.get().location) == ("ada", 2, "s3://lake/mart/fares")
    assert fares.reconcile_at == NOW
    assert LineageEdge.objects.count() == 3
    again = onboard(Onboarding(names=["mart.fares"], side="up", fields={}), now=NOW)
    assert {table.state for table in again} == {"known"}


def test_a_plan_says_what_would_come_and_writes_nothing() -> None:
    event(*CHAIN)
    before = Telling.objects.count()
    tables = plan_onboarding(Onboarding(names=["stage.trips"], side="both", depth=1, fields=FIELDS), now=NOW)
    assert [(table.name, table.state) for table in tables] == [
        ("stage.trips", "new"),
        ("raw.trips", "new"),
        ("mart.fares", "new"),
    ]
    assert (Dataset.objects.count(), Telling.objects.count()) == (0, before)


def test_what_nobody_says_of_a_table_keeps_that_one_out_and_no_other() -> None:
    event(*CHAIN)
    home = ReplicaProfile(datacenter="sea", storage="parquet", location="/sea/zones")
    Source.objects.create(name="dbt", kind="dbt")
    zones = TableTelling(namespace="raw", name="zones", replicas=(home,))
    apply_telling(SourceTelling(tables=(zones,)), source="dbt", full=True, now=NOW)
    tables = onboard(Onboarding(names=["raw.*"], fields={"owner": "ada", "tier": 3}), now=NOW)
    assert [(table.name, table.state, table.lacking, table.fault) for table in tables] == [
        ("raw.trips", "lacking", ("replicas",), ""),
        ("raw.zones", "new", (), ""),
    ]


def test_fields_that_do_not_fit_a_table_are_its_fault() -> None:
    event(*CHAIN)
    (table,) = plan_onboarding(Onboarding(names=["raw.trips"], fields={**FIELDS, "primary_key": ["no"]}), now=NOW)
    assert (table.state, Dataset.objects.count()) == ("lacking", 0)
    assert "primary_key" in table.fault
    (table,) = plan_onboarding(Onboarding(names=["raw.trips"], fields={**FIELDS, "location": "/{nowhere}"}), now=NOW)
    assert "{nowhere}" in table.fault


def test_a_field_that_a_source_says_stays_and_a_default_gives_way() -> None:
    merged = Merged(profile=None, origins={"owner": ("dbt", ""), "tier": (DEFAULT, ""), "freshness": ("dbt", "")})
    fields = {"owner": "ada", "tier": 1, "slas": {"freshness": "4h", "completeness": 0.9}, "location": "/x/{table}"}
    assert filling("db.raw.trips", merged, fields) == {
        "tier": 1,
        "slas": {"completeness": 0.9},
        "replicas": [{"datacenter": "local", "storage": "parquet", "location": "/x/trips", "options": {}}],
    }


def test_a_walk_goes_up_and_down_and_not_to_siblings() -> None:
    pairs = {("a", "b"), ("a", "sibling"), ("b", "c"), ("c", "a")}

    def edges_of(keys: Any) -> set[tuple[str, str]]:
        return {pair for pair in pairs if keys & {*pair}}

    assert hops_from({"b"}, ("up", "down"), 1, edges_of) == {"b": 0, "a": -1, "c": 1}
    assert hops_from({"c"}, ("up",), 9, edges_of) == {"c": 0, "b": -1, "a": -2}
    assert hops_from({"b"}, (), 9, edges_of) == {"b": 0}


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    event(*CHAIN)
    with pytest.raises(UnableToOnboard, match=r"did you mean mart.fares\?"):
        onboard(Onboarding(names=["mart.fare"], fields={}), now=NOW)
    with pytest.raises(UnableToOnboard, match="no source names a table no"):
        onboard(Onboarding(names=["no.*"], fields={}), now=NOW)


@pytest.mark.parametrize(
    ("text", "lineage"), [("up,2", ("up", 2)), ("both", ("both", 100)), ("3", ("both", 3)), ("down,999", ("down", 100))]
)
def test_lineage_is_a_side_and_steps(text: str, lineage: tuple[str, int]) -> None:
    assert parse_lineage(text) == lineage


@pytest.mark.parametrize("text", ["sideways", "up,0", "up,x", ",2", ""])
def test_other_lineage_is_refused(text: str) -> None:
    with pytest.raises(UnableToOnboard, match="is no lineage"):
        parse_lineage(text)


# Proposals.


def test_proposals_are_ranked_by_who_reads_them() -> None:
    event(*CHAIN, ("raw.trips", "mart.other"))
    note_queried(["lost.asked", "raw.zones"], now=NOW)
    note_queried(["lost.asked", "no_schema", f"a.{'x' * 121}"], now=NOW)
    count, rows = proposals(4)
    ranked = [(row.name, row.readers, row.queries) for row in rows]
    assert (count, ranked[:2], ranked[2][0]) == (7, [("raw.trips", 2, 0), ("raw.zones", 1, 1)], "mart.fares")
    assert rows[1].sources == ("openlineage", "query")
    assert rows[0].lacking == ("owner", "tier", "replicas")
    assert [row.name for row in proposals(9, start=4)[1]] == ["lost.asked", "bi.top", "mart.other"]
    onboard(Onboarding(names=["raw.trips"], fields=FIELDS), now=NOW)
    assert "raw.trips" not in [row.name for row in proposals(9)[1]]


def test_a_proposal_that_nothing_names_for_two_weeks_goes_while_events_still_come() -> None:
    event(("raw.old", "mart.old"))
    event(("raw.kept", "mart.kept"))
    onboard(Onboarding(names=["raw.kept"], fields=FIELDS), now=NOW)
    assert end_aged_proposals() == 0
    event(("raw.trips", "mart.fares"), at=NOW + 13 * DAY)
    assert end_aged_proposals() == 0
    event(("raw.trips", "mart.fares"), at=NOW + 14 * DAY)
    assert end_aged_proposals() == 3
    assert set(Telling.objects.values_list("name", flat=True)) == {
        "kept",
        "trips",
        "fares",
    }


# The command.


def test_the_command_shows_the_plan_and_does_it_on_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as exit_:
            call_command("onboard", *arguments)
        return int(str(exit_.value)), capsys.readouterr().out

    event(*CHAIN)
    template = tmp_path / "template.yaml"
    template.write_text("tier: 4\npartition: {column: day, granularity: day}\nprimary_key: [id]\n")
    fares = ("mart.fares", "--with-lineage=up,1", "--template", str(template))
    whole = (*fares, "--owner", "ada", "--location", "s3://lake/{schema}/{table}")
    code, text = run(*fares)
    assert (code, "! mart.fares: nobody says its owner, replicas" in text) == (ExitCode.FAILED, True)
    code, text = run(*whole)
    assert (code, Dataset.objects.count()) == (ExitCode.HELD, 0)
    assert "+ raw.zones (1 upstream): freshness, " in text
    assert "nothing is written: --yes makes 3 datasets of this" in text
    code, text = run(*whole, "--yes", "--json")
    assert (code, json.loads(text)["done"]) == (ExitCode.HELD, True)
    assert DataTest.objects.filter(dataset__full_name="mart.fares").exists()
    entry = AuditEntry.objects.get(action="catalog.onboarded")
    assert entry.after == {"created": ["mart.fares", "raw.zones", "stage.trips"]}
    _, text = run()
    assert "raw.trips: read by 1 tables and 0 queries; named by openlineage; lacks owner, tier, replicas" in text


# The API.


def test_the_api_lists_proposals_shows_a_plan_and_onboards(admin_client: Client) -> None:
    event(*CHAIN)
    listed = admin_client.get("/api/v1/proposals", {"limit": 1}).json()
    assert (listed["count"], [row["name"] for row in listed["results"]]) == (5, ["mart.fares"])
    body = {"names": ["mart.fares"], "lineage": "down", "depth": 1, "fields": FIELDS}
    post = partial(admin_client.post, content_type="application/json")
    plan = post("/api/v1/onboarding/preview", body)
    assert (plan.status_code, Dataset.objects.count()) == (200, 0)
    done = post("/api/v1/onboarding", body)
    assert (done.status_code, done.json()) == (201, plan.json())
    assert set(Dataset.objects.values_list("full_name", flat=True)) == {"mart.fares", "bi.top"}
    wrong = post("/api/v1/onboarding", {**body, "names": ["mart.fare"]})
    assert (wrong.status_code, "did you mean mart.fares?" in wrong.content.decode()) == (400, True)
    asked = {"sql": "select * from lost.table"}
    post("/api/v1/quality/query", asked)
    assert "lost.table" in [row["name"] for row in admin_client.get("/api/v1/proposals").json()["results"]]


def test_the_page_shows_the_plan_and_then_makes_the_datasets(admin_client: Client) -> None:
    event(*CHAIN)
    assert "?name=raw.trips#onboard" in admin_client.get("/proposals").content.decode()
    assert 'value="raw.trips"' in admin_client.get("/proposals?name=raw.trips").content.decode()
    form = {"names": "mart.fares, no.table", "lineage": "up", "depth": "1", "owner": "ada", "tier": "2"}
    wrong = admin_client.post("/proposals/preview", form).content.decode()
    assert "no source names a table no.table" in wrong
    form |= {"names": "mart.fares", "location": "s3://lake/{schema}/{table}"}
    plan = admin_client.post("/proposals/preview", form).content.decode()
    assert ("Make 3 datasets" in plan, "schema:whole" in plan, Dataset.objects.count()) == (True, True, 0)
    assert admin_client.post("/proposals/onboard", form).headers["Location"] == "/proposals"
    assert Dataset.objects.count() == 3
    assert "3 datasets more" in admin_client.get("/proposals").content.decode()


def test_a_place_that_a_person_says_is_read_while_the_operator_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    event(*CHAIN)
    onboard(Onboarding(names=["raw.trips"], fields={**FIELDS, "location": "/sea/{table}"}), now=NOW)
    trips = Dataset.objects.get()
    assert table_of(trips, trips.replicas.get()).location == "/sea/trips"
    monkeypatch.setattr(config(), "allowed_roots", [])
    with pytest.raises(UnableToUseLocation, match="ASSAY_ALLOWED_ROOTS"):
        table_of(trips, trips.replicas.get())
