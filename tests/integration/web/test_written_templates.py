"""Templates and bindings that are written by API and page, beside those of catalog files."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role
from assay.catalog.profile import Selector, TemplateProfile
from assay.models import AuditEntry, Binding, Dataset, DataTest, Member
from test_generator.models import RuleTemplate
from test_generator.pushed_rules import library
from test_generator.services import reconcile_datasets
from test_generator.templates.services import tell_templates
from tests.factories import NOW, DatasetFactory, DataTestFactory

pytestmark = pytest.mark.django_db

COLUMNS = [{"name": "rider_id", "type": "bigint"}, {"name": "city", "type": "string"}]
RULE: dict[str, Any] = {
    "name": "ids are known",
    "assertion": "completeness({column}) >= {share}",
    "parameters": {"share": 0.9},
    "selector": {"owners": ["ann"], "columns": {"names": ["*_id"]}},
    "severity": "soft",
}
FORM = {
    "name": "ids are known",
    "assertion": "completeness({column}) >= {share}",
    "parameters": "share = 0.9",
    "owners": "ann",
    "columns": "*_id",
    "severity": "soft",
}


@pytest.fixture(autouse=True)
def trips() -> Dataset:
    """A table of ann's, beside one of bob's that has the same columns."""
    clock.simulate(NOW)
    DatasetFactory.create(name="fares", owner="bob", team="", columns=COLUMNS)
    row: Dataset = DatasetFactory.create(name="trips", owner="ann", team="", columns=COLUMNS)
    return row


@pytest.fixture
def ann(client: Client) -> Client:
    """The pages, as an owner of tables opens them."""
    user = User.objects.create_user("ann")
    Member.objects.update_or_create(user=user, defaults={"role": Role.OWNER})
    client.force_login(user)
    return client


def sent(api: APIClient, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    answer = getattr(api, method)(f"/api/v1/{path}", body, format="json")
    return answer.status_code, answer.json() if answer.content else None


def made(*names: str) -> list[tuple[str, str, str]]:
    """The live tests of templates, once the datasets are reconciled."""
    for dataset in Dataset.objects.all():
        reconcile_datasets([dataset], NOW)
    rows = DataTest.objects.exclude(template="").filter(missing_since=None).select_related("dataset", "revision")
    return [(row.dataset.name, row.name, row.revision.assertion) for row in rows if row.revision]


def test_a_template_is_shown_written_changed_and_taken_away(api: APIClient) -> None:
    code, preview = sent(api, "post", "templates/preview", RULE)
    tests = [{"sign": "+", "name": "ids are known: rider_id", "column": "rider_id", "severity": "soft"}]
    tests[0]["assertion"] = "completeness(rider_id) >= 0.9"
    shown = [{"dataset": "raw.trips", "tests": tests, "gaps": []}]
    assert (code, preview, RuleTemplate.objects.count()) == (200, {"selected": 1, "more": 0, "datasets": shown}, 0)
    code, row = sent(api, "post", "templates", RULE)
    assert (code, row["source"], row["place"], row["author"]) == (201, "push", "", "grace")
    assert made() == [("trips", "ids are known: rider_id", "completeness(rider_id) >= 0.9")]
    assert DataTest.objects.get(template="ids are known").revision.author == "grace"  # type: ignore[union-attr]
    code, _ = sent(api, "patch", "templates/IDS are known", {"parameters": {"share": 0.5}})
    assert (code, made()[0][2]) == (200, "completeness(rider_id) >= 0.5")
    assert sent(api, "delete", "templates/ids are known")[0] == 204
    assert made() == []
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["template.create", "template.update", "template.destroy"]
    before = AuditEntry.objects.get(action="template.update").before or {}
    assert before["parameters"] == {"share": "0.9"}


@pytest.mark.parametrize(
    ("change", "where", "says"),
    [
        ({"assertion": "completenes({column}) >= {share}"}, "assertion", "did you mean"),
        ({"assertion": "row_count() >= {share}"}, "selector.columns", "{column}"),
        ({"parameters": {}}, "assertion", "'{share}'"),
        ({"selector": {}}, "selector", "selects every dataset"),
        ({"colour": "red"}, "colour", "Extra inputs"),
    ],
)
def test_a_wrong_template_is_refused_at_its_place(
    api: APIClient, change: dict[str, Any], where: str, says: str
) -> None:
    for path in ("templates", "templates/preview"):
        code, problem = sent(api, "post", path, RULE | change)
        assert (code, where in problem["where"], says in problem["error"]) == (400, True, True), problem
    assert not RuleTemplate.objects.exists()


def test_a_template_of_a_file_is_changed_there_alone(api: APIClient) -> None:
    template = TemplateProfile(name="rows", assertion="row_count() > 0", selector=Selector(names=("raw.*",)))
    tell_templates([template], source="catalog", full=True, now=NOW)
    for method, body in (("patch", {"severity": "soft"}), ("delete", None)):
        code, problem = sent(api, method, "templates/rows", body)
        assert (code, "'catalog'" in problem["error"]) == (409, True), problem
    assert sent(api, "post", "templates", RULE | {"name": "Rows"})[0] == 409
    sent(api, "post", "templates", RULE)
    _, faults = tell_templates([replace(template, name=RULE["name"])], source="catalog", full=True, now=NOW)
    assert "the source 'push' has a template of that name" in faults[0]
    assert sorted(RuleTemplate.objects.values_list("name", "source")) == [("ids are known", "push")]


def test_a_test_of_tier_0_is_hard_only_once_it_was_tried_on_the_past(api: APIClient, trips: Dataset) -> None:
    Dataset.objects.filter(pk=trips.pk).update(tier=0)
    code, problem = sent(api, "post", "templates", RULE | {"severity": "hard"})
    assert (code, "raw.trips: a hard test of tier 0" in problem["error"]) == (409, True), problem
    code, problem = sent(api, "post", "templates", RULE | {"keep_rows": {"table": "nowhere/trips"}})
    assert (code, problem["error"].startswith("Keep_rows: ")) == (409, True), problem


def test_the_library_is_a_list_of_bodies(api: APIClient) -> None:
    _, answer = sent(api, "get", "templates/library")
    assert len(answer["templates"]) == len(library()) > 20
    for body in answer["templates"]:
        code, preview = sent(api, "post", "templates/preview", body)
        assert code == 200, preview


def test_a_binding_is_written_changed_and_taken_away(trips: Dataset) -> None:
    api = APIClient()
    DataTestFactory.create(dataset=trips, name="low")
    user = User.objects.create_user("ann")
    Member.objects.update_or_create(user=user, defaults={"role": Role.OWNER})
    api.force_authenticate(user)
    body = {"pipeline": "load", "dataset": "raw.trips", "test": "low", "gate": "weak"}
    code, row = sent(api, "post", "bindings", body)
    assert (code, row["source"], row["gate"]) == (201, "push", "weak")
    assert sent(api, "post", "bindings", body)[0] == 409
    assert sent(api, "patch", f"bindings/{row['id']}", {"gate": "strong"})[1]["gate"] == "strong"
    assert [each["gate"] for each in sent(api, "get", "bindings")[1]["results"]] == ["strong"]
    assert sent(api, "post", "bindings", body | {"test": "high"})[0] == 400
    Binding.objects.update(source="catalog")
    assert sent(api, "delete", f"bindings/{row['id']}")[0] == 409
    Binding.objects.update(source="push")
    assert (sent(api, "delete", f"bindings/{row['id']}")[0], Binding.objects.exists()) == (204, False)


def test_the_page_shows_what_a_template_makes_and_then_saves_it(ann: Client) -> None:
    page = ann.post("/templates/preview", FORM).content.decode()
    assert ("completeness(rider_id) &gt;= 0.9" in page, "raw.fares" in page) == (True, False)
    assert not RuleTemplate.objects.exists()
    assert ann.post("/templates/save", FORM).headers["Location"] == "/templates"
    assert made() == [("trips", "ids are known: rider_id", "completeness(rider_id) >= 0.9")]
    edit = "/templates/write?of=ids+are+known"
    assert edit.replace("+", "%20") in (page := ann.get("/templates").content.decode())
    assert 'value="*_id"' in ann.get(edit).content.decode()
    ann.post("/templates/save", FORM | {"of": "ids are known", "parameters": "share = 0.5"})
    assert made()[0][2] == "completeness(rider_id) >= 0.5"
    ann.post("/templates/remove", {"of": "ids are known"})
    assert made() == []


def test_an_owner_writes_templates_of_their_own_datasets_alone(ann: Client) -> None:
    for owners in ("", "bob", "ann, bob"):
        assert ann.post("/templates/save", FORM | {"owners": owners}).status_code == 403
    assert not RuleTemplate.objects.exists()


def test_what_is_wrong_stands_above_the_form_that_keeps_what_was_typed(ann: Client) -> None:
    wrong = FORM | {"assertion": "completenes({column}) >= {share}"}
    page = ann.post("/templates/preview", wrong).content.decode()
    assert ("did you mean" in page, "completenes({column})" in page) == (True, True)
    page = ann.post("/templates/save", wrong, follow=True).content.decode()
    assert ("Not saved." in page, "completenes({column})" in page) == (True, True)


def test_a_ready_template_begins_the_form(ann: Client) -> None:
    page = ann.get("/templates").content.decode()
    assert "/templates/write?ready=mails%20look%20like%20mails" in page
    page = ann.get("/templates/write?ready=mails look like mails").content.decode()
    assert ("share = 0.95" in page, "a form stores phone numbers" in page) == (True, True)
    ready = FORM | {"name": "mine", "ready": "mails look like mails", "columns": "city"}
    assert ann.post("/templates/save", ready).headers["Location"] == "/templates"
    assert RuleTemplate.objects.get().said["needs"] == "text columns of mail addresses"


def test_a_pipeline_is_bound_beside_its_test(ann: Client, trips: Dataset) -> None:
    test = DataTestFactory.create(dataset=trips, name="low")
    ann.post(f"/datasets/raw.trips/tests/{test.pk}/bind", {"pipeline": "load", "gate": "weak"})
    row = Binding.objects.get()
    assert (str(row), row.strength) == ("load → raw.trips: low", "weak")
    assert "load (weak" in ann.get(f"/datasets/raw.trips?tab=tests&test={test.pk}").content.decode()
    ann.post(f"/datasets/raw.trips/bindings/{row.pk}/remove")
    assert not Binding.objects.exists()
