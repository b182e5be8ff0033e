"""``assay gate --override``: a user opens the gate from a shell."""

import json
from typing import Any

import pytest

from assay.models import AuditEntry, DataTest
from incident_manager.models import GateOverride
from tests.factories import HOUR, NOW, day
from tests.fixture_types import Capture
from tests.integration.commands.answers import ended
from tests.integration.story import due, fail, new_test, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")


@pytest.fixture
def bad() -> DataTest:
    start(due(MONDAY))
    test = new_test(severity="hard", sustain=0 * HOUR)
    fail(test, MONDAY)
    return test


def gate(test: DataTest, capsys: Capture, *options: str) -> tuple[int, Any]:
    code, out, _ = ended(capsys, "gate", test.dataset.full_name, "--window", "2026-03-09", "--json", *options)
    return code, json.loads(out) if out else None


def test_an_override_turns_block_into_warn_and_is_in_the_audit(bad: DataTest, capsys: Capture) -> None:
    assert gate(bad, capsys)[0] == 1
    until = (NOW + 12 * HOUR).isoformat()
    code, answer = gate(bad, capsys, "--pipeline", "report", "--override", "It can live with it.", "--until", until)
    assert (code, answer["decision"]) == (2, "warn")
    assert "It can live with it." in answer["reasons"][0]["text"]
    assert gate(bad, capsys, "--pipeline", "report")[0] == 2
    assert gate(bad, capsys)[0] == 1
    row, entry = GateOverride.objects.get(), AuditEntry.objects.get(action="gate_override.create")
    assert (entry.actor, entry.via, entry.object_id) == (row.author, "command", str(row.pk))


@pytest.mark.parametrize(
    "options",
    [
        ("--until", "2026-03-12T00:00:00Z"),
        ("--override", " "),
        ("--override", "why", "--until", "2027-01-01"),
        ("--override", "why", "--until", "soon"),
    ],
)
def test_an_override_that_must_not_be_exits_with_3(bad: DataTest, capsys: Capture, options: tuple[str, ...]) -> None:
    assert gate(bad, capsys, *options) == (3, None)
    assert not GateOverride.objects.exists()
