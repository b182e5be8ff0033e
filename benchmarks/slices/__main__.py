"""``python -m benchmarks.slices [--weeks 0|1] [--labelled data/RS]``; exits with 1 where a figure is below its bound.

Every second week, 0, and every second labelled case, the first, are those that settings may be tried on.
"""

import argparse
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np

from execution_engine.attribution import explain

from .flights import MAIN, Case, Fault, Flights
from .labelled import scores, verdicts

NAMED, WRONG, NONE, EXACT, SECONDS = 0.85, 0.02, 0.97, 0.55, 0.1
MOVED = (0, 0.03, 0.06, 0.1, 0.2, 1)  # shares of a day's rows


def main() -> None:
    """Print the figures of both kinds of data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", type=Path, help="the folder data/RS of shaido987/riskloc")
    parser.add_argument("--weeks", type=int, choices=(0, 1), help="every second week alone; all without")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=400)
    parser.add_argument("--random", type=int, default=200)
    options = parser.parse_args()
    is_good = _labelled(options.labelled) if options.labelled else True
    flights = Flights(options.weeks)
    named, wrong, _ = _faults(list(flights.faults(options.seed, options.faults)))
    is_good &= named >= NAMED and wrong <= WRONG
    is_good &= _silence("rows at random", flights.random_faults(options.seed + 1, options.random)) >= NONE
    is_good &= _silence("untouched days", flights.untouched_days()) >= NONE
    for fault in (Fault.SUM, Fault.AIR_TIME, Fault.DEP_DELAY):
        print(f"\n{fault}, for comparison")
        _faults(list(flights.faults(options.seed + 2, options.faults // 2, (fault,))))
        _silence("rows at random", flights.random_faults(options.seed + 3, options.random // 2, (fault,)))
        _silence("untouched days", flights.untouched_days((fault,)))
    raise SystemExit(not is_good)


def _labelled(folder: Path) -> bool:
    """One slice a case, as those who published the figures of other methods on these data; then up to three."""
    is_good = True
    for most in (1, 3):
        all_cases = verdicts(folder, most)
        print(f"labelled cases, {most} slice{'s' * (most > 1)} at most")
        for name, cases in (("first half", all_cases[::2]), ("second half", all_cases[1::2]), ("all", all_cases)):
            figures = scores(cases)
            print(f"  {name}: {len(cases)} cases, " + ", ".join(f"{key} {value:.3f}" for key, value in figures.items()))
            is_good &= most > 1 or (figures["exact"] >= EXACT and figures["seconds"] <= SECONDS)
    return is_good


def _faults(cases: list[Case]) -> tuple[float, float, float]:
    """The shares of cases whose slice is named, where another one is, and where none is."""
    started, answers = perf_counter(), np.array([_answer(case) for case in cases])
    seconds = (perf_counter() - started) / len(cases)
    moved = np.array([case.moved for case in cases])
    broken = np.array([_is_broken(case) for case in cases])
    _line("faults", answers, f", {seconds:.4f} s a case")
    _line("  of a metric that left its usual range", answers[broken])
    for low, high in pairwise(MOVED):
        _line(f"  {low:.0%} to {high:.0%} of the rows", answers[(moved > low) & (moved <= high)])
    for fault in MAIN:
        _line(f"  {fault}", answers[[case.fault is fault for case in cases]])
    for columns in sorted({tuple(case.slice or {}) for case in cases}):
        _line(f"  {' × '.join(columns)}", answers[[tuple(case.slice or {}) == columns for case in cases]])
    return tuple(float((answers == answer).mean()) for answer in ("named", "wrong", "none"))  # type: ignore[return-value]


def _answer(case: Case) -> str:
    slices = explain(case.cells).slices
    if not slices:
        return "none"
    return "named" if case.slice and case.is_named(dict(slices[0].values)) else "wrong"


def _is_broken(case: Case) -> bool:
    """Whether the metric of the whole is three standard deviations, by quartiles, from its past."""
    days = case.cells.part.sum(axis=1)
    if case.cells.whole is not None:
        days = days / case.cells.whole.sum(axis=1)
    low, middle, high = np.quantile(days[:-1], (0.25, 0.5, 0.75))
    return bool(abs(days[-1] - middle) > 3 * (high - low) / 1.349)


def _silence(name: str, cases: Iterable[Case]) -> float:
    answers = np.array([_answer(case) for case in cases])
    _line(name, answers)
    return float((answers == "none").mean())


def _line(name: str, answers: "np.ndarray[tuple[int], np.dtype[np.str_]]", more: str = "") -> None:
    if len(answers):
        shares = ", ".join(f"{answer} {(answers == answer).mean():.3f}" for answer in ("named", "none", "wrong"))
        print(f"{name}: {len(answers)} cases, {shares}{more}")


if __name__ == "__main__":
    main()
