"""``assay doctor``: find what is wrong, and say how to mend it."""

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from django.db import DatabaseError
from rich.console import Console

from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToMigrate, bring_up_to_date
from assay.command_line.exit_codes import ExitCode
from web.doctor import examine


class Command(Base):
    """Every check of ``web.doctor``."""

    help = "Examine this installation; exit 1 when something is wrong."

    def prepare(self) -> None:
        """Make the embedded database, if it can be made; what is wrong with it is for the checks to say."""
        with suppress(DatabaseError, UnableToMigrate):
            bring_up_to_date()

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The findings."""
        findings = list(examine())
        code = ExitCode.HELD if all(finding.is_well for finding in findings) else ExitCode.FAILED
        return code, {"findings": [asdict(finding) for finding in findings]}

    def show(self, console: Console, result: Any) -> None:
        """One line each, and a second one where there is something to mend."""
        for finding in result["findings"]:
            mark = "[green]well[/green]" if finding["is_well"] else "[red]ill [/red]"
            console.print(f"{mark} {finding['check']:<11} {finding['found']}", soft_wrap=True)
            if finding["mend"]:
                console.print(f"     to repair it: {finding['mend']}", soft_wrap=True)
