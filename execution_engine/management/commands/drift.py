"""``assay drift``: how far each column is from a reference, or a table's last window from those before it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from execution_engine.drift import DRIFTED, LARGE, DriftLevel, described, drifts_of
from execution_engine.engines.files.listing import UnableToListFiles, kind_of_folder
from execution_engine.file_windows import (
    add_window_arguments,
    dataset_named,
    place_named,
    profile_of_place,
    start_of_day,
    windows_of_dataset,
    windows_of_files,
)
from execution_engine.novelty.days import LAST_BATCHES
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile, merged_profiles
from execution_engine.verification.data import names_files

MOST_SAID = 10  # columns in sentences
COLORS = {
    DriftLevel.CHANCE: "dim",
    DriftLevel.LITTLE: "green",
    DriftLevel.SOME: "yellow",
    DriftLevel.NEW: "yellow",
    DriftLevel.UNKNOWN: "dim",
}
OF_WINDOWS = {"start": "--from", "end": "--to", "by": "--by", "by_file": "--by-file"}


class Command(Base):
    """Four measures of two distributions, column by column."""

    help = "Say how far each column is from a reference. The exit code is 1 where one has drifted far."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which rows, beside which, and from where on a drift is large."""
        add_window_arguments(parser)
        parser.add_argument("--against", metavar="TABLE", help="the reference (default: the windows before the last)")
        parser.add_argument("--window", help="with --against, of a dataset: a partition key, or START/END in ISO 8601")
        parser.add_argument("--against-window", metavar="WINDOW", help="the same of the reference")
        parser.add_argument(
            "--above", type=float, default=LARGE, metavar="PSI",
            help=f"the population stability index from which on drift is large (default: {LARGE})",
        )  # fmt: skip

    def prepare(self) -> None:
        """Nothing yet: files need no database."""

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """Every column with its measures, the furthest first."""
        if not options["above"] > 0:
            raise UnableToRun(f"--above {options['above']:g} is no bound: give a number above 0, such as {LARGE}")
        if not all(names_files(name) for name in (options["table"], options["against"]) if name):
            super().prepare()
        (name, profile), (other, before), hidden = (
            _compare_tables(options) if options["against"] else _last_window(options)
        )
        for what, rows in ((name, profile.rows), (other, before.rows)):
            if not rows:
                raise UnableToRun(f"{what} has no rows to compare")
        drifts = drifts_of(profile, before, options["above"], hidden)
        result = {
            "table": name,
            "rows": profile.rows,
            "against": other,
            "rows_before": before.rows,
            "above": options["above"],
            "columns": [described(drift) for drift in drifts],
        }
        return (ExitCode.FAILED if any(drift.level in DRIFTED for drift in drifts) else ExitCode.HELD), result

    def show(self, console: Console, result: Any) -> None:
        """A line for each column, then what moved in those that are beyond chance."""
        title = f"{result['table']} beside {result['against']}"
        printed = Printed("column", "drift", "PSI", "JS", "KS", "chi-square", "V", "missing", "before", title=title)
        for column in result["columns"]:
            level = DriftLevel(column["level"])
            chi2 = "" if column["chi2"] is None else f"{column['chi2']:,.4g} of {column['degrees']}"
            printed.add_row(
                escape(column["name"]), f"[{COLORS.get(level, 'red')}]{level}",
                *(_short(column[measure]) for measure in ("psi", "js", "ks")), chi2, _short(column["cramers_v"]),
                *(
                    "" if column[side] is None else f"{column[side]:.1%}".replace("%", " %")
                    for side in ("missing", "missing_before")
                ),
            )  # fmt: skip
        console.print(printed)
        console.print(f"{result['rows']:,} rows beside {result['rows_before']:,}")
        texts = [
            column["text"]
            for column in result["columns"]
            if column["level"] not in (DriftLevel.CHANCE, DriftLevel.UNKNOWN)
        ]
        for text in texts[:MOST_SAID]:
            console.print(escape(f"  {text}"), soft_wrap=True)
        if (more := len(texts) - MOST_SAID) > 0:
            console.print(f"  and {more} more (--json has all)")
        if not texts:
            console.print("  no column is beyond chance")


Side = tuple[str, TableProfile]


def _compare_tables(options: dict[str, Any]) -> tuple[Side, Side, frozenset[str]]:
    """Both tables as a whole, and the columns that are not compared.

    Times are counted from the day that the names of both say, so that the date alone is no drift.
    """
    if wrong := [flag for name, flag in OF_WINDOWS.items() if options[name]]:
        raise UnableToRun(f"{wrong[0]} makes windows, and with --against each table is read as a whole: leave it out")
    requests = [(options["table"], options["window"]), (options["against"], options["against_window"])]
    # how CSV is read is said of CSV alone, where one of both is CSV
    csv_options: list[str] = options["option"]
    are_csv = [kind_of_folder(name) == "csv" if csv_options else False for name, _ in requests]
    places = [
        place_named(name, window, csv_options if is_csv or not any(are_csv) else [])
        for (name, window), is_csv in zip(requests, are_csv, strict=True)
    ]
    starts = [start_of_day(window or Path(name).name) for name, window in requests]
    dated = None not in starts
    profiles = [
        profile_of_place(place, start if dated else None, quiet=options["json"])
        for place, start in zip(places, starts, strict=True)
    ]
    names = (" ".join(filter(None, name_and_window)) for name_and_window in requests)
    ours, theirs = zip(names, profiles, strict=True)
    return ours, theirs, frozenset[str]().union(*(place.hidden for place in places))


def _last_window(options: dict[str, Any]) -> tuple[Side, Side, frozenset[str]]:
    """The last window, and all that were before it together."""
    if options["window"] or options["against_window"]:
        raise UnableToRun("--window and --against-window are for --against: use --from and --to")
    try:
        if names_files(options["table"]):
            windows = windows_of_files(options)
        else:
            windows = windows_of_dataset(dataset_named(options["table"]), LAST_BATCHES, options)
        window_profiles = [(window.key, gathered_profile([window.rows], window.start)) for window in windows]
    except UnableToListFiles as error:
        raise UnableToRun(str(error.failure.detail)) from None
    if len(window_profiles) < 2:
        raise UnableToRun(
            f"{options['table']} has {len(window_profiles)} windows: drift needs two, or --against a table"
        )
    *past, (key, last) = window_profiles
    before = merged_profiles([replace(profile, start=None) for _, profile in past])  # each from its own start
    windows_before = f"{past[0][0]} to {past[-1][0]}" if len(past) > 1 else past[0][0]
    return (f"{options['table']} {key}", last), (windows_before, before), frozenset()


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
