"""Figures for people: a table on the terminal and in docs/benchmarks.md, with what they were measured on."""

from collections.abc import Sequence
from importlib.metadata import version

from django.db import connection
from rich.console import Console
from rich.table import Table

from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers

Cells = Sequence[str]


def measured_on() -> str:
    """The machine and the versions, in a line."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        (server,) = cursor.fetchone()
    return f"{machine()}; MariaDB {server}, Django {version('django')}, gunicorn {version('gunicorn')}"


def show(console: Console, headings: Cells, rows: Sequence[Cells]) -> None:
    """The table, on the terminal."""
    table = Table(*headings)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def write_docs(name: str, on: str, headings: Cells, rows: Sequence[Cells], more: str = "") -> None:
    """The table, between the markers of its name."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}", *(f"| {' | '.join(row)} |" for row in rows)]
    inner = "\n".join([f"Measured on {on}.{more}", "", *lines])
    DOCS.write_text(between_markers(DOCS.read_text(), name, inner))
