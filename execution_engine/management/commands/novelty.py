"""``assay novelty``: which windows of a table are unlike those before them, without rules and without server."""

from datetime import date
from itertools import takewhile
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from execution_engine.anomalies.series import holidays_of
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.file_windows import (
    FileWindow,
    add_window_arguments,
    dataset_named,
    windows_of_dataset,
    windows_of_files,
)
from execution_engine.novelty.days import FURTHER_WINDOWS, LAST_BATCHES, LEARNING, Day, Method, day_of
from execution_engine.novelty.inferred_schema import infer
from execution_engine.novelty.judge import judge, without_secrets
from execution_engine.novelty.past import ThawingPast, WindowAnswer
from execution_engine.novelty.verdict import NoveltyStatus
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile
from execution_engine.verification.data import names_files

MOST_SHOWN = 5  # causes of a window
COLORS = {NoveltyStatus.LEARNING: "dim", NoveltyStatus.LIKE: "green", NoveltyStatus.NOVEL: "red"}
JOINED = {WindowAnswer.ACCEPTED: "accepted", WindowAnswer.RELEASED: "released"}
CODES = {
    NoveltyStatus.LEARNING: ExitCode.UNABLE,
    NoveltyStatus.LIKE: ExitCode.HELD,
    NoveltyStatus.NOVEL: ExitCode.FAILED,
}


