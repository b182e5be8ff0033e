"""``assay onboard``: tables that sources name become datasets with their standard tests."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from rich.console import Console

from assay import clock
from assay.accounts import record
from assay.catalog.proposals import proposals
from assay.catalog.yaml.yaml_text import UnableToParseYaml, parse_yaml
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin
from assay.command_line.exit_codes import ExitCode
from test_generator import tasks
from test_generator.onboarding import (
    OnboardedTable,
    Onboarding,
    UnableToOnboard,
    onboard,
    parse_lineage,
    plan_onboarding,
)

MOST_PROPOSALS = 50
GIVEN = ("owner", "team", "tier", "location", "storage", "datacenter")


class Command(Base):
    """A plan, a question, and then what was planned."""

    help = (
        "Make datasets of tables that events, queries or catalogs name, with their standard tests. It shows the plan, "
        "and does it when you say yes. Without a name it lists the tables that are no datasets, those first that are "
        "read most. Exit 1 if a table still lacks what a dataset needs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The tables, what lies around them, and what no source says of them."""
        parser.add_argument("names", nargs="*", metavar="NAME", help="a full name, or a pattern such as 'sales.*'")
        parser.add_argument(
            "--with-lineage",
            nargs="?",
            const="both",
            default="",
            metavar="up|down|both[,STEPS]",
            help="also what they are made of (up) and what is made of them (down), so many steps far (default all)",
        )
        parser.add_argument(
            "--template", type=Path, metavar="FILE", help="a YAML file with the fields of a dataset, for all tables"
        )
        parser.add_argument("--owner", help="where no source names one, as the options below")
        parser.add_argument("--team")
        parser.add_argument("--tier", type=int, choices=range(6))
        parser.add_argument("--location", help="where they lie, with {schema} and {table}: s3://lake/{schema}/{table}")
        parser.add_argument("--storage", help="as in the catalog (default: by the location)")
        parser.add_argument("--datacenter", help="default local")
        parser.add_argument("--yes", action="store_true", help="do it without a question")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The plan, or what became of it; without a name the proposals."""
        if not options["names"]:
            count, rows = proposals(MOST_PROPOSALS)
            return ExitCode.HELD, {"proposals": [asdict(row) for row in rows], "count": count}
        try:
            side, depth = parse_lineage(options["with_lineage"]) if options["with_lineage"] else ("", 0)
            onboarding = Onboarding(names=options["names"], side=side, depth=depth, fields=_fields(options))
            tables = plan_onboarding(onboarding, now=clock.now())
            is_done = any(table.state == "new" for table in tables) and (options["yes"] or self._agree(options, tables))
            if is_done:
                tables = _onboard(onboarding)
        except UnableToOnboard as unable:
            raise UnableToRun(str(unable)) from None
        is_whole = all(table.state != "lacking" for table in tables)
        code = ExitCode.HELD if is_whole else ExitCode.FAILED
        return code, {"done": is_done, "tables": [asdict(table) for table in tables]}

    def _agree(self, options: dict[str, Any], tables: list[OnboardedTable]) -> bool:
        """Whether somebody at a terminal says yes to the plan."""
        if options["json"] or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return False
        _show_tables(Console(emoji=False), [asdict(table) for table in tables])
        return input("Do this? [y/N] ").strip().lower() in ("y", "yes")

    def show(self, console: Console, result: Any) -> None:
        """A line for each table, and for each test that it lacks."""
        for row in result.get("proposals", ()):
            lacks = f"; lacks {', '.join(row['lacking'])}" if row["lacking"] else ""
            console.print(
                f"{row['name']}: read by {row['readers']} tables and {row['queries']} queries; "
                f"named by {', '.join(row['sources'])}{lacks}",
                **PLAIN,
            )
        if "proposals" in result:
            count = result["count"]
            console.print(f"{count} table{'s are' if count != 1 else ' is'} named and no dataset", **PLAIN)
            return
        _show_tables(console, result["tables"])
        new = sum(table["state"] == "new" for table in result["tables"])
        what = f"{new} dataset{'s' * (new != 1)}"
        if result["done"]:
            console.print(f"done: {what} more", **PLAIN)
        elif new:
            console.print(f"nothing is written: --yes makes {what} of this", **PLAIN)


PLAIN: dict[str, Any] = {"soft_wrap": True, "highlight": False, "markup": False}


def _show_tables(console: Console, tables: list[dict[str, Any]]) -> None:
    for table in tables:
        hops = table["hops"]
        where = f" ({abs(hops)} {'upstream' if hops < 0 else 'downstream'})" if hops else ""
        if table["state"] == "known":
            console.print(f"  {table['name']}{where}: is a dataset already", **PLAIN)
        elif table["state"] == "new":
            console.print(f"+ {table['name']}{where}: {', '.join(table['tests']) or 'no test'}", style="green", **PLAIN)
        else:
            why = table["fault"] or f"nobody says its {', '.join(table['lacking'])}"
            console.print(f"! {table['name']}{where}: {why}", style="yellow", **PLAIN)
        for gap in table["gaps"]:
            console.print(f"      not testable: {gap}", **PLAIN)


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """What the template and the options say; raises UnableToOnboard."""
    fields: Any = {}
    if (path := options["template"]) is not None:
        try:
            fields = parse_yaml(path.read_text()).content or {}
        except OSError as error:
            raise UnableToOnboard(f"{path} cannot be read: {error.strerror}") from None
        except UnableToParseYaml as error:
            raise UnableToOnboard(f"{path}: {error}") from None
    if not isinstance(fields, dict):
        raise UnableToOnboard(f"{path} is no mapping: write the fields of a dataset, such as owner: data-team")
    return {**fields, **{name: options[name] for name in GIVEN if options[name] is not None}}


def _onboard(onboarding: Onboarding) -> list[OnboardedTable]:
    """Onboard, write it into the audit, and make the tests."""
    with transaction.atomic():
        tables = onboard(onboarding, now=clock.now())
        created = [table.name for table in tables if table.state == "new"]
        origin, key = command_origin(), ", ".join(onboarding.names)
        record(origin, "catalog.onboarded", kind="catalog", key=key, before=None, after={"created": created})
    while tasks.reconcile():
        pass
    return tables
