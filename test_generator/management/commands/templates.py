"""``assay templates``: the rules that are written once, and how many tests each makes."""

from typing import Any

import yaml
from django.core.management.base import CommandParser
from rich.console import Console

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from test_generator.models import Gap, RuleTemplate
from test_generator.pushed_rules import as_written, library
from test_generator.suggestions.suggest import WIDTH as YAML_WIDTH
from test_generator.templates.services import as_json, counts_of, template_summaries


class Command(Base):
    """What templates there are, what they select, and where they make no test."""

    help = (
        "List the templates: assertion, selector, tests, and with a name the datasets where it makes none, and why. "
        "With --library list the ready ones, and with a name write that one as a catalog file says it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One template, or all."""
        parser.add_argument("template", nargs="?", help="the name of one template (default: all)")
        parser.add_argument("--library", action="store_true", help="ready templates to begin with, in place of yours")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The templates by name; of one also its gaps."""
        if options["library"]:
            return ExitCode.HELD, {"library": _ready(options["template"])}
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
        """Three lines for each, and then the gaps; of the library what each needs and finds, or one as YAML."""

        def say(line: str) -> None:
            console.print(line, soft_wrap=True, highlight=False, markup=False)

        if (ready := result.get("library")) is not None:
            if len(ready) == 1:
                text = yaml.safe_dump({"templates": ready}, sort_keys=False, width=YAML_WIDTH, allow_unicode=True)
                say(text.rstrip())
            for template in ready if len(ready) > 1 else ():
                say(f"{template['name']}: {template['assertion']}")
                say(f"    needs {template['needs']}; finds, for example: {template['example']}")
            return
        for template in result["templates"]:
            say(f"{template['name']}: {counts_of(template)}")
            say(f"    {' '.join(template['assertion'].split())}")
            say(f"    {template['selector']} ({template['place'] or template['source']})")
        for gap in result["gaps"]:
            say(f"not testable: {gap['dataset']}: {gap['reason']}")
        if not result["templates"]:
            say("there are no templates: `assay templates --library` lists ready ones, for a catalog file or the page")


def _ready(name: str | None) -> list[dict[str, Any]]:
    """The ready templates as a catalog file says them, or the one of this name; raises UnableToRun."""
    ready = [as_written(template) for template in library().values()]
    selected = [template for template in ready if name is None or template["name"].casefold() == name.casefold()]
    if not selected:
        raise UnableToRun(f"there is no ready template {name!r}; `assay templates --library` lists them")
    return selected
