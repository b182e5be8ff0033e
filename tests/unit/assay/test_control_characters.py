"""What others send cannot begin a line of the logs."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from assay.edge.control_characters import visible
from assay.edge.logs import configure_logs

HOSTILE = "bob\r\n2026-03-10T00:00:00Z [info     ] all is well\x1b[2K\u2028\u202e\x85"


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """What is logged goes to the test's standard error while it runs."""
    kept, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield capsys
    logging.getLogger().handlers[:], logging.getLogger().level = kept, level


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("library", ["structlog", "logging"])
def test_a_hostile_text_stays_on_its_line(told: pytest.CaptureFixture[str], as_json: bool, library: str) -> None:
    configure_logs(level="INFO", as_json=as_json)
    if library == "structlog":
        structlog.get_logger("x").warning(f"login of {HOSTILE}", name=HOSTILE)
    else:
        logging.getLogger("x").warning("login of %s", HOSTILE)
    written = told.readouterr().err
    assert len(written.splitlines()) == 1
    assert not set(written.strip()) & set("\r\n\x1b\u2028\u202e\x85")


@pytest.mark.logs_a_failure
def test_a_traceback_keeps_its_lines_and_none_begins_as_ours(told: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="INFO", as_json=False)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        structlog.get_logger("x").exception("failed")
    first, *rest = told.readouterr().err.rstrip("\n").split("\n")
    assert "failed" in first
    assert len(rest) > 3
    assert all(line.startswith("    ") for line in rest)


def test_plain_texts_stay_as_they_are() -> None:
    assert visible("Zürich 🚕 raw.trips") == "Zürich 🚕 raw.trips"
    assert visible("a\nb\u2029") == "a\\x0ab\\u2029"
