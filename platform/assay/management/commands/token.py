"""``assay token``: tokens for services."""

from argparse import SUPPRESS
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table

from assay.access import TokenScope
from assay.accounts import make_token, revoke_token, token_as_json
from assay.command_line.command import Command as Base
from assay.command_line.command import UnableToRun, command_origin
from assay.command_line.exit_codes import ExitCode
from assay.config import config
from assay.models import AccessToken

COLUMNS = ("id", "user", "name", "scopes", "expiry", "last_used_at")


class Command(Base):
    """``create``, ``list`` and ``revoke``."""

    help = "Make, list and revoke the tokens of users and services."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to do."""
        kinds = parser.add_subparsers(dest="do", required=True)
        create = kinds.add_parser("create", help="make a token; it is shown only once")
        create.add_argument("user", help="the user it belongs to")
        scopes = [scope.value for scope in TokenScope]
        create.add_argument("--scope", action="append", dest="scopes", required=True, choices=scopes, help="may repeat")
        create.add_argument("--days", type=int, default=90, help="how long it lives (default 90)")
        create.add_argument("--name", default="command", help="what it is for")
        kinds.add_parser("list", help="list them").add_argument("user", nargs="?", help="of this user only")
        kinds.add_parser("revoke", help="end one").add_argument("id", help="its id, as `list` shows it")
        for parsed in kinds.choices.values():
            parsed.add_argument("--json", action="store_true", default=SUPPRESS, help="print one JSON object")

    def answer(self, **options: Any) -> tuple[ExitCode, Any]:
        """What was asked for."""
        if options["do"] == "create":
            name, days = options["user"], options["days"]
            user = User.objects.filter(username=name, is_active=True).first()
            if user is None:
                raise UnableToRun(f"No active user is called {name!r}; `assay member {name} --role producer` adds one.")
            if not 1 <= days <= config().token_days:
                raise UnableToRun(f"--days must be from 1 to {config().token_days} (ASSAY_TOKEN_DAYS).")
            scopes, origin = options["scopes"], command_origin()
            life = timedelta(days=days)
            row, token = make_token(user, name=options["name"][:100], scopes=scopes, life=life, origin=origin)
            return ExitCode.HELD, {**token_as_json(row), "token": token}
        rows = AccessToken.objects.order_by("-created")
        if options["do"] == "list":
            rows = rows.filter(user__username=options["user"]) if options["user"] else rows
        else:
            rows = rows.filter(token_key=options["id"])
            if not rows:
                raise UnableToRun(f"No token has the id {options['id']!r}; `assay token list` shows them.")
            for row in rows:
                revoke_token(row, origin=command_origin())
        return ExitCode.HELD, {"tokens": [token_as_json(row) for row in rows]}

    def show(self, console: Console, result: Any) -> None:
        """The token by itself, or a table."""
        if "token" in result:
            console.print(result["token"], soft_wrap=True, highlight=False)
            return
        table = Table(*COLUMNS)
        for row in result["tokens"]:
            table.add_row(*(" ".join(row[name]) if name == "scopes" else str(row[name]) for name in COLUMNS))
        console.print(table)
