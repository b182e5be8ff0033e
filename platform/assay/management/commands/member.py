"""``assay member``: give people and services their role."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from rich.console import Console

from assay.access import Role
from assay.accounts import member_as_json, set_member
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin
from assay.command_line.exit_codes import ExitCode


class Command(Base):
    """Set the role, the teams and whether somebody is let in; without options, show them."""

    help = "Show or set the role of a user; a name that is new is added without a password (set one: changepassword)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, and what."""
        parser.add_argument("user", help="name of the user or service")
        parser.add_argument("--role", choices=[role.value for role in Role], help="their role")
        parser.add_argument(
            "--team", action="append", dest="teams", metavar="TEAM", help="one of their teams; may be repeated"
        )
        parser.add_argument("--no-teams", action="store_const", const=[], dest="teams", help="take all teams away")
        parser.add_argument(
            "--shut-out",
            action="store_false",
            dest="active",
            default=None,
            help="end their sessions and tokens, and refuse them",
        )
        parser.add_argument("--let-in", action="store_true", dest="active", default=None, help="no longer refuse them")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """The member."""
        changes = {"teams": options["teams"], "is_active": options["active"]}
        role = Role(options["role"]) if options["role"] else None
        user = User.objects.filter(username=options["user"]).first()
        if user is None and role is None:  # a role must be said, so that a mistyped name adds nobody
            name = options["user"]
            raise UnableToRun(f"Nobody is called {name!r} here; `assay member {name} --role viewer` adds them.")
        user = user or User.objects.create_user(options["user"])
        if role is None and all(value is None for value in changes.values()):
            return ExitCode.HELD, member_as_json(user)
        if role and user.is_superuser and role is not Role.ADMIN:
            raise UnableToRun(f"{user} is a superuser, and so an admin: take that away first, in Python's shell.")
        return ExitCode.HELD, set_member(user, role=role, **changes, origin=command_origin())

    def show(self, console: Console, result: Any) -> None:
        """One line."""
        teams = f", teams {', '.join(result['teams'])}" if result["teams"] else ""
        console.print(f"{result['name']}: {result['role']}{teams}{'' if result['active'] else ', shut out'}")
