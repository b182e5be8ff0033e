"""What a command answers, to people and to programs."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from tests.fixture_types import Capture


def ended(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """Its exit code, what it printed, and its errors."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        call_command(*words)
    return int(str(left.value.code)), *capsys.readouterr()


def printed(capsys: Capture, *words: str, code: int) -> str:
    """All that a person reads."""
    exit_code, out, error = ended(capsys, *words)
    assert exit_code == code, out + error
    return out + error


def answered(capsys: Capture, *words: str, code: int = 0) -> Any:
    """The answer as JSON."""
    exit_code, out, error = ended(capsys, *words, "--json")
    assert exit_code == code, out + error
    return json.loads(out)
