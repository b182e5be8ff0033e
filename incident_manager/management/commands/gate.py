"""``assay gate``: may a pipeline read these datasets?"""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console

from assay import clock
from assay.accounts import record
from assay.catalog.selectors import latest_ended, parse_windows
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin, instant, length, wait_for
from assay.command_line.exit_codes import ExitCode, FailOn
from assay.config import config
from assay.models import Dataset
from assay.queue.drain import drain
from assay.time.windows import UnableToReadWindow, Window
from incident_manager.gate.rules import GateAnswer, GateDecision, in_the_way
from incident_manager.gate.services import as_json
from incident_manager.management.named import CODES, named_dataset, show_answer
from incident_manager.services import ToRead, UnableToOverride, gate_of, override, unreadable_in


class Command(Base):
    """The gate, as a pipeline's shell step asks it."""

    help = "Say whether a pipeline may read its inputs over a window: exit 0 allow, 2 warn, 1 block, 3 could not ask."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is about to be read, where."""
        parser.add_argument(
            "datasets", nargs="+", help="full names of datasets and business metrics, such as raw.trips"
        )
        parser.add_argument("--window", help="a partition key, or START/END in ISO 8601 (default: the last one ended)")
        parser.add_argument("--datacenter", default="", help="where it is read (default: home)")
        parser.add_argument("--pipeline", default="", help="the name of the pipeline that asks")
        parser.add_argument(
            "--fail-on", choices=FailOn.CHOICES, default="warn", help="from which answer on to exit > 0"
        )
        parser.add_argument(
            "--wait", type=length, metavar="LENGTH", help="while it blocks, ask again for so long, such as 30m"
        )
        parser.add_argument("--poll", type=length, metavar="LENGTH", help="ask so often (default: after 5 s, … 60 s)")
        parser.add_argument(
            "--override", metavar="REASON", help="first let pipelines (or only --pipeline) read it although it is bad"
        )
        parser.add_argument(
            "--until", type=instant, help="when the override ends, in ISO 8601 (default: in 24 h; tiers 0, 1: in 4 h)"
        )

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The decision and every reason."""
        if options["poll"] and not options["wait"]:
            raise UnableToRun("--poll says how often to ask while waiting: give --wait, such as --wait 30m")
        datasets, now = [named_dataset(name) for name in options["datasets"]], clock.now()
        try:
            windows = (
                [latest_ended(dataset, now) for dataset in datasets]
                if options["window"] is None
                else parse_windows(datasets, options["window"], now)
            )
        except UnableToReadWindow as error:
            raise UnableToRun(str(error)) from None
        requests = list(zip(datasets, windows, strict=True))
        for dataset, _ in requests:
            if why_not := unreadable_in(dataset, options["datacenter"]):
                raise UnableToRun(why_not)
        _override(requests, options)
        if options["wait"]:  # for the first answer that does not block, or that a wait cannot change
            until = clock.now() + options["wait"]
            answer = wait_for(
                lambda: _ask(requests, options),
                is_settled=lambda answer: (
                    answer.decision is not GateDecision.BLOCK or bool(in_the_way(answer, until=until))
                ),
                describe=lambda answer: "{0.dataset} {0.window.text}: {0.text}".format(answer.reasons[0]),
                longest=options["wait"],
                poll=options["poll"],
            )
        else:
            answer = _ask(requests, options)
        code = FailOn.apply(CODES[answer.decision], options["fail_on"])
        return code, as_json(answer)

    def show(self, console: Console, result: Any) -> None:
        """The decision, then a line per reason."""
        show_answer(console, result)


def _ask(requests: list[tuple[Dataset, Window]], options: dict[str, Any]) -> GateAnswer:
    """One answer for all: a key names another window in each dataset's own zone."""
    to_read = [ToRead(dataset=dataset, window=window, datacenter=options["datacenter"]) for dataset, window in requests]
    answer = gate_of(to_read, pipeline=options["pipeline"], now=clock.now())
    if not config().broker_url and drain(with_asides=False):
        return gate_of(
            to_read, pipeline=options["pipeline"], now=clock.now()
        )  # what had no verdict was tested just now
    return answer


def _override(requests: list[tuple[Dataset, Window]], options: dict[str, Any]) -> None:
    if options["override"] is None:
        if options["until"] is not None:
            raise UnableToRun("--until says when an override ends: give its reason with --override REASON")
        return
    origin = command_origin()
    fields = {"pipeline": options["pipeline"], "reason": options["override"], "ends_at": options["until"]}
    try:
        with transaction.atomic():
            for dataset, window in requests:
                row = override(dataset=dataset, window=window, **fields, author=origin.actor, now=clock.now())
                after = {"dataset": dataset.full_name, "window": window.text, "said": row.description}
                record(origin, "gate_override.create", kind="gate_override", key=row.pk, before=None, after=after)
    except UnableToOverride as error:
        raise UnableToRun(str(error)) from None
