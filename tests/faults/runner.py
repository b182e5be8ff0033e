"""Stage the chosen experiments one after the other; show, and write down, what held."""

import argparse
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.faults.experiment import STAGED, Alone, Experiment, Finding, Scale
from tests.faults.registry import EXPERIMENTS
from tests.faults.report import Result, as_json, show, write_docs
from tests.faults.scene import LIMIT, PATIENCE_QUICK, Overdue, Scene, scene

TABLES_QUICK = 10
PACE = 0.02  # seconds of a scan


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asks for."""

    experiments: Sequence[Experiment | Alone]
    scale: Scale
    seed: int
    home: Path | None
    writes_docs: bool
    json: Path | None


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 where every invariant has held."""
    asked, console = _asked(arguments), Console(stderr=True)
    minutes = sum(each.minutes for each in asked.experiments) * asked.scale.share
    if not asked.scale.is_quick:
        console.print(f"{len(asked.experiments)} experiments, about {minutes / 60:.1f} hours on two quiet cores")
    results = _stage(asked, console)
    show(console, results)
    if asked.json:
        asked.json.write_text(as_json(results))
    return 0 if all(result.finding.has_held for result in results) else 1


def _stage(asked: Asked, console: Console) -> list[Result]:
    results: list[Result] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with TemporaryDirectory(prefix="faults-") as place, Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(asked.experiments))
        with _scenes(asked, asked.home or Path(place)) as scenes:
            for each in asked.experiments:
                progress.update(task, description=f"{each.number}: {each.title}")
                results.append(_one(each, asked.scale, scenes))
                if asked.writes_docs:
                    write_docs(results[-1:])
                told = "held" if results[-1].finding.has_held else "VIOLATED"
                progress.console.print(f"{each.number:3} {each.title}: {told}, {results[-1].seconds:.0f} s")
                progress.advance(task)
    return results


def _one(each: Experiment | Alone, scale: Scale, scenes: "Scenes") -> Result:
    begun = time.monotonic()
    try:
        finding = each.run(scenes.next(each), scale) if isinstance(each, Experiment) else each.run(scale)
    except Overdue as late:
        finding = Finding(violations={"I8": [str(late)]})
        scenes.end()
    except Exception:
        finding = Finding(violations={STAGED: [traceback.format_exc()[-3000:]]})
        scenes.end()
    return Result(experiment=each, scale=scale, finding=finding, seconds=time.monotonic() - begun)


class Scenes:
    """A service for each experiment, or in the quick subset one for all that want a company of the same size."""

    def __init__(self, asked: Asked, home: Path) -> None:
        self._asked, self._home = asked, home
        self._count = 0
        self._open: AbstractContextManager[Scene] | None = None
        self._size = (0, 0)

    def next(self, each: Experiment) -> Scene:
        """The service for the next experiment."""
        size = self._size_of(each)
        if self._open is None or not self._asked.scale.is_quick or size != self._size:
            self.end()
            self._count += 1
            self._open, self._size = self._scene(*size), size
            self._current = self._open.__enter__()
        return self._current

    def end(self) -> None:
        """End the service that runs."""
        if self._open is not None:
            opened, self._open = self._open, None
            opened.__exit__(None, None, None)

    def _size_of(self, each: Experiment) -> tuple[int, int]:
        """The tables of the company, and the tests of each."""
        scale = self._asked.scale
        quick = min(each.tables, TABLES_QUICK)
        return scale.of(each.tables, quick=quick), scale.of(each.tests, quick=each.tests_quick)

    def _scene(self, tables: int, tests: int) -> AbstractContextManager[Scene]:
        return scene(
            self._home / f"{self._count}",
            tables=tables,
            tests=tests,
            seed=self._asked.seed,
            pace=PACE,
            patience=PATIENCE_QUICK if self._asked.scale.is_quick else LIMIT,
        )


@contextmanager
def _scenes(asked: Asked, home: Path) -> Iterator[Scenes]:
    scenes = Scenes(asked, home)
    try:
        yield scenes
    finally:
        scenes.end()


def _asked(arguments: Sequence[str]) -> Asked:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", default="", help="numbers of experiments: 1,3")
    parser.add_argument("--quick", action="store_true", help="the short subset, at its own scale")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size: 0.1")
    parser.add_argument("--seed", type=int, default=1, help="of every random choice")
    parser.add_argument("--home", type=Path, help="folder that is kept, with all logs; otherwise a temporary one")
    parser.add_argument("--docs", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--json", type=Path, help="file for the results")
    given = parser.parse_args(arguments)
    numbers = {int(number) for number in given.only.split(",") if number}
    chosen = [each for each in EXPERIMENTS if (each.number in numbers if numbers else each.is_quick or not given.quick)]
    return Asked(
        experiments=chosen,
        scale=Scale(is_quick=given.quick, share=given.scale),
        seed=given.seed,
        home=given.home,
        writes_docs=given.docs,
        json=given.json,
    )
