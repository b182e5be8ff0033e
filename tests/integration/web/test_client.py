"""A client that a stranger's generator makes of our document, asked against the live service."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User
from drf_spectacular.generators import SchemaGenerator
from pytest_django.live_server_helper import LiveServer

from assay import clock
from assay.access import Role
from assay.models import AccessToken, Member
from tests.factories import NOW, DatasetFactory, DataTestFactory, SpoiltWindowFactory, StandingFactory, day

PACKAGE = "assay_generated_client"  # beside our own assay_client
# what the generator takes as bytes, once it is told so
FILES = dict.fromkeys(("image/svg+xml", "application/vnd.apache.parquet", "text/calendar"), "application/octet-stream")


@pytest.fixture(scope="module")
def client_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the client; the generator takes every operation, and warns of none."""
    folder = tmp_path_factory.mktemp("client")
    schema, config = folder / "openapi.json", folder / "config.yaml"
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    schema.write_text(json.dumps(document))
    config.write_text(f"post_hooks: []\ncontent_type_overrides: {json.dumps(FILES)}\n")
    made = subprocess.run(
        [
            str(Path(sys.executable).with_name("openapi-python-client")),
            "generate",
            *("--path", str(schema), "--config", str(config), "--output-path", str(folder / PACKAGE)),
            *("--meta", "none", "--fail-on-warning"),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


@pytest.fixture
def load(client_package: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(client_package))

    def imported(part: str) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.{part}")

    return imported


def test_the_client_asks_the_gate_and_looks_up_the_quality(
    load: Any, live_server: LiveServer, transactional_db: None
) -> None:
    clock.simulate(NOW)
    user = User.objects.create_user("etl")
    Member.objects.create(user=user, role=Role.VIEWER)
    dataset = DatasetFactory.create(name="trips é", first_partition="2026-01-01")
    test = DataTestFactory.create(dataset=dataset, created_at=day("2026-03-07").start)
    StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken")
    SpoiltWindowFactory.create(incident__dataset=dataset, data_test=test, datacenter="sea")
    token = AccessToken.objects.create(user)[1]
    client = load("client").AuthenticatedClient(base_url=live_server.url, token=token, prefix="Token")

    question = load("models").GateQuestion(datasets=[dataset.full_name], window="2026-03-09")
    verdict = load("api.gate.gate_create").sync(client=client, body=question)
    assert (verdict.decision, {reason.dataset for reason in verdict.reasons}) == ("block", {"raw.trips é"})

    monday = day("2026-03-09")
    look_up = load("api.quality.quality_retrieve")
    found = look_up.sync(client=client, dataset=dataset.full_name, from_=monday.start, to=monday.end)
    assert (found.status, found.from_, found.to) == ("bad", monday.start, monday.end)
    assert found.incidents[0].category == "custom"

    problem = load("api.gate.gate_create").sync(
        client=client, body=load("models").GateQuestion(datasets=["x"], window="y")
    )
    assert type(problem).__name__ == "Problem"
    assert (problem.status, "no dataset is called 'x'" in problem.detail) == (400, True)
