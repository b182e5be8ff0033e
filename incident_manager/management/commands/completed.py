"""``assay completed``: a pipeline has written its outputs."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console
from rich.markup import escape

from assay import clock
from assay.accounts import record
from assay.catalog.services import UnableToComplete
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin, length, wait_for
from assay.command_line.exit_codes import ExitCode, FailOn
from assay.config import config
from assay.models import WriteMode
from assay.queue.drain import drain
from incident_manager.gate.services import MOST_REASONS, as_json
from incident_manager.management.named import CODES, named_dataset, named_window, show_answer
from incident_manager.services import WrittenWindow, answer_on, complete, unjudged, unreadable_in


class Command(Base):
    """The counterpart of ``POST /api/v1/pipelines/NAME/completed``, for a shell."""

    help = (
        "Say what a pipeline has written: its tests run at once. Exit 0 good, or told and not judged yet; 2 warnings; "
        "1 bad; 3 not told, or not judged within --wait."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Who has written what."""
        parser.add_argument("pipeline", help="the name of the pipeline")
        parser.add_argument(
            "--output",
            action="append",
            required=True,
            metavar="DATASET=WINDOW",
            help="such as raw.trips=2026-11-01, or START/END in ISO 8601; may be given many times",
        )
        parser.add_argument("--datacenter", default="", help="where it was written (default: each dataset's home)")
        parser.add_argument("--rows", type=int, help="how many rows were written, of a single output")
        parser.add_argument("--mode", choices=WriteMode.values, default="", help="what it did with the rows before")
        parser.add_argument("--run", default="", help="the name of the run: its rows count once, however often told")
        parser.add_argument("--wait", type=length, metavar="LENGTH", help="wait until it is judged, such as 10m")
        parser.add_argument("--poll", type=length, metavar="LENGTH", help="look so often (default: after 5 s, … 60 s)")
        parser.add_argument(
            "--fail-on", choices=FailOn.CHOICES, default="warn", help="from which answer on to exit > 0"
        )

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The gate's answer on the outputs, and whether all that was triggered has been judged."""
        if options["rows"] is not None and (len(options["output"]) > 1 or options["rows"] < 0):
            raise UnableToRun("--rows is a count of 0 or more, of a single --output: tell of the others by themselves")
        if options["poll"] and not options["wait"]:
            raise UnableToRun("--poll says how often to look while waiting: give --wait, such as --wait 10m")
        pipeline, outputs = options["pipeline"], [_written(output, options) for output in options["output"]]
        details = {
            "outputs": [{"dataset": output.dataset.full_name, "window": output.window.text} for output in outputs]
        }
        entry: dict[str, Any] = {"kind": "pipeline", "key": pipeline, "before": None, "after": None, "details": details}
        try:
            with transaction.atomic():
                changes = complete(pipeline, outputs, run=options["run"], now=clock.now())
                record(command_origin(), "pipeline.completed", **entry)
        except UnableToComplete as error:
            raise UnableToRun(str(error)) from None

        def look() -> list[str]:
            """What is not judged yet, after what this process can do for it."""
            if not config().broker_url:
                drain()
            return unjudged(changes, now=clock.now())

        waits_for = wait_for(
            look,
            is_settled=lambda reasons: not reasons,
            describe=lambda reasons: reasons[0],
            longest=options["wait"] or timedelta(0),
            poll=options["poll"],
        )
        answer = answer_on(changes, pipeline=pipeline, now=clock.now())
        result = {"judged": not waits_for, "waits_for": waits_for[:MOST_REASONS], **as_json(answer)}
        if not waits_for:
            return FailOn.apply(CODES[answer.decision], options["fail_on"]), result
        # what the gate says now is about the data as it was
        return ExitCode.UNABLE if options["wait"] else ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """Whether it is judged, and the answer."""
        if not result["judged"]:
            console.print("told, and not judged yet:")
            for reason in result["waits_for"]:
                console.print(escape(f"  {reason}"), soft_wrap=True)
        show_answer(console, result)


def _written(text: str, options: dict[str, Any]) -> WrittenWindow:
    name, equals, window = text.partition("=")
    if not (name and equals and window):
        raise UnableToRun(f"--output {text!r} is no DATASET=WINDOW: write it like raw.trips=2026-11-01")
    dataset = named_dataset(name)
    if why_not := unreadable_in(dataset, options["datacenter"]):
        raise UnableToRun(why_not)
    return WrittenWindow(
        dataset=dataset,
        window=named_window(dataset, window),
        datacenter=options["datacenter"],
        rows=options["rows"],
        mode=options["mode"],
    )
