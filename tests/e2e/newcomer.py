"""A new user: lets time pass, asks by commands, pages and the API, and hears what people are told."""

import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import html5lib
import pytest
from django.test import Client

from assay import clock
from assay.command_line.cli import run
from assay.config import config
from assay.queue.drain import advance, drain
from tests.e2e.processes import assay
from tests.e2e.set_ups import default_database
from tests.integration.alerting.receivers import Received

Told = tuple[str, str, str]  # when by the clocks of the company, who, and the subject of the message


@dataclass(frozen=True, kw_only=True)
class Happening:
    """Something that a pipeline, or somebody, does to the tables."""

    at: datetime
    act: Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer of ``--json``."""
        return json.loads(self.out)


@dataclass(kw_only=True)
class Newcomer:
    """Who lives through the week."""

    catalog: Path
    zone: ZoneInfo  # of the company
    days: Mapping[str, Callable[[date], tuple[datetime, datetime]]]  # of each table, when a day begins and ends
    environment: dict[str, str]
    receiver: Received
    client: Client
    coming: list[Happening]
    heard: list[Told] = field(default_factory=list)

    def until(self, instant: datetime) -> None:
        """Let time pass, and what happens in it happen."""
        while self.coming and self.coming[0].at <= instant:
            self._pass(self.coming[0].at)
            self.coming.pop(0).act()
        self._pass(instant)

    def assay(self, *arguments: str) -> Said:
        """A command as users call it, through the same entry point."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(list(arguments))
        return Said(code=code, out=out.getvalue(), err=err.getvalue())

    def program(self, *arguments: str, typed: str = "") -> Said:
        """The real program, in a process of its own."""
        done = subprocess.run(
            [assay(), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            input=typed,
            start_new_session=True,  # without a terminal a password is read from what is typed here
        )
        return Said(code=done.returncode, out=done.stdout, err=done.stderr)

    def get(self, path: str, **query: str) -> Any:
        """The API's answer."""
        answer = self.client.get(f"/api/v1/{path}", query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def look_up(self, table: str, day: date) -> str:
        """What the API says of a day of a table."""
        start, end = self.days[table](day)
        return str(
            self.get("quality", **{"dataset": table, "from": start.isoformat(), "to": end.isoformat()})["status"]
        )

    def gate(self, table: str, day: date) -> str:
        """What the command answers a pipeline that wants to read a day of a table."""
        start, end = self.days[table](day)
        said = self.assay("gate", table, "--window", f"{start.isoformat()}/{end.isoformat()}", "--json")
        decision = str(said.json["decision"])
        assert said.code == {"allow": 0, "block": 1, "warn": 2}[decision]
        return decision

    def answers(self, day: date) -> dict[str, tuple[str, str]]:
        """What look-up and gate say of a day, by table."""
        return {table: (self.look_up(table, day), self.gate(table, day)) for table in self.days}

    def dashboard(self) -> list[tuple[str, str]]:
        """What the first page lists: each table with its status, from the top."""
        page = html5lib.parse(self.client.get("/").content.decode(), namespaceHTMLElements=False)
        rows = page.findall(".//table[@class='matrix stacked']/tbody/tr")
        return [(_text(row.find("th/a")), _text(row.find("td/span")).lower()) for row in rows]

    def cards(self) -> list[str]:
        """The open incidents at the top of the first page: table and category."""
        page = html5lib.parse(self.client.get("/").content.decode(), namespaceHTMLElements=False)
        cards = page.findall(".//ul[@class='cards']/li")
        return [f"{_text(card.find('.//strong'))} {_text(card.find('.//span/span')).lower()}" for card in cards]

    def told(self) -> list[Told]:
        """What people were told since this was asked last."""
        found, self.heard = self.heard, []
        return found

    def _pass(self, instant: datetime) -> None:
        advance(instant, settle=self._settle)

    def _settle(self) -> None:
        drain()
        now = f"{clock.now().astimezone(self.zone):%m-%d %H:%M}"
        for body in self.receiver.bodies:
            message = json.loads(body)
            self.heard.append((now, message["recipient"].partition("@")[0], message["subject"]))
        self.receiver.bodies.clear()


@contextmanager
def empty_home(home: Path, variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A new home, for this process and for programs that get the environment: nothing of Assay is set but these."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "DJANGO_"))}
    environment |= {"ASSAY_HOME": str(home), "ASSAY_WEBHOOK_PRIVATE": "true", **variables}
    for name in [name for name in os.environ if name.startswith("ASSAY_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    home.mkdir()
    config.cache_clear()
    try:
        with default_database(f"sqlite:///{home}/assay.db"):
            yield environment
    finally:
        config.cache_clear()


def _text(node: Any) -> str:
    return "" if node is None else " ".join("".join(node.itertext()).split())
