"""Files of runs, measurements and incidents: over REST and by the command."""

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from assay.models import Dataset
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Run
from incident_manager import exports as read
from tests.factories import HOUR, NOW, DatasetFactory, DataTestFactory, IncidentFactory, RunFactory
from tests.integration.web.people import client

pytestmark = pytest.mark.django_db
RANGE = {"from": (NOW - timedelta(days=1)).isoformat(), "to": (NOW + timedelta(days=1)).isoformat()}


def rows_of(api: APIClient, name: str, **given: Any) -> list[dict[str, Any]]:
    answer: Any = api.get(f"/api/v1/exports/{name}", {**RANGE, **given})
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Disposition"].endswith(f'.{name.rpartition(".")[2]}"')
    content = b"".join(answer.streaming_content)
    if name.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    return list(pq.read_table(io.BytesIO(content)).to_pylist())


def measurement(dataset: Dataset, **given: Any) -> Measurement:
    place = {"datacenter": "sea", "window_start": NOW - HOUR, "window_end": NOW, "requested_at": NOW}
    spec = {"spec": MetricSpec(name="row_count").to_json(), "spec_hash": "1", "spec_text": "row_count()"}
    return Measurement.objects.create(**{"dataset": dataset, "measured_at": NOW, **place, **spec, **given})


def exit_code(*command: str) -> object:
    with pytest.raises(SystemExit) as left:
        call_command(*command)
    return left.value.code


def test_runs_are_exported_with_their_exact_values(api: APIClient) -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    run = RunFactory.create(data_test=test, evaluated_at=NOW, value=1e17, exact="100000000000000001", sentence="=2+2")
    RunFactory.create(data_test=test, evaluated_at=NOW - timedelta(days=2))
    RunFactory.create(data_test=test, evaluated_at=None)
    (of_csv,), (of_parquet,) = rows_of(api, "runs.csv"), rows_of(api, "runs.parquet")
    assert (of_parquet["id"], of_parquet["exact"], of_parquet["value"]) == (run.pk, "100000000000000001", 1e17)
    assert (of_parquet["evaluated_at"], of_parquet["sentence"]) == (NOW, "=2+2")
    same = {"exact": "100000000000000001", "sentence": "'=2+2", "evaluated_at": "2026-03-10T12:00:00Z"}
    assert of_csv | same == of_csv
    assert list(of_csv) == list(of_parquet)


def test_runs_of_more_datasets_take_no_more_statements(api: APIClient) -> None:
    statements = []
    for _ in range(3):
        test = DataTestFactory.create(dataset=DatasetFactory.create())
        RunFactory.create(data_test=test, evaluated_at=NOW, outcome="held")
        with CaptureQueriesContext(connection) as seen:
            rows_of(api, "runs.csv")
        statements.append(len(seen))
    assert statements[1] == statements[2]  # the first also looks up who asks


def test_measurements_and_incidents_are_exported_too(api: APIClient) -> None:
    dataset = DatasetFactory.create(name="trips é")
    measurement(dataset, value=0.1)
    IncidentFactory.create(dataset=dataset, detected_at=NOW, root_cause="two\nlines, one comma")
    (measured,) = rows_of(api, "measurements.parquet")
    assert (measured["dataset"], measured["value"], measured["metric"]) == ("raw.trips é", 0.1, "row_count()")
    (incident,) = rows_of(api, "incidents.csv", dataset="RAW.trips é")
    assert (incident["root_cause"], incident["resolved_at"]) == ("two\nlines, one comma", "")
    assert rows_of(api, "incidents.csv", dataset=DatasetFactory.create(name="other").full_name) == []


def test_many_rows_of_one_instant_come_once_each_in_order(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "AT_ONCE", 3)
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    instants = [NOW + n // 5 * HOUR for n in range(17)]
    expected = [RunFactory.create(data_test=test, evaluated_at=at).pk for at in reversed(instants)]
    by_time = Run.objects.order_by("evaluated_at", "pk").values_list("pk", flat=True)
    found = [int(row["id"]) for row in rows_of(api, "runs.csv")]
    assert (found, set(found)) == (list(by_time), set(expected))


def test_rows_that_one_may_not_see_are_in_no_file(user: User) -> None:
    ann = client("ann")
    hidden = DatasetFactory.create(name="pay", readers="team:hr")
    RunFactory.create(data_test=DataTestFactory.create(dataset=hidden), evaluated_at=NOW)
    IncidentFactory.create(dataset=hidden, detected_at=NOW)
    measurement(hidden)
    for name in ("runs.csv", "runs.parquet", "measurements.csv", "incidents.parquet"):
        assert rows_of(ann, name) == []
    assert ann.get("/api/v1/exports/runs.csv", {**RANGE, "dataset": hidden.full_name}).status_code == 403


def test_values_of_columns_that_are_sensitive_now_are_not_told(api: APIClient) -> None:
    dataset = DatasetFactory.create(name="trips", columns=[{"name": "fare", "type": "double"}])
    test = DataTestFactory.create(dataset=dataset, assertion="max(fare) < 5")
    RunFactory.create(data_test=test, evaluated_at=NOW, value=987654.0, sentence="max(fare) is 987654")
    spec = {"spec": MetricSpec(name="max", columns=("fare",)).to_json(), "spec_text": "max(fare)"}
    measurement(dataset, value=987654.0, **spec)
    assert "987654" in str([rows_of(api, f"{name}.parquet") for name in ("runs", "measurements")])
    Dataset.objects.update(columns=[{"name": "fare", "type": "double", "sensitive": True}])
    hidden = [rows_of(api, f"{name}.{form}") for name in ("runs", "measurements") for form in ("csv", "parquet")]
    assert all(len(rows) == 1 for rows in hidden)
    assert "987654" not in str(hidden)


@pytest.mark.parametrize(
    "given", [{}, {"from": "2026-03-09T00:00Z"}, {**RANGE, "dataset": "x"}, {**RANGE, "datasets": "raw.trips"}]
)
def test_a_question_that_is_wrong_is_a_problem(api: APIClient, given: dict[str, str]) -> None:
    answer = api.get("/api/v1/exports/runs.csv", given, headers={"Accept": "text/csv"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")


def test_the_command_writes_the_same_rows(
    api: APIClient, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    RunFactory.create(data_test=DataTestFactory.create(dataset=DatasetFactory.create(name="trips")), evaluated_at=NOW)
    answers: dict[str, Any] = {form: api.get(f"/api/v1/exports/runs.{form}", RANGE) for form in ("csv", "parquet")}
    sent = {form: b"".join(answer.streaming_content) for form, answer in answers.items()}
    span = ["--from", RANGE["from"], "--to", RANGE["to"], "--dataset", "raw.trips"]
    for form in sent:
        output = tmp_path / f"runs.{form}"
        assert (exit_code("export", "runs", *span, "--output", str(output)), output.read_bytes()) == (0, sent[form])
    capfdbinary.readouterr()
    assert (exit_code("export", "runs", *span, "--output", "-"), capfdbinary.readouterr().out) == (0, sent["csv"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--output", "x.xlsx"], "neither .csv nor .parquet"),
        (["--output", "x.csv", "--dataset", "raw.x"], "no dataset"),
        (["--output", "/nowhere/x.csv"], "cannot write"),
        (["--output", "x.csv", "--from", "soon"], "--from"),
        (["--output", "x.csv", "--to", "2000-01-01"], "must be after"),
    ],
)
def test_the_command_says_what_is_wrong(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("export", "runs", "--from", "2026-03-09", "--to", "2026-03-10", *given) == 3
    assert says in " ".join(capsys.readouterr().err.split())
