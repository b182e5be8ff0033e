"""``python -m benchmarks.service``: how much the service does, by all its processes on this machine.

For development: ``--parts herd --tables 100 --minutes 1``. ``--docs`` writes the tables of docs/benchmarks.md.
"""

import argparse
import importlib.metadata
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.cache import ROOT
from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers
from deploy.local.programs import finish, program

from .figures import Figures, path_of, read

PARTS = ("throughput", "herd", "spark")
TIMED = ("throughput", "spark")  # those that go on for so many minutes
LIBRARIES = ("django", "celery", "mysqlclient", "pyspark")


def main() -> int:
    """Measure each part in a process of its own, and show it as soon as it is there; 1 where one failed."""
    asked, console = _arguments(), Console()
    on, failed = f"{machine()}; {versions()}", 0
    console.print(on, soft_wrap=True)
    for name in asked.parts:
        path_of(name).unlink(missing_ok=True)
        numbers = [str(asked.minutes)] if name in TIMED else []
        numbers += [str(asked.tables)] if asked.tables else []
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.service.{name}", *numbers], cwd=ROOT).returncode
        if not path_of(name).exists():
            continue
        found = read(name)
        console.print(shown(found))
        if asked.docs:
            console.print(f"written: {write_docs(on, found)}", soft_wrap=True)
    return 1 if failed else 0


def versions() -> str:
    """The servers and libraries that do the work."""
    database = finish([program("mariadbd", "mariadb-server-core"), "--version"]).split("Ver ")[-1].split()[0]
    redis = finish([program("redis-server", "redis-server"), "--version"]).split("v=")[-1].split()[0]
    libraries = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    return ", ".join((f"MariaDB {database}", f"Redis {redis}", *libraries))


def shown(figures: Figures) -> Table:
    """A part for the terminal."""
    table = Table("", "", title=figures.heading, title_justify="left", show_header=False)
    for label, value in figures.lines:
        table.add_row(label.replace("**", ""), value.replace("**", ""))
    return table


def write_docs(on: str, figures: Figures) -> Path:
    """The part between its markers in docs/benchmarks.md."""
    lines: Sequence[str] = [f"| {label} | {value} |" for label, value in figures.lines]
    inner = "\n".join([f"Measured on {on}.", "", f"**{figures.heading}**", "", "| | |", "|---|---|", *lines])
    DOCS.write_text(between_markers(DOCS.read_text(), f"service-{figures.name}", inner))
    return DOCS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--parts", type=_parts, default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--minutes", type=float, default=10, help="of throughput and of spark (default 10)")
    parser.add_argument("--tables", type=int, help="default: 2,000, and 1,000 with Spark")
    parser.add_argument("--docs", action="store_true", help="write each part into docs/benchmarks.md when it is done")
    return parser.parse_args()


def _parts(text: str) -> list[str]:
    for name in (names := text.split(",")):
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(PARTS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
