"""The results for people: on the terminal, and in docs/reliability.md between its markers; and as JSON."""

import json
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.cache import ROOT
from benchmarks.engine.report import between_markers
from tests.faults.experiment import Alone, Experiment, Finding, Scale

DOCS = ROOT / "docs" / "reliability.md"
SHOWN = 5  # violations of each invariant


@dataclass(frozen=True, kw_only=True)
class Result:
    """One experiment as it was staged."""

    experiment: Experiment | Alone
    scale: Scale
    finding: Finding
    seconds: float


def show(console: Console, results: Sequence[Result]) -> None:
    """What held, and the figures."""
    table = Table("", "experiment", "scale", "invariants", "figures", show_lines=True)
    for result in results:
        table.add_row(*_cells(result, "\n"))
    console.print(table)
    for result in results:
        for name, violations in result.finding.violations.items():
            for violation in violations[:SHOWN]:
                console.print(f"{result.experiment.number}: {name} violated: {violation}", markup=False)
            if len(violations) > SHOWN:
                console.print(f"… and {len(violations) - SHOWN} more of {name}")


def as_json(results: Sequence[Result]) -> str:
    """The results for machines."""
    told = [
        {
            "number": result.experiment.number,
            "title": result.experiment.title,
            "scale": result.scale.name,
            "seconds": round(result.seconds, 1),
            **asdict(result.finding),
        }
        for result in results
    ]
    return json.dumps(told, indent=1) + "\n"


def write_docs(results: Sequence[Result]) -> Path:
    """Put the rows of these experiments in place of their earlier ones."""
    text = DOCS.read_text()
    rows = {int(row[1]): row[0] for row in re.finditer(r"^\| (\d+) \|.*$", inside(text, "faults"), re.MULTILINE)}
    for result in results:
        rows[result.experiment.number] = line([*_cells(result, "<br>"), _machine()])
    heading = ("", "experiment", "scale", "invariants", "figures", "on")
    lines = [line(heading), line(["---"] * len(heading)), *[rows[number] for number in sorted(rows)]]
    DOCS.write_text(between_markers(text, "faults", "\n".join(lines)))
    return DOCS


def inside(text: str, name: str) -> str:
    """What stands between the markers of a table now."""
    return text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]


def line(cells: Sequence[str]) -> str:
    """One row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def _cells(result: Result, line: str) -> list[str]:
    violations = result.finding.violations
    held = [name for name, each in violations.items() if not each]
    told = [f"held: {' '.join(held)}"] if held else []
    told += [f"VIOLATED: {name} ({len(each)})" for name, each in violations.items() if each]
    figures = [f"{name}: {value}" for name, value in result.finding.figures]
    scale = f"{result.scale.name}, {result.seconds:,.0f} s"
    return [str(result.experiment.number), result.experiment.title, scale, line.join(told), line.join(figures)]


def _machine() -> str:
    return f"{psutil.cpu_count()} cores, load {psutil.getloadavg()[1]:.1f}, Python {platform.python_version()}"
