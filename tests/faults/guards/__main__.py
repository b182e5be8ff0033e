"""``make guards``: take out what each fault experiment guards, one at a time; does the experiment fail?"""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.progress import track

from tests.faults.guards.report import write_docs, write_held
from tests.faults.guards.table import GUARDS
from tests.faults.guards.trial import Answer, held_as_it_is, without


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 where every experiment holds with its guard, and fails by an invariant without it."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.guards", description=__doc__)
    parser.add_argument("--only", default="", help="numbers of experiments: 1,3")
    parser.add_argument("--without-alone", action="store_true", help="do not stage the tree as it is first")
    parser.add_argument("--with-alone", action="store_true", help="stage the tree as it is, and nothing else")
    parser.add_argument("--docs", action="store_true", help="write docs/reliability.md")
    given = parser.parse_args(arguments)
    numbers = {int(number) for number in given.only.split(",") if number}
    chosen = [guard for guard in GUARDS if not numbers or guard.experiment in numbers]
    console = Console(stderr=True)
    held = {} if given.without_alone else held_as_it_is(sorted({guard.experiment for guard in chosen}))
    if given.with_alone:
        console.print(held)
        if given.docs:
            write_held(held)
        return 0 if all(held.values()) else 1
    answers: list[Answer] = []
    for guard in track(chosen, "guards", console=console):
        answers.append(without(guard, held=held.get(guard.experiment)))
        _show(console, answers[-1])
        if given.docs:
            write_docs(answers[-1:])
    return 0 if all(answer.is_guarded for answer in answers) else 1


def _show(console: Console, answer: Answer) -> None:
    sound = "" if answer.held is not False else "; VIOLATED with it"
    line = f"{answer.guard.experiment:3} without {answer.guard.name}: {answer.fate}, {answer.seconds:.0f} s{sound}"
    console.print(line, markup=False)
    for name, count, first in answer.told:
        console.print(f"      {name} ({count}): {first}", markup=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
