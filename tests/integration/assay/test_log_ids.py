"""Every line that is logged while a row is worked tells whose it is."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import LogCapture

from assay import clock
from assay.models import Dataset
from assay.queue.claims import finish, log_ids, work
from execution_engine.models import Scan
from tests.factories import NOW, DatasetFactory, RunFactory, StandingFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """What is logged."""
    capture, kept = LogCapture(), structlog.get_config()
    structlog.configure(processors=[merge_contextvars, capture], cache_logger_on_first_use=False)
    yield capture.entries
    structlog.configure(**kept)


def test_what_a_stage_logs_bears_its_name_and_the_id_of_the_row_and_nothing_after_it(lines: list[Any]) -> None:
    clock.simulate(NOW)
    row = DatasetFactory.create(reconcile_at=NOW)
    log = structlog.get_logger()

    def handle(row: Dataset, now: datetime) -> None:
        log.info("seen")
        finish(row, reconcile_at=None)

    work("reconcile", handle)
    log.info("over")
    seen, over = lines
    assert (seen["stage"], seen["dataset"]) == ("reconcile", row.pk)
    assert over.keys() == {"event", "log_level"}


def test_a_run_is_found_by_its_own_id_and_a_flip_by_that_of_its_run() -> None:
    run = RunFactory.create()
    standing = StandingFactory.create()
    flip = standing.flips.model(pk=3, run=run, standing=standing)
    assert log_ids("judge", run) == {"stage": "judge", "run": run.pk}
    assert log_ids("handle", flip) == {"stage": "handle", "run": run.pk, "flip": 3}
    assert log_ids("scan", Scan(pk=4)) == {"stage": "scan", "scan": 4}
