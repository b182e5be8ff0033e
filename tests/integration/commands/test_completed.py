"""``assay completed`` and ``assay gate --wait``: what a shell step tells and waits for, on real files."""

import json
import shutil
from pathlib import Path
from threading import Timer
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from assay import clock
from assay.models import AuditEntry, DataChange, Dataset
from assay.queue.drain import drain
from tests.factories import HOUR, DatasetFactory, DataTestFactory, day
from tests.fixture_types import Capture
from tests.integration.commands.answers import ended
from tests.integration.story import due

pytestmark = pytest.mark.django_db(transaction=True)

MONDAY = day("2026-03-09")
NAME = "raw.fares of “Zürich”"


def write(folder: Path, rows: int) -> None:
    part = folder / "datestr=2026-03-09"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    pq.write_table(pa.table({"id": list(range(rows))}), part / "part.parquet")


@pytest.fixture
def fares(tmp_path: Path) -> tuple[Dataset, Path]:
    """A hard test of real files that demands 10 rows a day."""
    clock.simulate(due(MONDAY) + HOUR)
    dataset = DatasetFactory.create(name=NAME.removeprefix("raw."), tier=1, columns=[{"name": "id", "type": "bigint"}])
    dataset.replicas.update(location=str(tmp_path / "lake"))
    DataTestFactory.create(dataset=dataset, assertion="row_count() >= 10", severity="hard")
    return dataset, tmp_path / "lake"


def run(capsys: Capture, *words: str) -> tuple[int, Any, str]:
    code, out, error = ended(capsys, *words, "--json")
    return code, json.loads(out) if out else None, error


@pytest.mark.parametrize(("rows", "code", "decision"), [(12, 0, "allow"), (9, 1, "block")])
def test_what_a_pipeline_completes_is_judged_and_answered_as_the_api_does(
    fares: tuple[Dataset, Path],
    capsys: Capture,
    admin_user: User,
    rows: int,
    code: int,
    decision: str,
) -> None:
    dataset, lake = fares
    write(lake, rows)
    told = run(capsys, "completed", "load fares", "--output", f"{NAME}=2026-03-09", "--rows", str(rows), "--run", "r1")
    assert told[0] == code
    assert (told[1]["judged"], told[1]["decision"]) == (True, decision)
    change = DataChange.objects.get()
    assert (change.dataset, change.window, change.rows, change.run) == (dataset, MONDAY, rows, "r1")
    entry = AuditEntry.objects.get(action="pipeline.completed")
    assert (entry.via, entry.object_id) == ("command", "load fares")
    api = APIClient()
    api.force_authenticate(admin_user)
    body = {"outputs": [{"dataset": NAME, "window": "2026-03-09", "rows": rows}], "run": "r1"}
    api.post("/api/v1/pipelines/load fares/completed", body, format="json")
    drain()
    answered = api.get("/api/v1/pipelines/load fares/completed").json()
    assert answered["reasons"] == told[1]["reasons"]


def test_a_gate_that_waits_lets_go_once_the_data_is_mended(fares: tuple[Dataset, Path], capsys: Capture) -> None:
    _, lake = fares
    write(lake, 9)
    asked = ("gate", NAME, "--window", "2026-03-09", "--wait", "20s", "--poll", "0.2s")
    assert run(capsys, "gate", NAME, "--window", "2026-03-09")[0] == 1

    def mend() -> None:
        write(lake, 12)
        clock.simulate(due(MONDAY) + 3 * HOUR)  # when a broken window is looked at again

    mending = Timer(0.5, mend)
    mending.start()
    code, answer, said = run(capsys, *asked)
    mending.join()
    assert (code, answer["decision"]) == (0, "allow")
    assert "waiting" in said
    assert "custom is broken" in said


def test_a_wait_that_is_over_exits_as_the_gate_does(fares: tuple[Dataset, Path], capsys: Capture) -> None:
    write(fares[1], 9)
    code, answer, _ = run(capsys, "gate", NAME, "--window", "2026-03-09", "--wait", "0.5s", "--poll", "0.2s")
    assert (code, answer["decision"]) == (1, "block")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gate", NAME, "--poll", "1s"), "give --wait"),
        (("gate", NAME, "--datacenter", "nowhere"), "no replica in 'nowhere'"),
        (("completed", "load", "--output", NAME), "DATASET=WINDOW"),
        (("completed", "load", "--output", "raw.none=2026-03-09"), "no dataset 'raw.none'"),
        (("completed", "load", "--output", f"{NAME}=monday"), "key format"),
        (("completed", "x" * 201, "--output", f"{NAME}=2026-03-09"), "1 to 200 characters"),
        (("completed", "load", "--output", f"{NAME}=2026-03-09", "--rows", "-1"), "--rows"),
        (("completed", "load", *(("--output", f"{NAME}=2026-03-09") * 51)), "at most 50 outputs"),
    ],
)
def test_what_cannot_be_done_says_why_and_exits_with_3(
    fares: tuple[Dataset, Path], capsys: Capture, words: tuple[str, ...], says: str
) -> None:
    code, answer, said = run(capsys, *words)
    assert (code, answer) == (3, None)
    assert says in said
    assert not DataChange.objects.exists()
