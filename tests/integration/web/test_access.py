"""Who is let in, and what everyone may see."""

from base64 import b64encode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

CLOSED = ("datasets", "data-tests", "runs", "measurements", "incidents", "reports", "scores", "quality", "lineage")


@pytest.mark.parametrize("resource", CLOSED)
def test_strangers_are_told_how_to_get_a_token(client: Client, db: None, resource: str) -> None:
    answer = client.get(f"/api/v1/{resource}")
    assert (answer.status_code, "/api/v1/auth/login" in answer.json()["mend"]) == (401, True)


@pytest.mark.parametrize("address", ["/", "/incidents", "/scores", "/datasets/raw.trips", "/incidents/1"])
def test_strangers_are_sent_to_the_login_page(client: Client, db: None, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/login?next={address}")


@pytest.mark.parametrize("scheme", ["Token", "Bearer"])
def test_a_password_becomes_a_token_that_opens_the_api(user: User, scheme: str) -> None:
    client = APIClient()
    basic = b64encode(b"grace:hopper").decode()
    token = client.post("/api/v1/auth/login", HTTP_AUTHORIZATION=f"Basic {basic}").json()["token"]
    client.credentials(HTTP_AUTHORIZATION=f"{scheme} {token}")
    assert (client.get("/api/v1/datasets").status_code, client.post("/api/v1/auth/logout").status_code) == (200, 204)
    assert client.get("/api/v1/datasets").status_code == 401


def test_a_sessions_writes_need_the_csrf_token(user: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.get("/api/v1/reports").status_code == 200
    assert client.post("/api/v1/reports", {}, format="json").status_code == 403


def test_probes_answer_anyone(client: Client, db: None) -> None:
    assert (client.get("/healthz").json(), client.get("/readyz").json()) == ({"status": "ok"}, {"status": "ok"})
    assert client.get("/metrics").status_code == 200


def test_the_schema_names_every_resource(client: Client, db: None) -> None:
    text = client.get("/api/schema").content.decode()
    for resource in (*CLOSED, "quality/query", "gate", "pipelines/{name}/completed", "incidents/{id}/force-resolve"):
        assert f"/api/v1/{resource}" in text


@pytest.mark.parametrize("name", ["assay.css", "icons.svg", "history.js", "vendor/uplot.min.js"])
def test_static_files_are_served_without_being_collected_first(client: Client, db: None, name: str) -> None:
    answer = client.get(f"/static/web/{name}")
    assert answer.status_code == 200
    assert len(b"".join(answer)) > 100
