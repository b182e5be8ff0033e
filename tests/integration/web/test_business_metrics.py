"""Business metrics over REST and on pages: defined, listed, answered for, or refused with a place."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay import clock
from assay.catalog.services import UnableToApply, UnableToComplete, record_completion
from assay.catalog.yaml.provider import UnableToReadCatalog
from assay.models import Dataset, DataTest
from execution_engine.models import Measurement
from incident_manager.models import Incident
from test_generator.services import (
    UnableToSuggest,
    UnableToWrite,
    ask_for_suggestions,
    reconcile_datasets,
    sync_files,
    write_data_test,
)
from tests.factories import NOW, DatasetFactory, IncidentFactory, SpoiltWindowFactory, day

pytestmark = pytest.mark.django_db
API = "/api/v1/business-metrics"
NAME = "business.fare_per_ride"
COLUMNS = [{"name": name, "type": kind} for name, kind in (("city", "string"), ("fare", "double"))]
SAID: dict[str, Any] = {"owner": "mia", "tier": 1, "expression": "sum(fare) / row_count()", "sources": ["raw.rides"]}


@pytest.fixture(autouse=True)
def rides(user: User) -> Dataset:
    clock.simulate(NOW)
    return DatasetFactory.create(name="rides", owner="rita", columns=COLUMNS, primary_key=[])


def put(api: APIClient, name: str = NAME, **more: Any) -> Any:
    return api.put(f"{API}/{name}", {**SAID, **more}, format="json")


def measured(name: str, key: str, value: float) -> None:
    row = Dataset.objects.get(full_name=name)
    text = f"value(of='{row.business_metric['canonical']}')" if row.business_metric else ""
    at = {"window_start": day(key).start, "window_end": day(key).end, "requested_at": NOW, "measured_at": NOW}
    spec: dict[str, Any] = {"spec": {}, "spec_hash": "v", "spec_text": text}
    Measurement.objects.create(dataset=row, datacenter="sea", value=value, **at, **spec)


def test_a_metric_is_defined_listed_and_answered_for(api: APIClient) -> None:
    assert api.get(API).json()["results"] == []
    answer = put(api, dimensions=["city"], description="What a ride costs.")
    assert answer.status_code == 201, answer.content
    reconcile_datasets([Dataset.objects.get(full_name=NAME)], NOW)
    for key, value in (("2026-03-08", 4.0), ("2026-03-09", 5.0)):
        measured(NAME, key, value)
    (row,) = api.get(API, {"q": "per_RIDE"}).json()["results"]
    assert (row["name"], row["expression"], row["newest"]["value"]) == (NAME, SAID["expression"], 5.0)
    found = api.get(f"{API}/{NAME.upper()}").json()
    assert [each["value"] for each in found["values"]] == [4.0, 5.0]
    assert found["sources"] == [{"name": "raw.rides", "status": "untested"}]
    names = DataTest.objects.filter(dataset__full_name=NAME).values_list("name", flat=True)
    assert set(names) == {"value", "freshness", "band"}
    assert (put(api).status_code, api.get(f"{API}/raw.rides").status_code) == (200, 404)


def test_what_is_wrong_with_a_source_is_in_every_answer_on_the_metric(api: APIClient, rides: Dataset) -> None:
    put(api)
    incident: Incident = IncidentFactory.create(dataset=rides)
    SpoiltWindowFactory.create(incident=incident)
    said = f"incident {incident.pk} is open; {NAME} is computed from raw.rides"
    found = api.get(f"{API}/{NAME}").json()
    assert found["status"] == found["quality"]["status"] == "bad"
    assert found["gate"]["decision"] == "block"
    asked = {"datasets": [NAME], "window": "2026-03-09", "pipeline": "experiment"}
    (reason,) = [each for each in api.post("/api/v1/gate", asked, format="json").json()["reasons"] if each["incident"]]
    assert (reason["decision"], reason["dataset"]) == ("block", "raw.rides")
    assert reason["text"].endswith(said)
    assert api.get(API).json()["results"][0]["status"] == "bad"


def test_pages_show_a_metric_before_it_has_a_value_and_after(api: APIClient, pages: Client) -> None:
    assert "There are no business metrics yet" in pages.get("/business-metrics").content.decode()
    put(api, "business.a_b-c@d", dimensions=["city"])
    assert "none yet" in pages.get("/business-metrics").content.decode()
    measured("business.a_b-c@d", "2026-03-09", 5.25)
    assert "5.25" in pages.get("/business-metrics").content.decode()
    page = pages.get("/business-metrics/business.a_b-c@d").content.decode()
    assert ("5.25" in page, "May I use this?" in page, "sum(fare) / row_count()" in page) == (True, True, True)
    assert ("2026-03-09: 5.25, not judged" in page, pages.get("/business-metrics/raw.rides").status_code) == (True, 404)
    assert "No business metric has this" in pages.get("/business-metrics?q=zzz").content.decode()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"expression": "sum(fare) > 3"}, "an expression has no bound"),
        ({"expression": "sum(far)"}, "raw.rides has no column far: did you mean fare?"),
        ({"expression": "mean(row_count(), last=7)"}, "an expression is of one window"),
        ({"expression": "3"}, "it measures nothing"),
        ({"expression": "row_count(dataset='raw.other')"}, "add it under sources"),
        ({"sources": ["raw.nothing"]}, "there is no dataset 'raw.nothing'"),
        ({"sources": ["raw.whole"]}, "has no partitions"),
        ({"sources": []}, "sources"),
        ({"dimensions": ["town"]}, "raw.rides has no column 'town'"),
        ({"tolerance": 2}, "tolerance"),
        ({"served": [{"dataset": "raw.other", "column": "fare", "dimension": "city"}]}, "none of its dimensions"),
    ],
)
def test_what_cannot_be_computed_is_refused(api: APIClient, more: Any, told: str) -> None:
    DatasetFactory.create(name="other", columns=COLUMNS)
    DatasetFactory.create(name="whole", partition_column="", granularity="")
    answer = put(api, **more)
    assert (answer.status_code, told in answer.json()["detail"]) == (400, True)
    assert not Dataset.objects.filter(full_name=NAME).exists()


def test_a_name_is_that_of_a_table_or_of_a_metric(api: APIClient) -> None:
    Dataset.objects.update(source="push")
    assert put(api, "raw.rides", sources=["raw.rides"]).status_code == 409
    put(api)
    said = {"owner": "x", "tier": 1, "replicas": [{"datacenter": "sea", "storage": "parquet", "location": "/lake/x"}]}
    answer = api.put(f"/api/v1/datasets/{NAME}", said, format="json")
    assert (answer.status_code, "is known as a business metric" in answer.json()["detail"]) == (409, True)


def test_what_is_of_rows_is_refused_for_a_metric(api: APIClient, rides: Dataset) -> None:
    put(api)
    metric = Dataset.objects.get(full_name=NAME)
    with pytest.raises(UnableToComplete, match=r"complete raw\.rides"):
        record_completion(dataset=metric, datacenter="sea", window=day("2026-03-09"), pipeline="p", now=NOW)
    with pytest.raises(UnableToSuggest, match="is a business metric"):
        ask_for_suggestions(metric, author="ada", now=NOW)
    for dataset, assertion, told in (
        (metric, "row_count() > 0", "which has none: take value"),
        (rides, "value() > 0", "raw.rides is no business metric"),
        (rides, f"query('select 1 from {NAME}') > 0", "a business metric, which has none"),
    ):
        with pytest.raises(UnableToWrite, match=told):
            write_data_test(dataset=dataset, name="mine", assertion=assertion, author="ada", now=NOW)
    for dataset, assertion in ((metric, "value() between 1 and 9"), (rides, f"value(dataset='{NAME}') > 0")):
        write_data_test(dataset=dataset, name="mine", assertion=assertion, author="ada", now=NOW)
    done = {"outputs": [{"dataset": NAME, "window": "2026-03-09"}]}
    assert api.post("/api/v1/pipelines/load/completed", done, format="json").status_code == 400


def test_a_catalog_file_tells_the_line_and_the_place_of_what_is_wrong(tmp_path: Path) -> None:
    catalog = tmp_path / "metrics.yaml"
    catalog.write_text(
        """
