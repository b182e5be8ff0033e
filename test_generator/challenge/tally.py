"""What was caught of the errors that were put in: by kind and share, by column, and by which suggestion (pure)."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .injector import ErrorKind

K = TypeVar("K", bound=Hashable)

ROWS = "whole rows"  # in place of a column, where rows were added or left out


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One spoilt copy of a window, and who says of it, and not of the sound copy, that something is wrong.

    ``novel`` is None where too few windows came before.
    """

    window: str
    kind: ErrorKind
    share: float
    columns: tuple[str, ...]
    rows: int
    tests: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    novel: bool | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that were spoilt; that of whole rows where there is none."""
        return self.columns or (ROWS,)


@dataclass(frozen=True, kw_only=True)
class Caught:
    """Of so many copies, those that tests catch, those that tests or suggestions do, and those that anything does."""

    copies: int
    tests: int
    with_suggestions: int
    with_novelty: int


@dataclass(frozen=True, kw_only=True)
class Missed:
    """What no live test caught in one column, by kind: how many copies, and in how many nothing else did either."""

    column: str
    caught: Caught
    by_tests: Mapping[ErrorKind, int] = field(default_factory=dict)
    by_all: Mapping[ErrorKind, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Gain:
    """A suggestion: the copies that it catches and tests miss, and those that no suggestion above it catches either."""

    assertion: str
    catches: int
    adds: int


def caught(trials: Iterable[Trial]) -> Caught:
    """How many of them, and by whom."""
    some = list(trials)
    return Caught(
        copies=len(some),
        tests=sum(bool(each.tests) for each in some),
        with_suggestions=sum(bool(each.tests or each.suggestions) for each in some),
        with_novelty=sum(bool(each.tests or each.suggestions or each.novel) for each in some),
    )


def by_cell(trials: Sequence[Trial]) -> dict[tuple[ErrorKind, float], Caught]:
    """By kind and share of rows, in the order of the kinds."""
    found = _grouped(trials, lambda trial: [(trial.kind, trial.share)])
    kinds = list(ErrorKind)
    return {cell: caught(found[cell]) for cell in sorted(found, key=lambda cell: (kinds.index(cell[0]), cell[1]))}


def by_kind(trials: Sequence[Trial]) -> dict[ErrorKind, Caught]:
    """By kind, over all shares."""
    found = _grouped(trials, lambda trial: [trial.kind])
    return {kind: caught(found[kind]) for kind in ErrorKind if kind in found}


def by_column(trials: Sequence[Trial]) -> list[Missed]:
    """What is missed in each column that was spoilt, the column of which tests miss most first."""
    found = _grouped(trials, lambda trial: trial.places)
    missed = [_missed(column, some) for column, some in found.items()]
    return sorted(missed, key=lambda one: (-sum(one.by_tests.values()), one.column))


def gains(trials: Sequence[Trial]) -> list[Gain]:
    """The suggestions that catch what tests miss: each time the one that adds most; those that add nothing last."""
    catching: dict[str, set[int]] = {}
    for at, trial in enumerate(trials):
        for assertion in () if trial.tests else trial.suggestions:
            catching.setdefault(assertion, set()).add(at)
    found: list[Gain] = []
    known: set[int] = set()
    while catching:
        best = max(catching, key=lambda assertion: (len(catching[assertion] - known), len(catching[assertion])))
        own = catching.pop(best)
        found.append(Gain(assertion=best, catches=len(own), adds=len(own - known)))
        known |= own
    return found


def _missed(column: str, trials: Collection[Trial]) -> Missed:
    by_tests: dict[ErrorKind, int] = {}
    by_all: dict[ErrorKind, int] = {}
    for trial in trials:
        if not trial.tests:
            by_tests[trial.kind] = by_tests.get(trial.kind, 0) + 1
        if not (trial.tests or trial.suggestions or trial.novel):
            by_all[trial.kind] = by_all.get(trial.kind, 0) + 1
    return Missed(column=column, caught=caught(trials), by_tests=by_tests, by_all=by_all)


def _grouped(trials: Iterable[Trial], keys: Callable[[Trial], Iterable[K]]) -> dict[K, list[Trial]]:
    found: dict[K, list[Trial]] = {}
    for trial in trials:
        for key in keys(trial):
            found.setdefault(key, []).append(trial)
    return found
