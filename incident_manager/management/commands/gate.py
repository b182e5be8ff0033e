"""``assay gate``: may a pipeline read these datasets?"""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console

from assay import clock
from assay.accounts.audit import record
from assay.catalog.asked_window import asked_window, latest_ended
from assay.catalog.selectors import by_name
from assay.command_line.arguments import instant
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.command_origin import command_origin
from assay.command_line.exit_codes import ExitCode, FailOn
from assay.config import config
from assay.models import Dataset
from assay.queue.drain import drain
from assay.time.windows import UnableToReadWindow, Window
from incident_manager.gate.rules import GateAnswer, GateDecision
from incident_manager.services import ToRead, UnableToOverride, gate_of, override

CODES = {GateDecision.ALLOW: ExitCode.HELD, GateDecision.WARN: ExitCode.WARNED, GateDecision.BLOCK: ExitCode.FAILED}


class Command(Base):
    """The gate, as a pipeline's shell step asks it."""

    help = "Say whether a pipeline may read datasets over a window: exit 0 allow, 2 warn, 1 block, 3 could not ask."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is about to be read, where."""
        parser.add_argument("datasets", nargs="+", help="full names, such as raw.trips")
        parser.add_argument("--window", help="a partition key, or START/END in ISO 8601 (default: the last one ended)")
        parser.add_argument("--datacenter", default="", help="where it is read (default: home)")
        parser.add_argument("--pipeline", default="", help="the name of the pipeline that asks")
        parser.add_argument(
            "--fail-on", choices=FailOn.CHOICES, default="warn", help="from which answer on to exit > 0"
        )
        parser.add_argument(
            "--override", metavar="REASON", help="first let pipelines (or only --pipeline) read it although it is bad"
        )
        parser.add_argument(
            "--until", type=instant, help="when the override ends, in ISO 8601 (default: in 24 h; tiers 0, 1: in 4 h)"
        )

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The decision and every reason."""
        datasets = [_dataset(name) for name in options["datasets"]]
        asked = [(dataset, _window(dataset, options["window"])) for dataset in datasets]
        _override(asked, options)
        answer = _ask(asked, options["datacenter"], options["pipeline"])
        if not config().broker_url and drain():
            answer = _ask(asked, options["datacenter"], options["pipeline"])  # what had no verdict was tested just now
        reasons = [
            {
                "decision": each.decision,
                "dataset": each.dataset,
                "window": each.window.text,
                "test": each.test,
                "incident": each.incident_id,
                "report": each.report_id,
                "text": each.text,
            }
            for each in answer.reasons
        ]
        code = FailOn.apply(CODES[answer.decision], options["fail_on"])
        return code, {"decision": answer.decision, "reasons": reasons}

    def show(self, console: Console, result: Any) -> None:
        """The decision, then a line per reason."""
        console.print(f"[bold]{result['decision']}[/bold]")
        for each in result["reasons"]:
            of = f"{each['dataset']}/{each['test']}" if each["test"] else each["dataset"]
            console.print(f"  {each['decision']}: {of} {each['window']}: {each['text']}", soft_wrap=True)


def _dataset(name: str) -> Dataset:
    if (dataset := by_name(name)) is None:
        raise UnableToRun(f"the catalog has no dataset {name!r}; `assay sync` reads it")
    return dataset


def _window(dataset: Dataset, text: str | None) -> Window:
    try:
        return asked_window(dataset, text) if text else latest_ended(dataset, clock.now())
    except UnableToReadWindow as error:
        raise UnableToRun(str(error)) from None


def _override(asked: list[tuple[Dataset, Window]], options: dict[str, Any]) -> None:
    """Write the override that the options give for each dataset; all of them, or none."""
    if options["override"] is None:
        if options["until"] is not None:
            raise UnableToRun("--until says when an override ends: give its reason with --override REASON")
        return
    origin = command_origin()
    given = {"pipeline": options["pipeline"], "reason": options["override"], "ends_at": options["until"]}
    try:
        with transaction.atomic():
            for dataset, window in asked:
                row = override(dataset=dataset, window=window, **given, author=origin.actor, now=clock.now())
                after = {"dataset": dataset.full_name, "window": window.text, "said": row.said}
                record(origin, "gate_override.create", kind="gate_override", key=row.pk, before=None, after=after)
    except UnableToOverride as error:
        raise UnableToRun(str(error)) from None


def _ask(asked: list[tuple[Dataset, Window]], datacenter: str, pipeline: str) -> GateAnswer:
    """One answer for all: a key names another window in each dataset's own zone."""
    to_read = [ToRead(dataset=dataset, window=window, datacenter=datacenter) for dataset, window in asked]
    return gate_of(to_read, pipeline=pipeline, now=clock.now())
