"""A name stands on one line, as it looks, whichever way it comes in."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from assay.catalog.openlineage import UnableToReadEvent, read_event
from assay.catalog.yaml.provider import UnableToReadCatalog, load
from assay.models import Dataset, DataTest, Member
from tests.factories import DatasetFactory, IncidentFactory

CONTROLS = [f"a{mark}b" for mark in "\n\r\t\x1b\x7f\x85\u2028\u202e\u200f\u2066\u061c"]
REPLICA = {"datacenter": "sea", "storage": "parquet", "location": "/lake/trips"}
FIELDS: list[dict[str, Any]] = [
    {"team": "NAME"},
    {"owner": "NAME"},
    {"columns": {"NAME": "int"}},
    {"columns": {"a": "NAME"}},
    {"primary_key": ["NAME"]},
    {"readers": ["team:NAME"]},
    {"tags": ["NAME"]},
    {"replicas": [{**REPLICA, "datacenter": "NAME"}]},
    {"replicas": [{**REPLICA, "location": "/lake/NAME"}]},
    {"partition": {"column": "NAME", "granularity": "day"}},
    {"partition": {"column": "d", "granularity": "day", "key_format": "NAME%Y%m%d"}},
    {"partition": {"column": "d", "granularity": "day", "time_zone": "NAME"}},
]


def named(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {named(key, name): named(inside, name) for key, inside in value.items()}
    if isinstance(value, list):
        return [named(inside, name) for inside in value]
    return value.replace("NAME", name) if isinstance(value, str) else value


@pytest.mark.parametrize("fields", FIELDS, ids=lambda fields: next(iter(fields)))
def test_a_pushed_dataset_has_none_in_any_name(api: Any, fields: dict[str, Any]) -> None:
    for text in CONTROLS:
        body = {"owner": "ada", "tier": 3, "replicas": [REPLICA], **named(fields, text)}
        answer = api.put("/api/v1/datasets/raw.trips", body, "json")
        assert answer.status_code == 400, (text, answer.content)
    assert not Dataset.objects.exists()


def test_a_catalog_file_has_none(tmp_path: Path) -> None:
    for text in CONTROLS:
        (tmp_path / "catalog.yaml").write_text(
            f'datasets: [{{name: raw.t, owner: ada, team: "{text.encode("unicode_escape").decode()}", tier: 3, '
            "replicas: [{datacenter: sea, storage: parquet, location: /lake}]}]"
        )
        with pytest.raises(UnableToReadCatalog, match="control character"):
            load(tmp_path / "catalog.yaml")


@pytest.mark.parametrize("where", ["job", "run", "dataset", "namespace", "field", "owner"])
def test_an_event_of_openlineage_has_none(where: str) -> None:
    names = dict.fromkeys(("job", "run", "dataset", "namespace", "field", "owner"), "x")
    for text in CONTROLS:
        told = names | {where: text}
        facets = {"schema": {"fields": [{"name": told["field"]}]}, "ownership": {"owners": [{"name": told["owner"]}]}}
        event = {
            "eventType": "COMPLETE",
            "eventTime": "2026-03-10T01:00:00Z",
            "run": {"runId": told["run"]},
            "job": {"namespace": "etl", "name": told["job"]},
            "outputs": [{"namespace": told["namespace"], "name": told["dataset"], "facets": facets}],
        }
        with pytest.raises(UnableToReadEvent, match="control character"):
            read_event(event)


def test_a_request_has_none(api: Any) -> None:
    test = {"dataset": "raw.trips", "assertion": "row_count() > 0"}
    DatasetFactory.create(name="trips")
    done = {"outputs": [{"dataset": "raw.trips", "window": "2026-03-09"}]}
    for text in CONTROLS:
        answers = [
            api.post("/api/v1/data-tests", {**test, "name": text}, "json"),
            api.put("/api/v1/members/grace", {"role": "admin", "teams": [text]}, "json"),
            api.post("/api/v1/pipelines/p/completed", {**done, "run": text}, "json"),
            api.post(f"/api/v1/pipelines/{quote(text)}/completed", done, "json"),
            api.post("/api/v1/silences", {"owner": text, "ends_at": "2026-03-12T00:00Z", "reason": "x"}, "json"),
            api.get("/api/v1/datasets", {"owner": text}),
        ]
        assert [answer.status_code for answer in answers] == [400] * len(answers), text
    assert (DataTest.objects.count(), Member.objects.get().teams) == (0, [])


def test_a_text_may_have_lines(api: Any) -> None:
    DatasetFactory.create(name="trips")
    report = {"dataset": "raw.trips", "window": "2026-03-09T00:00Z/2026-03-10T00:00Z", "description": "one\n\ttwo"}
    assert api.post("/api/v1/reports", report, "json").status_code == 201


def test_a_form_has_none(pages: Client) -> None:
    incident = IncidentFactory.create()
    for text in ("a\nb", "a\u202eb"):
        pages.post(f"/incidents/{incident.pk}/assign", {"to": text})
        pages.post("/silences/new", {"owner": text, "ends_at": "2026-03-12T00:00", "reason": "x"})
    incident.refresh_from_db()
    assert incident.assigned_to == ""
