"""``assay publish``: move a pointer to data that was audited, and to no other."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.markup import escape

from assay import clock
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin, length, wait_for
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.queue.drain import drain
from incident_manager.management.named import named_dataset, named_window
from incident_manager.models import Publication
from incident_manager.publishing.pointers import KINDS, UnableToPoint
from incident_manager.publishing.services import Refuse, ToPublish, UnableToPublish, publish


class Command(Base):
    """Write, audit, publish: the last step."""

    help = (
        "Move a pointer to the data of a partition, if all of its hard tests hold and it is the data that they judged. "
        "Exit 0 published, 1 refused, 3 could not be done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What is published, and how readers find it."""
        parser.add_argument("dataset", help="full name, such as raw.trips")
        parser.add_argument("--window", help="the partition's key (default: the last one that has ended)")
        parser.add_argument("--to", required=True, metavar="POINTER", help=f"{KINDS}; see docs/publishing.md")
        parser.add_argument(
            "--versions", metavar="FOLDER", help="point to a copy in this folder, which nobody writes again"
        )
        parser.add_argument("--wait", type=length, metavar="LENGTH", help="while it is refused, try for so long")
        parser.add_argument("--poll", type=length, metavar="LENGTH", help="try so often (default: after 5 s, … 60 s)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The document that readers see, or why there is none."""
        if options["poll"] and not options["wait"]:
            raise UnableToRun("--poll says how often to try while waiting: give --wait, such as --wait 30m")
        dataset = named_dataset(options["dataset"])
        window = named_window(dataset, options["window"])
        request = ToPublish(dataset=dataset, window=window, to=options["to"], versions=options["versions"])

        def attempt() -> Publication | Refuse:
            outcome = publish(request, origin=command_origin(), now=clock.now)
            # what nobody has judged is tested
            if isinstance(outcome, Refuse) and not config().broker_url and drain(with_asides=False):
                return publish(request, origin=command_origin(), now=clock.now)
            return outcome

        try:
            outcome = wait_for(
                attempt,
                is_settled=lambda outcome: isinstance(outcome, Publication),
                describe=lambda outcome: f"{dataset} {request.partition}: {'; '.join(getattr(outcome, 'reasons', ()))}",
                longest=options["wait"] or timedelta(0),
                poll=options["poll"],
            )
        except (UnableToPoint, UnableToPublish) as error:
            raise UnableToRun(str(error)) from None
        if isinstance(outcome, Refuse):
            result = {"published": False, "reasons": list(outcome.reasons)}
            return ExitCode.FAILED, {**result, "publication": None, "to": options["to"], "document": None}
        result = {"published": True, "reasons": []}
        return ExitCode.HELD, {**result, "publication": outcome.pk, "to": outcome.pointer, "document": outcome.document}

    def show(self, console: Console, result: Any) -> None:
        """Where readers find it, or why it is refused."""
        if result["published"]:
            document = result["document"]
            tests = f"{len(document['tests'])} hard test{'' if len(document['tests']) == 1 else 's'}"
            console.print("[bold]published[/bold]")
            console.print(escape(f"  {document['dataset']} {document['partition']} to {result['to']}"), soft_wrap=True)
            many = len(document["files"])
            files = f"{many} file{'' if many == 1 else 's'}"
            console.print(escape(f"  {files} in {document['location']}, {tests}"), soft_wrap=True)
            return
        console.print("[bold]refused[/bold]")
        for reason in result["reasons"]:
            console.print(escape(f"  {reason}"), soft_wrap=True)
