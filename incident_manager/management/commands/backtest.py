"""``assay backtest``: what a test would have raised over the past."""

import sys
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay import clock
from assay.command_line.command import BARE_DATE, UnableToRun, end_of_range, length, wait_for
from assay.command_line.command import Command as Base
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.models import Category, DataTest, Severity
from assay.queue.drain import drain
from assay.time.durations import format_duration
from assay.time.windows import place_end
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import Backtest, as_json
from incident_manager.management.named import named_dataset
from incident_manager.services import UnableToBacktest, as_revised, backtest
from test_generator.services import UnableToWrite, draft

USUAL_RANGE = timedelta(days=28)
MOST_WINDOWS = 40  # that are printed; --json has all
MARKS = {"measured_late": "measured long after it was due", "changed_since": "written again before it was measured"}


class Command(Base):
    """What a test would have raised, before it can wake anybody."""

    help = "Say what a test, written or not, would have raised over the past. It opens nothing and tells nobody."

    def add_arguments(self, parser: CommandParser) -> None:
        """A test or an assertion, the range, and how it is judged."""
        parser.add_argument("dataset", help="full name, such as raw.trips")
        parser.add_argument("test", nargs="?", help="the name of a test of the dataset")
        parser.add_argument("--revision", type=int, help="of the test, by its number (default: the newest)")
        parser.add_argument("--assertion", help="an assertion that no test has yet, such as 'row_count() > 0'")
        parser.add_argument("--category", choices=Category.values, default=Category.CUSTOM.value)
        parser.add_argument("--severity", choices=Severity.values)
        parser.add_argument(
            "--from", dest="start", type=end_of_range, help=f"{BARE_DATE} (default: 28 days before --to)"
        )
        parser.add_argument("--to", dest="end", type=end_of_range, help="ISO 8601 (default: now)")
        parser.add_argument(
            "--sustain", type=length, help="fails after so long, such as 4h (default: as the test says)"
        )
        parser.add_argument("--grace", type=length, help="notify after so long (default: as the dataset says)")
        parser.add_argument(
            "--as-of-due", action="store_true", help="take each window from the snapshot of when it was due"
        )
        parser.add_argument("--measure", action="store_true", help="read what was never measured, and wait for it")
        parser.add_argument(
            "--timeout", type=length, default=timedelta(minutes=10), help="wait for them so long (default 10m)"
        )

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """All that the backtest found; exit 3 where nothing could be judged."""
        now = clock.now()
        time_zone = named_dataset(options["dataset"]).time_zone
        end = place_end(options["end"], time_zone) if options["end"] else now
        request: dict[str, Any] = {
            "start": place_end(options["start"], time_zone) if options["start"] else end - USUAL_RANGE,
            "end": end,
            "sustain": options["sustain"],
            "grace": options["grace"],
            "as_of_due": options["as_of_due"],
            "now": now,
        }
        try:
            test = as_revised(_test(options), options["revision"])
            report = backtest(test, measure=options["measure"], **request)
            if options["measure"] and report.missing:
                report = _await(test, request, options["timeout"])
        except UnableToBacktest as error:
            raise UnableToRun(str(error)) from None
        result = as_json(report, Veil(now))
        return (ExitCode.HELD if result["held"] + result["broken"] else ExitCode.UNABLE), result

    def show(self, console: Console, result: Any) -> None:
        """What it would have raised, its incidents, other bounds, and what is not known."""
        name = result["test"] or result["assertion"]
        console.print(f"[bold]{escape(result['dataset'])}[/bold] {escape(name)}", soft_wrap=True)
        console.print(
            f"{result['from']} to {result['to']}, fails after {result['sustain']}, notify after {result['grace']}"
        )
        console.print(
            f"{_counted(result['held'], 'window')} held, {result['broken']} broke, "
            f"{result['unjudged']} could not be judged, {len(result['not_measured'])} were never measured, "
            f"{len(result['cannot_be_known'])} cannot be known"
        )
        console.print(
            f"{_counted(result['alerts'], 'incident')} ({_number(result['alerts_a_week'])} a week), "
            f"{result['notices']} told ({_number(result['notices_a_week'])} a week), "
            f"precision {_share(result['precision'])}, recall {_share(result['recall'])}"
        )
        for incident in result["incidents"]:
            windows, muted_by = incident["windows"], incident["muted_by"]
            of = windows[0] if len(windows) == 1 else f"{len(windows)} windows from {windows[0]}"
            because = f"as {muted_by} explained it" if muted_by else "as it was over before"
            notice = f"told {incident['told_at']}" if incident["told_at"] else f"told nobody, {because}"
            lasted = f"{incident['opened_at']} to {incident['resolved_at'] or 'now'}"
            console.print(f"  incident {lasted}: {of}, {notice}", soft_wrap=True)
        if result["test"]:
            live = _counted(len(result["live_incidents"]), "incident")
            console.print(f"live, this test had {live} in this time")
        for window in [window for window in result["windows"] if window["outcome"] != "held"][:MOST_WINDOWS]:
            marks = "".join(f" ({mark})" for name, mark in MARKS.items() if window[name])
            console.print(escape(f"  {window['key']} {window['outcome']}: {window['sentence']}{marks}"), soft_wrap=True)
        if result["bounds"]:
            console.print(_bounds(result))
        if result["not_measured"]:
            lasts = "" if result["seconds_needed"] is None else f", about {result['seconds_needed']:.0f} s"
            console.print(
                f"{_counted(len(result['not_measured']), 'window')} never measured: --measure reads what is missing "
                f"({_counted(result['scans_needed'], 'scan')}{lasts})"
            )
        for why, count in Counter(result["cannot_be_known"].values()).items():
            console.print(escape(f"{_counted(count, 'window')} cannot be known: {why}"), soft_wrap=True)


