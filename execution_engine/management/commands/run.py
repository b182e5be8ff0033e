"""``assay run``: run the tests of a dataset now, or those of many over their past."""

import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import F
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay import clock
from assay.catalog.selectors import by_name, latest_ended, window_from_text
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, wait_for
from assay.command_line.exit_codes import ExitCode, FailOn
from assay.config import config
from assay.database.statements import in_parts
from assay.models import Category, Dataset, Severity
from assay.queue.drain import drain
from assay.time.windows import UnableToReadWindow
from execution_engine.models import Run, RunReason
from execution_engine.outcome import WITHOUT_ROWS, Outcome, Reason
from execution_engine.runs.rows_samples import rows_samples
from execution_engine.runs.shown_results import Veil
from execution_engine.services import UnableToRequest, cost_of, last_partitions, obsolete_ids, read_as_of, request_all

MANY = 3  # windows from which on the table leaves out what held
GLOB = frozenset("*?[")  # what a pattern of names has, and no name
MANY_RUNS = 50  # from which on the wait looks less often
LEARNING = "learning"  # the word for a run whose past is too short yet


class Command(Base):
    """Manual runs over one window, or a back-fill of many, worked in this process or, with a broker, by the workers."""

    help = (
        "Run the live tests of a dataset over one partition now, or over each of many by itself, the newest first, and "
        "judge them; with --last of all datasets whose names fit a pattern, such as '*'. What is found of many is of "
        "the past: it pages nobody."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which dataset, window and tests."""
        parser.add_argument("dataset", help="full name, such as raw.trips, or with --last a pattern such as 'raw.*'")
        over = parser.add_mutually_exclusive_group()
        over.add_argument(
            "--window",
            help="a partition key, or START/END in ISO 8601 of one or many partitions (default: the last one ended)",
        )
        over.add_argument("--last", type=int, metavar="N", help="the last N partitions that have ended")
        parser.add_argument(
            "--data-test",
            action="append",
            default=[],
            help="only this test; may be repeated. A test of the whole table runs over all of it",
        )
        parser.add_argument(
            "--as-of",
            metavar="RUN|INSTANT",
            help="read the snapshots that a run has read, by its id, or those of an instant in ISO 8601 (UTC unless it "
            "says otherwise); the result is told to you alone",
        )
        parser.add_argument(
            "--fail-on", choices=FailOn.CHOICES, default="warn", help="from which result on to exit above 0"
        )
        parser.add_argument("--timeout", type=float, default=600, help="seconds to wait for the workers (default 600)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every run with its outcome."""
        request = _request_many if GLOB & set(options["dataset"]) else _request
        name, window, requested = request(options, clock.now())
        runs = [run.pk for run in requested]
        _await(runs, options["timeout"])
        done = [
            run
            for part in in_parts(_judged_last(runs))
            for run in Run.objects.filter(pk__in=part).select_related("data_test__dataset", "revision")
        ]
        done.sort(key=lambda run: (-run.window_start.timestamp(), run.data_test.name))
        code = FailOn.apply(_code(done), options["fail_on"])
        covered = list(dict.fromkeys(run.window for run in done))
        windows = " and ".join(part.text for part in covered) if len(covered) < MANY else window
        samples = rows_samples(
            {(run.data_test_id, run.window) for run in done if run.revision.keep_rows}, Veil(clock.now())
        )
        rows = [
            {
                "id": run.pk,
                "dataset": run.data_test.dataset.full_name,
                "window": run.window.text,
                "data_test": run.data_test.name,
                "outcome": run.outcome,
                "error_reason": run.error_reason,
                "sentence": run.sentence,
                "value": run.value,
                "exact": run.exact or None,
                "findings": run.findings,
                "snapshots": run.snapshots,
                "failing_rows": [sample.text for sample in samples if sample.run == run.pk],
            }
            for run in done
        ]
        return code, {"dataset": name, "window": windows, "runs": rows}

    def show(self, console: Console, result: Any) -> None:
        """A table of the outcomes; of many windows those that did not hold, and how many did."""
        if GLOB & set(result["dataset"]):
            _show_many(console, result)
            return
        windows = {row["window"] for row in result["runs"]}
        is_one = len(windows) < MANY
        columns = ("test", "outcome", "what was seen") if is_one else ("window", "test", "outcome", "what was seen")
        table = Table(*columns, title=f"{result['dataset']} over {result['window']}")
        rows = [row for row in result["runs"] if is_one or _word_of(row) not in (Outcome.HELD, LEARNING)]
        for row in rows:
            cells = (escape(row["data_test"]), _word_of(row), escape(row["sentence"]))
            table.add_row(*cells if is_one else (row["window"], *cells))
        if rows:
            console.print(table)
        snapshots = {of: name for row in reversed(result["runs"]) for of, name in row["snapshots"].items()}
        for of, name in snapshots.items():
            console.print(f"read: {name} of {of}", soft_wrap=True, highlight=False, markup=False)
        for name, text in ((row["data_test"], text) for row in rows for text in row["failing_rows"]):
            console.print(escape(f"{name}: {text}"), soft_wrap=True)
        if not is_one:
            console.print(f"{len(result['runs'])} runs over {len(windows)} partitions: {_count_outcomes(result)}")


def _show_many(console: Console, result: Mapping[str, Any]) -> None:
    """Each test that is broken somewhere, with the newest of these partitions, and how many runs came to what."""
    broken: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in result["runs"]:
        if row["outcome"] == Outcome.BROKEN:
            broken[row["dataset"], row["data_test"]].append(row)
    table = Table(
        "dataset", "test", "broken", "newest", "what was seen", title=f"{result['dataset']} over {result['window']}"
    )
    for (dataset, test), rows in sorted(broken.items()):
        newest = rows[0]["window"].partition("/")[0].removesuffix("T00:00:00Z")
        table.add_row(dataset, escape(test), f"{len(rows)}", newest, escape(rows[0]["sentence"]))
    if broken:
        console.print(table)
    number = len({row["dataset"] for row in result["runs"]})
    of = "1 dataset" if number == 1 else f"{number} datasets"
    console.print(f"{len(result['runs'])} runs of {of}: {_count_outcomes(result)}", soft_wrap=True)


def _count_outcomes(result: Mapping[str, Any]) -> str:
    counts = Counter(_word_of(row) for row in result["runs"])
    return ", ".join(f"{counts[word]} {word}" for word in (*Outcome, LEARNING) if word != LEARNING or counts[word])


def _word_of(row: Mapping[str, Any]) -> str:
    """The outcome; of a test whose past is still too short it is no error to look after."""
    return LEARNING if row["error_reason"] == Reason.WARMING_UP else str(row["outcome"])


def _request(options: Mapping[str, Any], now: datetime) -> tuple[str, str, Sequence[Run]]:
    """The runs that the options ask for; raises UnableToRun where there are none."""
    dataset = by_name(options["dataset"])
    if dataset is None:
        raise UnableToRun(f"the catalog has no dataset {options['dataset']!r}; `assay sync` reads it")
    try:
        if options["last"] is not None:
            window = last_partitions(dataset, options["last"], now)
        else:
            window = window_from_text(dataset, options["window"]) if options["window"] else latest_ended(dataset, now)
        as_of = read_as_of(options["as_of"], dataset) if options["as_of"] else None
        cost = cost_of(dataset, window, now, names=options["data_test"])
        if cost is not None and cost.partitions > 1:
            print(f"assay: {cost}, the newest partition first; it pages nobody", file=sys.stderr, flush=True)
        requested = request_all(
            dataset, window, names=options["data_test"], occasion=uuid.uuid4().hex, now=now, as_of=as_of
        )
    except (UnableToReadWindow, UnableToRequest) as unable:
        raise UnableToRun(str(unable)) from None
    if not requested.runs:
        obsolete = ["its standard tests rest: it is obsolete"] if obsolete_ids([dataset]) else []
        reasons = "; ".join([*obsolete, *(f"{name}: {why}" for name, why in requested.left_out.items())])
        raise UnableToRun(
            f"{dataset.full_name} has no test to run over {window.text}{': ' if reasons else ''}{reasons}. "
            "`assay plan` tells its tests"
        )
    return dataset.full_name, window.text, requested.runs


def _request_many(options: Mapping[str, Any], now: datetime) -> tuple[str, str, Sequence[Run]]:
    """The runs over the past of all datasets whose names fit a pattern, the most critical first; raises UnableToRun."""
    pattern, number = options["dataset"], options["last"]
    if number is None or options["as_of"]:
        raise UnableToRun("a pattern of datasets needs --last, such as --last 28, and takes no --as-of")
    datasets = [
        dataset
        for dataset in Dataset.objects.filter(missing_since=None).order_by("tier", "full_name")
        if dataset.partitioning is not None and fnmatchcase(dataset.full_name.lower(), pattern.lower())
    ]
    occasion, runs = uuid.uuid4().hex, list[Run]()
    try:
        windows = [(dataset, last_partitions(dataset, number, now)) for dataset in datasets]
    except UnableToRequest as unable:
        raise UnableToRun(str(unable)) from None
    for dataset, window in windows:
        try:
            names = options["data_test"]
            runs += request_all(dataset, window, names=names, occasion=occasion, now=now).runs
        except UnableToRequest as unable:
            print(f"assay: {dataset.full_name} is left out: {unable}", file=sys.stderr)
    if not runs:
        raise UnableToRun(f"no dataset that fits {pattern!r} has a test to run over its last partitions")
    print(f"assay: {len(runs):,} runs, the newest partition first; they page nobody", file=sys.stderr, flush=True)
    return pattern, f"the last {number} partitions", runs


def _await(runs: list[int], timeout: float) -> None:
    """Wait for the runs, or for those that a new revision of their tests has made of them."""

    def waiting() -> int:
        """How many are not judged, after what this process can do for it."""
        if not config().broker_url:
            drain()
        return sum(Run.objects.filter(pk__in=part, judged_at=None).count() for part in in_parts(_judged_last(runs)))

    left = wait_for(
        waiting,
        is_settled=lambda number: not number,
        describe=lambda number: f"{len(runs) - number} of {len(runs)} runs are judged",
        longest=timedelta(seconds=timeout),
        poll=timedelta(seconds=0.2 if len(runs) < MANY_RUNS else 2),
    )
    if left:
        raise UnableToRun(
            f"{left} of {len(runs)} runs are not judged after {timeout:g} s; they go on without this command. "
            "`assay doctor` tells whether workers are up"
        )


def _judged_last(runs: list[int]) -> list[int]:
    """The runs; in the place of one that a newer revision of its test overtook, the run of that revision."""
    overtaken = Run.objects.exclude(revision=F("data_test__revision")).select_related("data_test")
    old = {run.pk: run for part in in_parts(runs) for run in overtaken.filter(pk__in=part, judged_at__isnull=False)}
    later = {
        pk: Run.objects.filter(
            data_test=run.data_test,
            revision=run.data_test.revision_id,
            window_start=run.window_start,
            window_end=run.window_end,
            reason=RunReason.REVISION,
        )
        .values_list("pk", flat=True)
        .first()
        for pk, run in old.items()
    }
    return [later.get(pk) or pk for pk in runs]


def _code(runs: list[Run]) -> ExitCode:
    """The exit code; a test that still learns has not failed, as on the first partitions of a table.

    Nor has one that finds no rows where the test of freshness says so.
    """
    broken = [run for run in runs if run.outcome == Outcome.BROKEN]
    if any(run.revision.severity == Severity.HARD for run in broken):
        return ExitCode.FAILED
    late_windows = {
        (run.data_test.dataset_id, run.window) for run in broken if run.data_test.category == Category.FRESHNESS
    }
    errors = [run for run in runs if run.outcome == Outcome.ERROR and run.error_reason != Reason.WARMING_UP]
    if any(
        run.error_reason not in WITHOUT_ROWS or (run.data_test.dataset_id, run.window) not in late_windows
        for run in errors
    ):
        return ExitCode.UNABLE
    return ExitCode.WARNED if broken else ExitCode.HELD
