"""``assay digest``: the week of a team, as its message says it."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from assay import clock
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun
from assay.command_line.exit_codes import ExitCode
from incident_manager.digests import figures_of, html, subject, teams, text


class Command(Base):
    """The digest of one team; nothing is sent."""

    help = "Print the week of a team: quality, open incidents, coverage, slow tables and noisy tests. Nothing is sent."

    def add_arguments(self, parser: CommandParser) -> None:
        """The team, and the form."""
        parser.add_argument("team", help="name of a team, as datasets have it")
        parser.add_argument("--html", action="store_true", help="print the page that mail readers show")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The title, and the digest as text or HTML."""
        team_names = teams()
        if options["team"] not in team_names:
            raise UnableToRun(f"no dataset has the team {options['team']!r}; teams: {', '.join(team_names) or 'none'}")
        figures = figures_of(options["team"], now=clock.now())
        return ExitCode.HELD, {
            "subject": subject(figures),
            "text": html(figures) if options["html"] else text(figures),
            "is_html": options["html"],
        }

    def show(self, console: Console, result: Any) -> None:
        """The text below its title, or the page alone."""
        if not result["is_html"]:
            console.print(result["subject"], style="bold", markup=False, soft_wrap=True)
        console.print(result["text"], markup=False, highlight=False, soft_wrap=True, end="")