def _await(test: DataTest, request: Mapping[str, Any], timeout: timedelta) -> Backtest:
    """The backtest once all that it asked for is measured, or as much as is after ``timeout``."""

    def look() -> Backtest:
        if not config().broker_url:
            drain()
        return backtest(test, **request)

    report = wait_for(
        look,
        is_settled=lambda report: not report.missing,
        describe=lambda report: f"{_counted(len(report.missing), 'window')} to be measured",
        longest=timeout,
        poll=timedelta(seconds=2),
    )
    if report.missing:
        late = f"{_counted(len(report.missing), 'window')} not measured after {format_duration(timeout)}"
        print(f"assay: {late}: `assay doctor` tells whether workers are up", file=sys.stderr)
    return report


def _bounds(result: Mapping[str, Any]) -> Table:
    table = Table("with another bound", "", "broke", "incidents", "told", "told a week", "precision", "recall")
    for row in result["bounds"]:
        kind = "looser" if row["looser"] else "stricter"
        shares = (_share(row["precision"]), _share(row["recall"]))
        counts = (str(row["broken"]), str(row["alerts"]), str(row["notices"]), _number(row["notices_a_week"]))
        table.add_row(escape(row["assertion"]), kind, *counts, *shares)
    return table


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _test(options: Mapping[str, Any]) -> DataTest:
    dataset = named_dataset(options["dataset"])
    if (options["test"] is None) == (options["assertion"] is None):
        raise UnableToRun("give either the name of a test or --assertion TEXT")
    if options["revision"] is not None and options["test"] is None:
        raise UnableToRun("--revision is of a written test: give its name")
    if options["test"] is not None:
        tests = DataTest.objects.filter(dataset=dataset, revision__isnull=False).select_related("dataset", "revision")
        if (data_test := tests.filter(name=options["test"]).first()) is not None:
            return data_test
        names = ", ".join(sorted(tests.values_list("name", flat=True))) or "none"
        raise UnableToRun(f"{dataset.full_name} has no test {options['test']!r}: take one of {names}")
    try:
        return draft(dataset, options["assertion"], category=options["category"], severity=options["severity"])
    except UnableToWrite as error:
        raise UnableToRun(str(error)) from None
