"""``assay claim``: say that data is bad."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console

from assay import clock
from assay.accounts import record
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin
from assay.command_line.exit_codes import ExitCode
from incident_manager import services
from incident_manager.management.named import named_dataset, named_window
from incident_manager.models import Saw


class Command(Base):
    """A user's report, from a shell."""

    help = "Report that the data of a dataset is bad: Assay tells its owner, unless it is known already."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is bad, and what was seen of it."""
        parser.add_argument("dataset", help="full name, such as raw.trips")
        parser.add_argument("description", help="what is wrong, in your words")
        parser.add_argument("--window", required=True, help="a partition key, or START/END in ISO 8601")
        parser.add_argument("--saw", choices=Saw.values, default=Saw.SOMETHING_ELSE, help="what you saw")
        parser.add_argument("--datacenter", default="", help="where it was read (default: all)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The report, and what its reporter is told."""
        dataset = named_dataset(options["dataset"])
        place = options["datacenter"]
        if place and not dataset.replicas.filter(datacenter=place).exists():
            raise UnableToRun(f"{dataset} has no replica in {place!r}")
        fields = {name: options[name] for name in ("datacenter", "saw", "description")}
        window, origin = named_window(dataset, options["window"]), command_origin()
        with transaction.atomic():
            row = services.report(dataset=dataset, window=window, reporter=origin.actor, now=clock.now(), **fields)
            result = {
                "report": row.pk,
                "dataset": dataset.full_name,
                "window": window.text,
                "saw": row.saw,
                "state": row.state,
                "incident": row.incident_id,
                "joined": list(row.joined.order_by("pk").values_list("pk", flat=True)),
                "message": services.reply(row),
            }
            record(origin, "report.create", kind="report", key=row.pk, before=None, after=result, details=fields)
        return ExitCode.HELD, result

    def show(self, console: Console, result: Any) -> None:
        """What the reporter is told."""
        console.print(f"Report {result['report']} is saved. {result['message']}", soft_wrap=True)
