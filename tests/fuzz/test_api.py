"""The whole API, asked by schemathesis through the real WSGI application: 50,000 requests with ``ASSAY_FUZZ=full``."""

import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from knox.models import get_token_model

from assay.config import RATES
from assay.models import Dataset, DataTest
from execution_engine.models import Run
from incident_manager.models import Incident, Report
from tests.browser.scene import set_scene
from tests.factories import DataTestFactory, ReportFactory
from tests.fuzz.api import ASSERTIONS, QUERIES, TEXTS, WINDOWS, Known, Tally, fuzz
from web.access.throttles import ByCost

ASKED = os.environ.get("ASSAY_FUZZ", "")
START = int(os.environ.get("ASSAY_FUZZ_START", "0"))  # other numbers make other requests
REQUESTS = 50_000 if ASKED == "full" else int(ASKED or 600)


def known() -> Known:
    """The rows of the scene, by the names of the fields that mean them."""
    datasets = list(Dataset.objects.values_list("full_name", flat=True))
    tests = list(DataTest.objects.order_by("-pk").values_list("pk", flat=True))
    rows = [Incident.objects, Report.objects, Run.objects, DataTest.objects]
    ids = [pk for found in rows for pk in found.order_by("-pk").values_list("pk", flat=True)[:5]]
    return Known(
        values={
            "id": ids,
            "dataset": datasets,
            "datasets": datasets,
            "name": [*datasets, *TEXTS],
            "data_test": tests,
            "offered": tests,
            "window": [*WINDOWS, *WINDOWS[:2] * 5],
            "sql": QUERIES,
            "assertion": ASSERTIONS,
            "datacenter": ["sea", "sea", "sea", "", "nowhere"],
            "from": ["2026-03-01T00:00Z", "0001-01-01T00:00Z"],
            "to": ["2026-03-10T00:00Z", "2026-03-10T00:00Z", "9999-12-31T23:59Z"],
            "text": TEXTS,
            "reason": TEXTS,
            "description": TEXTS,
            "key": TEXTS,
            "sustain": ["4h", "0s", "1w"],
            "schedule": ["partition", "0 6 * * *"],
            "pipeline": TEXTS,
        }
    )


def table(tally: Tally) -> str:
    """How the requests of each operation ended."""
    classes: Counter[tuple[str, str]] = Counter()
    for (operation, status), count in tally.ends.items():
        classes[operation, f"{status // 100}xx"] += count
    ends = sorted({end for _, end in classes})
    rows = [f"{'':>45}{''.join(f'{end:>8}' for end in ends)}"]
    for operation in sorted({operation for operation, _ in classes}):
        rows.append(f"{operation:>45}{''.join(f'{classes[operation, end]:>8,}' for end in ends)}")
    return "\n".join(rows)


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """The connection stays open between requests, as the test's transaction lives in it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.timeout(4 * 3600)
@pytest.mark.usefixtures("_one_connection")
@pytest.mark.django_db
def test_the_api_answers_every_request_in_its_own_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ByCost, "THROTTLE_RATES", dict.fromkeys(RATES, "1000/s"))
    set_scene()
    for dataset in Dataset.objects.all():
        DataTestFactory.create_batch(2, dataset=dataset)
        ReportFactory.create(dataset=dataset)
    user = User.objects.create_superuser("root")

    def headers() -> dict[str, str]:
        # a new token each time: the last request may have logged out
        get_token_model().objects.filter(user=user).delete()
        return {"Authorization": f"Token {get_token_model().objects.create(user)[1]}"}

    began = time.monotonic()
    tally = fuzz(requests=REQUESTS, known=known(), headers=headers, start=START)
    with capsys.disabled():
        print(f"\n{tally.count:,} requests in {time.monotonic() - began:.0f} s\n{table(tally)}")
    faults = "\n\n".join(f"{operation}: {said}" for (operation, _), said in tally.faults.items())
    assert not faults, faults
    assert len({operation for operation, status in tally.ends if status < 300}) >= 15
