"""``assay challenge``: how much of what can go wrong would this table's tests catch?"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.progress import Progress

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset
from execution_engine import storage
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.protocol import Table
from execution_engine.file_windows import (
    add_window_arguments,
    dataset_named,
    hidden_columns,
    windows_of_dataset,
    windows_of_files,
)
from execution_engine.novelty.days import LAST_BATCHES, day_of
from execution_engine.verification.checks_file import ChecksFile, UnableToReadChecks, read_checks
from execution_engine.verification.constraints import AssertionConstraint
from execution_engine.verification.data import name_of, names_files
from test_generator.challenge.challenge import ChallengedWindow, Challenger, Verifier
from test_generator.challenge.injector import ErrorKind
from test_generator.challenge.live_tests import (
    CopyTest,
    ForeignInputs,
    Moment,
    Upstreams,
    has_past,
    live_tests,
    moment_of,
)
from test_generator.challenge.report import as_json, show

FIRST_DAY = datetime(2000, 1, 1, tzinfo=UTC)  # of windows that no day names: only their order counts


class Command(Base):
    """What this table's tests catch, and what nothing does."""

    help = (
        "Spoil copies of a table's last windows in 20 ways, and say what its live tests catch, what suggestions and "
        "novelty would catch, and which of them raise false alarms. Nothing is kept."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which windows, which errors, and how much is enough."""
        add_window_arguments(parser)
        parser.add_argument(
            "--windows", type=_positive, default=3, metavar="N", help="how many are spoilt, the last ones (default: 3)"
        )
        parser.add_argument(
            "--kinds", nargs="+", type=ErrorKind, default=list(ErrorKind), metavar="KIND",
            help=f"default: all of {', '.join(ErrorKind)}",
        )  # fmt: skip
        parser.add_argument("--seed", type=int, default=1, help="of what chance decides (default: 1)")
        parser.add_argument("--checks", type=Path, metavar="FILE", help="checks in YAML, as tests beside the live ones")
        parser.add_argument(
            "--at-least", type=_share, metavar="SHARE", help="exit with 1 where tests catch less, such as 0.6"
        )

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """What was caught; exit 1 where tests catch less than ``--at-least``."""
        name = options["table"]
        dataset = None
        if not names_files(name):
            super().prepare()
            dataset = dataset_named(name)
        try:
            with TemporaryDirectory(prefix="assay-challenge-") as folder:
                result = _challenged(dataset, Path(folder), options)
        except UnableToListFiles as error:
            raise UnableToRun(str(error.failure.detail)) from None
        share = result["caught"]["tests_share"]
        if options["at_least"] is not None and share is None:
            raise UnableToRun(f"{name} has no test that can be judged on a copy: --at-least has nothing to count")
        code = ExitCode.HELD if share is None or share >= (options["at_least"] or 0) else ExitCode.FAILED
        return code, result

    def show(self, console: Console, result: Any) -> None:
        """Tables by kind, by column and by suggestion; then what was not judged."""
        show(console, result)


def _challenged(dataset: Dataset | None, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    written = ChecksFile(checks=(), lines=())
    if options["checks"]:
        try:
            written = read_checks(options["checks"])
        except UnableToReadChecks as error:
            raise UnableToRun(str(error)) from None
    partitioning = dataset.partitioning if dataset else None
    tests, unjudged = live_tests(dataset) if dataset and partitioning else ([], {})
    upstreams = Upstreams(folder=folder, partitioning=partitioning) if partitioning else None

    def others(inputs: ForeignInputs, moment: Moment) -> dict[str, Table | Path]:
        tables: dict[str, Table | Path] = {name: Path(where) for name, where in written.tables.items()}
        return tables | dict(upstreams(inputs, moment) if upstreams else {})

    challenger = Challenger(
        verifier=Verifier(
            folder=folder,
            table=dataset.full_name if dataset else name_of(options["table"]),
            engine=storage.engine_of_storage("parquet"),
            others=others,
        ),
        tests=[*tests, *_copy_tests(written)],
        kinds=options["kinds"],
        seed=options["seed"],
        fixed=[dataset.partition_column] if dataset and dataset.partition_column else [],
    )
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=options["json"] or not console.is_terminal) as progress:
        task = progress.add_task("judging spoilt copies", total=None)
        challenge = challenger.run(
            _windows(dataset, options),
            options["windows"],
            lambda done, total: progress.update(task, completed=done, total=total),
        )
    if not challenge.sound:
        raise UnableToRun(f"{options['table']} has no windows with rows to spoil")
    challenge.unjudged = {**unjudged, **challenge.unjudged}
    names = [test.name for test in challenger.tests]
    return as_json(challenge, table=options["table"], seed=options["seed"], tests=names)


def _windows(dataset: Dataset | None, options: dict[str, Any]) -> Iterator[ChallengedWindow]:
    """Those that have rows."""
    if dataset is None:
        windows = windows_of_files(options)
    else:
        windows = windows_of_dataset(dataset, LAST_BATCHES + options["windows"], options, in_full=True)
    for number, window in enumerate(windows):
        if not window.rows.num_rows:
            continue
        if dataset and dataset.partitioning:
            moment = moment_of(dataset.partitioning.window(window.key), dataset.partitioning)
        elif window.start is None:
            moment = Moment(key=window.key, at=FIRST_DAY + timedelta(days=number))
        else:
            moment = Moment(key=window.key, at=datetime.fromtimestamp(window.start, UTC))
        yield ChallengedWindow(
            moment=moment,
            rows=window.rows,
            hidden=hidden_columns(dataset, window.rows.column_names) if dataset else (),
            start=window.start,
            day=None if window.day is None else day_of(window.day),
        )


def _copy_tests(written: ChecksFile) -> Iterator[CopyTest]:
    for check in written.checks:
        for constraint in check.constraints:
            part = replace(check, constraints=(constraint,))
            is_assertion = isinstance(constraint, AssertionConstraint)
            past = is_assertion and has_past(constraint.assertion)  # type: ignore[attr-defined]
            yield CopyTest(name=constraint.text, check=lambda _, part=part: part, has_past=past)  # type: ignore[misc]


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share
