"""``python -m benchmarks.year [--days N] [--seed N] [--docs]``: the year; without sustain; with wrong rules kept."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.cache import ROOT, home
from benchmarks.engine.machine import machine
from benchmarks.engine.report import DOCS, between_markers

from .report import AIM, Year, markdown, year_of
from .tally import tally

VARIANTS = {"year": [], "year-without-sustain": ["--no-sustain"], "year-with-rules-kept": ["--keep-rules"]}


def main() -> None:
    """Print and write what was found; exit 1 where recall or precision misses its aim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/benchmarks.md")
    given, on = parser.parse_args(), machine()
    with tempfile.TemporaryDirectory(prefix="bench-year-") as folder:
        asked = ["--days", str(given.days), "--seed", str(given.seed)]
        running = {name: _begin(Path(folder) / name, [*asked, *more]) for name, more in VARIANTS.items()}
        years = {name: _year(name, process, given.days) for name, process in running.items()}
    year = years["year"]
    text = markdown(on, given.seed, year, years["year-without-sustain"], years["year-with-rules-kept"])
    Console(width=160).print(text, soft_wrap=True, markup=False)
    if given.docs:
        DOCS.write_text(between_markers(DOCS.read_text(), "year", text))
    found = tally(year.bad, year.told())
    raise SystemExit((found.recall or 0) < AIM or (found.precision or 0) < AIM)


def _begin(folder: Path, arguments: list[str]) -> subprocess.Popen[str]:
    ours = {
        "ASSAY_DATABASE_URL": "",
        "ASSAY_HOME": str(folder),
        "DJANGO_SETTINGS_MODULE": "assay.settings",
        "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
    }
    command = [sys.executable, "-m", "benchmarks.year.inside.live", *arguments]
    return subprocess.Popen(command, env={**os.environ, **ours}, stdout=subprocess.PIPE, text=True)


def _year(name: str, process: subprocess.Popen[str], days: int) -> Year:
    told, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}")
    (home() / f"{name}.json").write_text(told)  # to look into
    return year_of(json.loads(told), days)


if __name__ == "__main__":
    main()
