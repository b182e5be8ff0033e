"""Where a request may say that data lies."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from assay.catalog.selectors import home
from assay.config import config
from assay.models import Dataset, Replica
from execution_engine.engines.files.listing import UnableToListFiles, list_part
from execution_engine.engines.protocol import WHOLE
from execution_engine.storage import table_of
from tests.factories import DatasetFactory

SECRET = "the-key-of-the-house"


def push(api: APIClient, storage: str, location: str, **options: str) -> Any:
    replica = {"datacenter": "sea", "storage": storage, "location": location, "options": options}
    return api.put("/api/v1/datasets/raw.trips", {"owner": "ada", "tier": 3, "replicas": [replica]}, format="json")


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator who allows one folder and one bucket."""
    monkeypatch.setenv("ASSAY_ALLOWED_ROOTS", json.dumps(["/lake", "s3://lake/"]))
    monkeypatch.setenv("ASSAY_SECRET_KEY", SECRET)
    config.cache_clear()


def test_a_place_that_the_operator_did_not_allow_is_refused_and_told_to_nobody(api: APIClient, roots: None) -> None:
    answer = push(api, "parquet", "env:ASSAY_SECRET_KEY")
    assert (answer.status_code, answer.json().get("where")) == (400, "replicas")
    assert (SECRET in answer.content.decode(), Dataset.objects.exists()) == (False, False)


def test_a_place_under_a_root_is_taken(api: APIClient, roots: None) -> None:
    assert push(api, "parquet", "/lake/trips").status_code == 201


def test_a_request_may_name_no_place_until_the_operator_allows_some(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_ALLOWED_ROOTS", raising=False)
    config.cache_clear()
    answer = push(api, "parquet", "/lake/trips")
    assert (answer.status_code, "ASSAY_ALLOWED_ROOTS" in answer.json()["error"]) == (400, True)


def test_assays_own_database_is_no_dataset(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor == "sqlite":
        url = f"sqlite:///{connection.settings_dict['NAME']}"
    else:
        url = "mysql://assay@{HOST}:{PORT}/{NAME}".format(**connection.settings_dict)
    monkeypatch.setenv("ASSAY_DATABASE_URL", url)
    monkeypatch.setenv("ASSAY_ALLOWED_ROOTS", '["/", "mysql://127.0.0.1/", "mysql://localhost/"]')
    config.cache_clear()
    answer = push(api, "sql", url, table="auth_user")
    assert (answer.status_code, Dataset.objects.exists(), "Assay's own" in answer.json()["error"]) == (400, False, True)


def test_a_place_that_was_allowed_is_judged_again_when_it_is_read(tmp_path: Path, api: APIClient) -> None:
    dataset = DatasetFactory.create(name="trips")
    (tmp_path / "trips" / "datestr=2026-03-09").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "salaries.parquet").write_text("rows")
    (tmp_path / "trips" / "datestr=2026-03-10").symlink_to(tmp_path / "elsewhere")
    Replica.objects.update(location=str(tmp_path / "trips"))
    dataset.refresh_from_db()
    config.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ASSAY_ALLOWED_ROOTS", raising=False)
        config.cache_clear()
        with pytest.raises(UnableToListFiles, match="link"):
            list_part(table_of(dataset, home(dataset)), WHOLE)


def test_a_secret_location_is_shown_nowhere(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_LOCATION_TRIPS", f"odd://{SECRET}@host/")
    dataset = DatasetFactory.create(name="trips")
    Replica.objects.update(location="env:ASSAY_LOCATION_TRIPS")
    with pytest.raises(Exception, match=r"no file system") as refused:
        list_part(table_of(dataset, home(dataset)), WHOLE)
    assert SECRET not in str(refused.value)
    assert SECRET not in api.get("/api/v1/datasets/raw.trips").content.decode()
