"""Datasets and windows as options name them, and the gate's answer as it is printed."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from assay import clock
from assay.catalog.selectors import by_name, latest_ended, window_from_text
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from assay.models import Dataset
from assay.time.windows import UnableToReadWindow, Window
from incident_manager.gate.rules import GateDecision
from incident_manager.quality.rules import QualityStatus

CODES = {GateDecision.ALLOW: ExitCode.HELD, GateDecision.WARN: ExitCode.WARNED, GateDecision.BLOCK: ExitCode.FAILED}


def named_dataset(name: str) -> Dataset:
    """The dataset of a name; raises UnableToRun."""
    if (dataset := by_name(name)) is None:
        raise UnableToRun(f"the catalog has no dataset {name!r}; `assay sync` reads it")
    return dataset


def named_window(dataset: Dataset, text: str | None) -> Window:
    """The window that an option names, or the last partition that has ended; raises UnableToRun."""
    try:
        return window_from_text(dataset, text) if text else latest_ended(dataset, clock.now())
    except UnableToReadWindow as error:
        raise UnableToRun(str(error)) from None


def show_answer(console: Console, answer: dict[str, Any]) -> None:
    """The decision and the status of the data, then a line for each reason."""
    status = "" if answer["status"] == QualityStatus.GOOD else f" (the data is {answer['status']})"
    console.print(f"[bold]{answer['decision']}[/bold]{status}")
    for reason in answer["reasons"]:
        of = f"{reason['dataset']}/{reason['test']}" if reason["test"] else reason["dataset"]
        console.print(escape(f"  {reason['decision']}: {of} {reason['window']}: {reason['text']}"), soft_wrap=True)
