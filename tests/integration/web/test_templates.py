"""Templates as the API, the pages and the commands tell them."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.catalog.yaml.provider import load
from assay.models import Dataset, DataTest
from tests.factories import NOW

CATALOG = """
datasets:
- &trips
  {name: raw.trips, owner: ann, tier: 4, tags: [pii], columns: {id: bigint},
   replicas: [{datacenter: sea, storage: parquet, location: t}]}
- {<<: *trips, name: raw.rides, columns: {id: string}, readers: ['user:ann']}
bindings:
- {pipeline: load, dataset: raw.trips, test: low, gate: weak}
- {pipeline: load, dataset: raw.rides, test: low, gate: strong}
templates:
- name: low
  assertion: mean(id) >= {least}
  parameters: {least: 5}
  selector: {tags: [pii]}
"""


def told(*arguments: str) -> Any:
    out = StringIO()
    with pytest.raises(SystemExit) as left:
        call_command(*arguments, "--json", stdout=out)
    return left.value.code, json.loads(out.getvalue() or "null")


@pytest.fixture
def catalog(tmp_path: Path, db: None, capsys: pytest.CaptureFixture[str]) -> Path:
    """A catalog with a template that fits one of two datasets, synced."""
    clock.simulate(NOW)
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG)
    with pytest.raises(SystemExit):
        call_command("sync", str(path))
    printed = capsys.readouterr().out
    assert "template low: 1 test of 1 dataset, 1 gap" in printed
    assert "binding load → raw.rides: low: there is no live test of that name, so it changes nothing" in printed
    return path


def test_the_api_lists_templates_and_the_tests_of_one(api: APIClient, catalog: Path) -> None:
    answer = api.get("/api/v1/templates").json()
    assert answer["count"] == 1
    row: dict[str, Any] = {"name": "low", "assertion": "mean(id) >= {least}", "selector": "tagged pii"}
    row |= {
        "parameters": {"least": "5"},
        "severity": None,
        "category": "custom",
        **dict.fromkeys(("needs", "example", "author"), ""),
        "source": "catalog",
        "place": f"{catalog}:12",
    }
    assert answer["results"] == [row | {"datasets": 1, "data_tests": 1, "gaps": 1}]
    (test,) = api.get("/api/v1/data-tests", {"template": "low"}).json()["results"]
    assert (test["template"], test["source"], test["assertion"]) == ("low", "catalog", "mean(id) >= 5")
    assert api.get("/api/v1/data-tests", {"template": "high"}).json()["count"] == 0
    assert api.get("/api/v1/datasets/raw.trips").json()["tags"] == ["pii"]


def test_a_test_of_a_template_is_changed_in_its_catalog_alone(api: APIClient, catalog: Path) -> None:
    address = f"/api/v1/data-tests/{DataTest.objects.get(template='low').pk}"
    for answer in (api.patch(address, {"severity": "soft"}, format="json"), api.delete(address)):
        assert (answer.status_code, answer.json()["error"]) == (409, "raw.trips/low is made by the template 'low'.")
        assert "the source 'catalog'" in answer.json()["mend"]


def test_the_tests_that_a_pipeline_is_bound_to_are_listed_with_its_outputs(api: APIClient, catalog: Path) -> None:
    answer = api.get("/api/v1/pipelines/load/quality").json()
    assert answer["bindings"] == [
        {"dataset": "raw.trips", "test": "low", "gate": "weak"},
        {"dataset": "raw.rides", "test": "low", "gate": "strong"},
    ]
    assert api.get("/api/v1/pipelines/other/quality").json()["bindings"] == []


def test_the_page_lists_templates_and_the_gaps_that_one_may_see(client: Client, catalog: Path) -> None:
    client.force_login(User.objects.create_user("ann"))
    page = client.get("/templates").content.decode()
    for text in ("mean(id) &gt;= {least}", "least = 5", "tagged pii", f"{catalog}:12", "raw.rides", "and id is text"):
        assert text in page
    client.force_login(User.objects.create_user("bob"))
    page = client.get("/templates").content.decode()
    assert ("tagged pii" in page, "raw.rides" in page) == (True, False)


def test_the_page_of_a_dataset_says_which_template_makes_a_test_and_where_it_is_written(
    client: Client, catalog: Path
) -> None:
    client.force_login(User.objects.create_user("ann"))
    test = DataTest.objects.get(template="low")
    page = client.get("/datasets/raw.trips", {"test": test.pk}).content.decode()
    assert f'Made by the template <a href="/templates">low</a>, written in {catalog}:12: change it there.' in page
    assert "load (weak: its gate only warns)" in page
    assert "Tags <b>pii</b>" in client.get("/datasets/raw.trips").content.decode()
    assert "and id is text" in client.get("/datasets/raw.rides?tab=tests").content.decode()
    DataTest.objects.update(missing_since=NOW)
    page = client.get("/datasets/raw.trips", {"test": test.pk}).content.decode()
    assert "which makes it no more: it is retired after a day." in page


@pytest.mark.usefixtures("db")
def test_an_empty_catalogue_says_where_templates_are_written(client: Client) -> None:
    client.force_login(User.objects.create_user("ann"))
    assert "There are no templates yet." in client.get("/templates").content.decode()
    assert told("templates") == (0, {"templates": [], "gaps": []})


def test_the_command_lists_them_and_of_one_where_it_makes_no_test(
    catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, every = told("templates")
    assert (code, [each["name"] for each in every["templates"]], every["gaps"]) == (0, ["low"], [])
    _, one = told("templates", "LOW")
    reason = "mean needs a numeric column, and id is text: take another"
    assert one["gaps"] == [{"dataset": "raw.rides", "reason": reason}]
    with pytest.raises(SystemExit) as left:
        call_command("templates", "low")
    lines = [
        "low: 1 test of 1 dataset, 1 gap",
        "    mean(id) >= {least}",
        f"    tagged pii ({catalog}:12)",
        f"not testable: raw.rides: {reason}",
    ]
    assert (left.value.code, capsys.readouterr().out.splitlines()) == (0, lines)
    with pytest.raises(SystemExit) as left:
        call_command("templates", "high")
    assert (left.value.code, "there is no template 'high'; known are low" in capsys.readouterr().err) == (3, True)
    assert Dataset.objects.count() == 2


@pytest.mark.usefixtures("db")
def test_the_command_lists_ready_templates_and_writes_one_as_a_file_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, every = told("templates", "--library")
    assert all(each["needs"] and each["example"] for each in every["library"])
    with pytest.raises(SystemExit):
        call_command("templates", "Mails look like mails", "--library")
    (path := tmp_path / "rules.yaml").write_text(capsys.readouterr().out)
    assert [template.name for template in load(path).templates] == ["mails look like mails"]
    with pytest.raises(SystemExit) as left:
        call_command("templates", "high", "--library")
    assert (left.value.code, "no ready template 'high'" in capsys.readouterr().err) == (3, True)
