"""``assay run``: run the tests of a dataset now."""

import time
import uuid
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay import clock
from assay.catalog.asked_window import asked_window, latest_ended
from assay.catalog.selectors import by_name
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode, FailOn
from assay.config import config
from assay.models import Dataset, Severity
from assay.queue.drain import drain
from assay.time.windows import UnableToReadWindow, Window
from execution_engine.models import Run
from execution_engine.outcome import Outcome
from execution_engine.services import request_all


class Command(Base):
    """Manual runs over one window, worked in this process or, with a broker, by the workers."""

    help = "Run the live tests of a dataset over one window now, and judge them."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which dataset, window and tests."""
        parser.add_argument("dataset", help="full name, such as raw.trips")
        parser.add_argument("--window", help="a partition key, or START/END in ISO 8601 (default: the last one ended)")
        parser.add_argument(
            "--data-test",
            action="append",
            default=[],
            help="only this test; may be repeated. A test of the whole table runs over all of it",
        )
        parser.add_argument(
            "--fail-on", choices=FailOn.CHOICES, default="warn", help="from which result on to exit above 0"
        )
        parser.add_argument("--timeout", type=float, default=600, help="seconds to wait for the workers (default 600)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every run with its outcome."""
        now = clock.now()
        dataset = by_name(options["dataset"])
        if dataset is None:
            raise UnableToRun(f"the catalog has no dataset {options['dataset']!r}; `assay sync` reads it")
        window = _window(dataset, options["window"], now)
        runs = _request(dataset, window, options["data_test"], now)
        _await(runs, options["timeout"])
        done = list(Run.objects.filter(pk__in=runs).select_related("data_test", "revision").order_by("data_test__name"))
        code = FailOn.apply(_code(done), options["fail_on"])
        windows = " and ".join(dict.fromkeys(run.window.text for run in done))
        return code, {"dataset": dataset.full_name, "window": windows, "runs": [_row(run) for run in done]}

    def show(self, console: Console, result: Any) -> None:
        """A table of the outcomes."""
        table = Table("test", "outcome", "what was seen", title=f"{result['dataset']} over {result['window']}")
        for row in result["runs"]:
            table.add_row(escape(row["data_test"]), row["outcome"], escape(row["sentence"]))
        console.print(table)


def _window(dataset: Dataset, text: str | None, now: datetime) -> Window:
    try:
        return asked_window(dataset, text) if text else latest_ended(dataset, now)
    except UnableToReadWindow as error:
        raise UnableToRun(str(error)) from None


def _request(dataset: Dataset, window: Window, names: list[str], now: datetime) -> list[int]:
    requested = request_all(dataset, window, names=names, occasion=uuid.uuid4().hex, now=now)
    if not requested.runs:
        reasons = "; ".join(f"{name}: {why}" for name, why in requested.left_out.items())
        raise UnableToRun(
            f"{dataset.full_name} has no test to run over {window.text}{': ' if reasons else ''}{reasons}. "
            "`assay plan` tells its tests"
        )
    return [run.pk for run in requested.runs]


def _await(runs: list[int], timeout: float) -> None:
    if not config().broker_url:
        drain()
    deadline = time.monotonic() + timeout
    while Run.objects.filter(pk__in=runs, judged_at__isnull=True).exists():
        if time.monotonic() > deadline:
            raise UnableToRun(f"runs are not judged after {timeout:g} s: `assay doctor` tells whether workers are up")
        time.sleep(0.2)


def _code(runs: list[Run]) -> ExitCode:
    broken = [run for run in runs if run.outcome == Outcome.BROKEN]
    if any(run.revision.severity == Severity.HARD for run in broken):
        return ExitCode.FAILED
    if any(run.outcome == Outcome.ERROR for run in runs):
        return ExitCode.UNABLE
    return ExitCode.WARNED if broken else ExitCode.HELD


def _row(run: Run) -> dict[str, Any]:
    return {
        "data_test": run.data_test.name,
        "outcome": run.outcome,
        "sentence": run.sentence,
        "value": run.value,
        "exact": run.exact or None,
        "findings": run.findings,
    }