business_metrics:
  - {name: business.one, owner: mia, tier: 1, sources: [raw.rides],
     expression: "sum(fare) / row_count("}
  - {name: business.two, owner: mia, tier: 1, sources: [raw.rides],
     expression: "sum(fare) >= 3"}
  - {name: business.three, owner: mia, tier: 1, sources: [raw.missing], expression: row_count()}
  - {name: Raw.Rides, owner: mia, tier: 1, sources: [raw.rides], expression: row_count()}
  - {name: business.four, owner: mia, tier: 1, sources: [business.two], expression: row_count()}
  - {name: business.FOUR, owner: mia, tier: 1, sources: [raw.rides], expression: row_count(), band: {strategy: none}}
"""
    )
    with pytest.raises(UnableToReadCatalog) as error:
        sync_files(catalog, now=NOW)
    lines = str(error.value)
    for told in (
        f"{catalog}:4: business metric 'business.one': Cannot read the expression",
        f"{catalog}:6: business metric 'business.two': Cannot read the expression",
        "sum(fare) >= 3\n" + " " * 2,
        f"{catalog}:7: business_metrics[2].sources[0]: found 'raw.missing'",
        f"{catalog}:10: business_metrics[5].name: found a second business metric 'business.FOUR', first at {catalog}:9",
    ):
        assert told in lines
    catalog.write_text(
        "business_metrics: [{name: Raw.Rides, owner: m, tier: 1, sources: [raw.rides], expression: row_count()}]"
    )
    with pytest.raises(UnableToApply, match=r"raw\.rides is known as a table"):
        sync_files(catalog, now=NOW)
