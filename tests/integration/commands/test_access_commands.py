"""``assay member`` and ``assay token``: what they print, how they exit, and what the audit says of it."""

import getpass
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from assay.command_line.cli import run as run_command
from assay.command_line.exit_codes import ExitCode
from assay.models import AccessToken, AuditEntry

pytestmark = pytest.mark.django_db(transaction=True)  # a command closes its connection


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run_command([*arguments, "--json"]) == ExitCode.HELD
    return json.loads(capsys.readouterr().out)


def test_a_service_gets_a_role_and_a_token_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    member = answer(capsys, "member", "etl", "--role", "producer", "--team", "trips")
    assert (member["role"], member["teams"], member["active"]) == ("producer", ["trips"], True)
    made = answer(capsys, "token", "create", "etl", "--scope", "read", "--scope", "gate", "--days", "9")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {made['token']}")
    assert client.get("/api/v1/datasets").status_code == 200
    assert not User.objects.get(username="etl").has_usable_password()
    entries = AuditEntry.objects.order_by("pk").values_list("action", "via", "actor")
    actor = entries[0][2]
    assert [entry[:2] for entry in entries] == [("member.set", "command"), ("token.create", "command")]
    assert actor.startswith(f"{getpass.getuser()}@")


def test_tokens_are_listed_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "member", "etl", "--role", "producer")
    made = answer(capsys, "token", "create", "etl", "--scope", "ingest")
    (listed,) = answer(capsys, "token", "list", "etl")["tokens"]
    assert {**listed, "token": made["token"]} == made
    answer(capsys, "token", "revoke", made["id"])
    assert not AccessToken.objects.exists()
    assert AuditEntry.objects.get(action="token.revoke").after is None


def test_somebody_is_shut_out_and_let_in_again(capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "member", "bob", "--role", "owner", "--team", "trips")
    assert answer(capsys, "member", "bob", "--shut-out")["active"] is False
    assert run_command(["token", "create", "bob", "--scope", "read"]) == ExitCode.UNABLE
    let_in = answer(capsys, "member", "bob", "--let-in", "--no-teams")
    assert (let_in["active"], let_in["teams"], let_in["role"]) == (True, [], "owner")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["member", "nobody"], "Nobody is called 'nobody'"),
        (["member", "nobody", "--team", "trips"], "assay member nobody --role viewer"),
        (["member", "bob", "--role", "emperor"], "invalid choice: 'emperor'"),
        (["token", "create", "nobody", "--scope", "read"], "No active user is called 'nobody'"),
        (["token", "create", "bob", "--scope", "all"], "invalid choice: 'all'"),
        (["token", "create", "bob"], "--scope"),
        (["token", "revoke", "123"], "No token has the id '123'"),
        (["token"], "do"),
    ],
)
def test_what_cannot_be_done_says_why(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert run_command(arguments) == ExitCode.UNABLE
    assert said in capsys.readouterr().err
    assert not AuditEntry.objects.exists()


def test_a_token_lives_no_longer_than_the_set_up_allows(capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "member", "etl", "--role", "producer")
    assert run_command(["token", "create", "etl", "--scope", "read", "--days", "1000"]) == ExitCode.UNABLE
    assert "ASSAY_TOKEN_DAYS" in capsys.readouterr().err
