"""``assay templates``: the rules that are written once, and how many tests each makes."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from test_generator.models import Gap, RuleTemplate
from test_generator.templates.services import as_json, counts_of, template_summaries


class Command(Base):
    """What templates there are, what they select, and where they make no test."""

    help = "List the templates: assertion, selector, tests, and with a name the datasets where it makes none, and why."

    def add_arguments(self, parser: CommandParser) -> None:
        """One template, or all."""
        parser.add_argument("template", nargs="?", help="the name of one template (default: all)")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The templates by name; of one also its gaps."""
        name, rows = options["template"], RuleTemplate.objects.order_by("name")
        selected = [row for row in rows if name is None or row.name.casefold() == name.casefold()]
        if name is not None and not selected:
            names = ", ".join(row.name for row in rows) or "none"
            raise UnableToRun(f"there is no template {name!r}; known are {names}")
        open_gaps = Gap.objects.filter(template__in=[row.name for row in selected], closed_at__isnull=True)
        gaps = open_gaps.select_related("dataset").order_by("dataset__full_name") if name else ()
        return ExitCode.HELD, {
            "templates": [as_json(template) for template in template_summaries(selected)],
            "gaps": [{"dataset": gap.dataset.full_name, "reason": gap.reason} for gap in gaps],
        }

    def show(self, console: Console, result: Any) -> None:
        """Three lines for each, and then the gaps."""

        def say(line: str) -> None:
            console.print(line, soft_wrap=True, highlight=False, markup=False)

        for template in result["templates"]:
            say(f"{template['name']}: {counts_of(template)}")
            say(f"    {' '.join(template['assertion'].split())}")
            say(f"    {template['selector']} ({template['place'] or template['source']})")
        for gap in result["gaps"]:
            say(f"not testable: {gap['dataset']}: {gap['reason']}")
        if not result["templates"]:
            say("there are no templates: write them under templates: in a catalog file")
