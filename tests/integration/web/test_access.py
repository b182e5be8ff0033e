"""Who is let in, and what everyone may see."""

from base64 import b64encode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient


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


def test_probes_answer_anyone(client: Client, db: None) -> None:
    assert (client.get("/healthz").json(), client.get("/readyz").json()) == ({"status": "ok"}, {"status": "ok"})
    assert client.get("/metrics").status_code == 200


@pytest.mark.parametrize("name", ["assay.css", "icons.svg", "history.js", "vendor/uplot.min.js"])
def test_static_files_are_served_without_being_collected_first(client: Client, db: None, name: str) -> None:
    answer = client.get(f"/static/web/{name}")
    assert answer.status_code == 200
    assert len(b"".join(answer)) > 100
