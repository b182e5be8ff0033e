"""The demo's result as tables for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from web.shown.words import plain

from .days import PARTITIONING, ZONE
from .faults import fault_named

RIGHT: Literal["right"] = "right"


def show(console: Console, result: Mapping[str, Any]) -> None:
    """Print every part of the result, the verdict on the faults last."""
    counts = {
        "Live tests by category": result["data_tests"],
        "Runs by outcome": result["runs"],
        "Standings by state": result["standings"],
        "Notices": {
            "sent": result["notices"]["sent"],
            **{f"not sent: {reason}": count for reason, count in result["notices"]["suppressed"].items()},
        },
    }
    for title, numbers in counts.items():
        console.print(_counts(title, numbers))
    console.print(_incidents(result["incidents"]))
    console.print(_faults(result["faults"]))
    console.print(_scores(result))


def show_open(console: Console, addresses: Sequence[str], command: str) -> None:
    """Say where to look at what is still open, and which command serves it."""
    found = f"{len(addresses)} incident is" if len(addresses) == 1 else f"{len(addresses)} incidents are"
    console.print(f"{found} open: {', '.join(addresses)}", soft_wrap=True)
    console.print(f"To look at it, and walk through all this in the dashboard: [bold]{command}[/bold]", soft_wrap=True)


def _counts(title: str, numbers: Mapping[str, int]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(min_width=30)
    table.add_column(justify=RIGHT)
    for name, count in numbers.items():
        table.add_row(name, f"{count:,}")
    return table


def _incidents(incidents: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(title="Incidents (New York time)", title_justify="left")
    for heading in ("dataset", "category", "days", "detected", "lasted", "resolved", "caused by"):
        table.add_column(heading)
    for each in incidents:
        detected = datetime.fromisoformat(each["detected_at"])
        resolved = datetime.fromisoformat(each["resolved_at"]) if each["resolved_at"] else None
        table.add_row(
            each["dataset"],
            each["category"],
            ", ".join(map(_days, each["windows"])),
            f"{detected.astimezone(ZONE):%d %b %H:%M}",
            _duration(resolved - detected) if resolved else "open",
            plain(each["resolution"] or ""),
            each["cause"] or ("a user's report" if each["kind"] == "reported" else ""),
        )
    return table


def _days(window: str) -> str:
    """One day, or the first and the last of several."""
    start, end = (datetime.fromisoformat(instant) for instant in window.split("/"))
    first, last = PARTITIONING.at(start), PARTITIONING.at(end - timedelta(microseconds=1))
    return PARTITIONING.key(first) if first == last else f"{PARTITIONING.key(first)} to {PARTITIONING.key(last)}"


def _faults(faults: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(title="Faults", title_justify="left")
    for heading in ("what went wrong", "expected", "seen as", "alert after", "how it ended"):
        table.add_column(heading)
    for each in faults:
        fault, seconds = fault_named(each["name"]), each["seconds_to_alert"]
        colour = "green" if each["seen"] == each["expected"] else "red"
        table.add_row(
            fault.story,
            each["expected"],
            f"[{colour}]{each['seen']}[/{colour}]",
            "" if seconds is None else _duration(timedelta(seconds=seconds)),
            fault.repair,
        )
    return table


def _scores(result: Mapping[str, Any]) -> Table:
    table = Table(title="How good that was", title_justify="left", show_header=False)
    table.add_column(min_width=30)
    table.add_column(justify=RIGHT)
    shares = ("precision", "recall", "data_quality", "query_quality", "query_quality_without_forced")
    mark = ("precision", "recall") if result["open"] else ()  # an incident that they count has not ended
    for name in shares:
        table.add_row(
            name.replace("_", " ").replace("forced", "false positives"),
            "" if result[name] is None else f"{result[name]:.2%}{' so far' if name in mark else ''}",
        )
    for name in ("scans", "spark_jobs"):
        table.add_row(name.replace("_", " "), f"{result[name]:,}")
    return table


def _duration(length: timedelta) -> str:
    """Such as 6 h 40 min."""
    minutes = round(length.total_seconds() / 60)
    hours, rest = divmod(minutes, 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{rest} min" if rest else "") if part) or "0 min"