class Command(Base):
    """What changed in data that nobody wrote a rule for."""

    help = "Judge each window of a table by those before it. The exit code is that of the last one: 1 if it is novel."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which windows, how they are judged, and what a person says of them."""
        add_window_arguments(parser)
        parser.add_argument(
            "--method", choices=[method.value for method in Method], default=Method.PREDICTIVE.value,
            help="predictive: each statistic by its own history (default); neighbours: Redyuk et al.; schema: breaches "
            "of what was inferred; drift: distributions alone",
        )  # fmt: skip
        parser.add_argument(
            "--country", default="", help="whose public holidays are compared with each other: two letters, such as US"
        )
        window_option: dict[str, Any] = {"action": "append", "default": [], "metavar": "WINDOW"}
        parser.add_argument("--accept", help="this novel window is right, and so are others like it", **window_option)
        parser.add_argument("--wrong", help="nothing is to be learned from this window", **window_option)

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """A verdict for each window; those that are novel join the past of later ones after some more windows."""
        try:
            if names_files(options["table"]):
                windows = windows_of_files(options)
            else:
                super().prepare()
                windows = windows_of_dataset(dataset_named(options["table"]), LAST_BATCHES, options)
            method, country = options["method"], options["country"]
            if country and method != Method.PREDICTIVE:
                raise UnableToRun(f"--country is of --method {Method.PREDICTIVE}: {method} knows no holidays")
            if country:
                try:
                    holidays_of(country)
                except ValueError as error:
                    raise UnableToRun(f"--country {country} is {error}") from None
            thawing, judged, last = ThawingPast(), [], TableProfile(rows=0)
            days, are_days = set[date | None](), True
            for window in windows:
                if window.day in days:  # parts of days have no weekdays that they are compared by
                    thawing, are_days = thawing.without_days(), False
                days |= {window.day} - {None}
                last = gathered_profile([window.rows], window.start)
                day = day_of(window.day, options["country"]) if are_days and window.day is not None else None
                thawing, verdict = _judged(window, last, thawing, options, day)
                judged.append(verdict)
        except UnableToListFiles as error:
            raise UnableToRun(str(error.failure.detail)) from None
        if not judged:
            raise UnableToRun(f"{options['table']} has no windows to judge")
        keys = [verdict["window"] for verdict in judged]
        if unknown := [name for name in (*options["accept"], *options["wrong"]) if name not in keys]:
            raise UnableToRun(f"there is no window {unknown[0]!r}: they are {keys[0]} to {keys[-1]}")
        result = {"table": options["table"], "method": options["method"], "windows": judged}
        if options["method"] == Method.SCHEMA:
            result["schema"] = infer(thawing.past).as_json(last)
        return CODES[NoveltyStatus(judged[-1]["status"])], result

    def show(self, console: Console, result: Any) -> None:
        """A line for each window, then why the novel ones are."""
        printed = Printed("window", "rows", "verdict", "score", "novel above", title=result["table"])
        for window in result["windows"]:
            status = NoveltyStatus(window["status"])
            accepted = ", accepted" if window["joined"] == "released" else ""
            words = {NoveltyStatus.LEARNING: f"one of the first {LEARNING}", NoveltyStatus.NOVEL: f"novel{accepted}"}
            verdict = words.get(status, "like those before")
            printed.add_row(
                escape(window["window"]), f"{window['rows']:,}", f"[{COLORS[status]}]{verdict}",
                _short(window["score"]), _short(window["threshold"]),
            )  # fmt: skip
        console.print(printed)
        for window in result["windows"]:
            if window["status"] != NoveltyStatus.NOVEL:
                continue
            console.print(escape(f"{window['window']} is unlike those before it:"), soft_wrap=True)
            for cause in window["causes"][:MOST_SHOWN]:
                console.print(escape(f"  {cause['text']}"), soft_wrap=True)
            if (more := len(window["causes"]) - MOST_SHOWN) > 0:
                console.print(f"  and {more} more (--json has all)")
        if "schema" in result:
            console.print(_schema_table(result["schema"]))
        last = result["windows"][-1]
        for note in last["notes"]:
            console.print(escape(f"{last['window']}: {note}"), soft_wrap=True)
        if last["status"] == NoveltyStatus.NOVEL and last["joined"] is None:
            newest_first = [window["status"] for window in reversed(result["windows"])]
            in_a_row = sum(1 for _ in takewhile(lambda status: status == NoveltyStatus.NOVEL, newest_first))
            if in_a_row >= FURTHER_WINDOWS:
                console.print(f"{in_a_row} novel windows in a row: has the table changed?")
            console.print(escape(f"If this is right: --accept {last['window']}"), soft_wrap=True)


def _judged(
    window: FileWindow, profile: TableProfile, thawing: ThawingPast, options: dict[str, Any], day: Day | None
) -> tuple[ThawingPast, dict[str, Any]]:
    """The past with this window, where it joins, and what is told of it.

    ``z`` of a cause is None for what never happened before. New values of a column that may hold secrets are not told.
    """
    verdict = judge(profile, thawing.past, Method(options["method"]), day=day)
    if window.key in options["wrong"]:
        answer = WindowAnswer.WRONG
    elif verdict.is_novel:
        answer = WindowAnswer.RELEASED if window.key in options["accept"] else WindowAnswer.NONE
    else:
        answer = WindowAnswer.ACCEPTED
    return thawing.with_window(window.key, profile, answer, day), {
        "window": window.key,
        "rows": profile.all_rows,
        "status": verdict.status.value,
        "score": verdict.score,
        "threshold": verdict.threshold,
        "joined": JOINED.get(answer),
        "causes": [
            cause.as_json() | {"new_values": [str(value) for value in cause.new_values]}
            for cause in (without_secrets(cause, profile) for cause in verdict.causes)
        ],
        "notes": list(verdict.notes),
    }


def _schema_table(schema: dict[str, Any]) -> Printed:
    title = f"the schema of {schema['batches']} accepted windows"
    printed = Printed("column", "type", "required", "complete", "values", "unique", title=title)
    for name, column in schema["columns"].items():
        values = "" if column["low"] is None else f"{column['low']:,.6g} to {column['high']:,.6g}"
        if column["domain"] is not None:
            named, size = column["domain"]["values"], column["domain"]["size"]
            more = [f"{size - len(named)} more"] if size > len(named) else []
            values = f"one of {', '.join([*named, *more])}"
        complete = "" if column["presence"] is None else f"at least {column['presence']:.4g}"
        required, unique = ("yes" if column[mark] else "" for mark in ("required", "unique"))
        printed.add_row(escape(name), column["type"], required, complete, escape(values), unique)
    return printed


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
