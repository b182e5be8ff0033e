"""What a challenge caught and missed: by kind and share, column and suggestion; as JSON, and as tables for people."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from test_generator.suggestions.suggest import Suggestion

from .injector import ErrorKind, shares_of

K = TypeVar("K", bound=Hashable)

ROWS = "whole rows"  # in place of a column, where rows were added or left out
MOST_SHOWN = 20  # columns, and suggestions; --json has all
WIDEST = 100  # characters of an assertion


@dataclass(frozen=True, kw_only=True)
class Sound:
    """What is said of a window as it is: false alarms, unless it is wrong itself. ``novel``: None while it learns."""

    window: str
    rows: int
    tests: tuple[str, ...]
    suggestions: tuple[str, ...]
    novel: bool | None


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


@dataclass(kw_only=True)
class Challenge:
    """All results; ``unjudged`` says of each test that could not be judged on a copy why not."""

    sound: list[Sound] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    suggested: list[Suggestion] = field(default_factory=list)
    unjudged: dict[str, str] = field(default_factory=dict)
    past: int = 0  # windows before the first that was challenged


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
    by_whom = [(bool(trial.tests), bool(trial.suggestions), bool(trial.novel)) for trial in trials]
    return Caught(
        copies=len(by_whom),
        tests=sum(tests for tests, _, _ in by_whom),
        with_suggestions=sum(tests or suggestions for tests, suggestions, _ in by_whom),
        with_novelty=sum(map(any, by_whom)),
    )


def by_cell(trials: Sequence[Trial]) -> dict[tuple[ErrorKind, float], Caught]:
    """By kind and share of rows, in the order of the kinds."""
    groups = _grouped(trials, lambda trial: [(trial.kind, trial.share)])
    kinds = list(ErrorKind)
    return {cell: caught(groups[cell]) for cell in sorted(groups, key=lambda cell: (kinds.index(cell[0]), cell[1]))}


def by_kind(trials: Sequence[Trial]) -> dict[ErrorKind, Caught]:
    """By kind, over all shares."""
    groups = _grouped(trials, lambda trial: [trial.kind])
    return {kind: caught(groups[kind]) for kind in ErrorKind if kind in groups}


def by_column(trials: Sequence[Trial]) -> list[Missed]:
    """What is missed in each column that was spoilt, the column of which tests miss most first."""
    missed = [
        Missed(
            column=column,
            caught=caught(group),
            by_tests=Counter(trial.kind for trial in group if not trial.tests),
            by_all=Counter(trial.kind for trial in group if not (trial.tests or trial.suggestions or trial.novel)),
        )
        for column, group in _grouped(trials, lambda trial: trial.places).items()
    ]
    return sorted(missed, key=lambda column: (-sum(column.by_tests.values()), column.column))


def gains(trials: Sequence[Trial]) -> list[Gain]:
    """The suggestions that catch what tests miss: each time the one that adds most; those that add nothing last."""
    catching: dict[str, set[int]] = {}
    for at, trial in enumerate(trials):
        for assertion in () if trial.tests else trial.suggestions:
            catching.setdefault(assertion, set()).add(at)
    ranking: list[Gain] = []
    covered: set[int] = set()
    while catching:
        best = max(catching, key=lambda assertion: (len(catching[assertion] - covered), len(catching[assertion])))
        copies = catching.pop(best)
        ranking.append(Gain(assertion=best, catches=len(copies), adds=len(copies - covered)))
        covered |= copies
    return ranking


def _grouped(trials: Iterable[Trial], keys: Callable[[Trial], Iterable[K]]) -> dict[K, list[Trial]]:
    groups: dict[K, list[Trial]] = {}
    for trial in trials:
        for key in keys(trial):
            groups.setdefault(key, []).append(trial)
    return groups


def as_json(challenge: Challenge, *, table: str, seed: int, tests: Sequence[str]) -> dict[str, Any]:
    """All results. ``tests`` are the names of those that were held against copies."""
    trials, judged = challenge.trials, [name for name in tests if name not in challenge.unjudged]
    why = {suggestion.assertion: suggestion.why for suggestion in challenge.suggested}
    alarms = Counter(name for sound in challenge.sound for name in sound.suggestions)

    def counts(part: Caught) -> dict[str, Any]:
        share = round(part.tests / part.copies, 4) if judged and part.copies else None  # None: no test to count
        return {**asdict(part), "tests_share": share}

    cells = by_cell(trials)
    return {
        "table": table,
        "seed": seed,
        "past_windows": challenge.past,
        "windows": [asdict(sound) for sound in challenge.sound],
        "tests": judged,
        "suggestions_offered": len(challenge.suggested),
        "caught": counts(caught(trials)),
        "kinds": {
            kind.value: {
                **counts(total),
                "shares": {f"{share:g}": counts(cell) for (of, share), cell in cells.items() if of is kind},
            }
            for kind, total in by_kind(trials).items()
        },
        "columns": [
            {
                "column": missed.column,
                **counts(missed.caught),
                "missed_by_tests": {kind.value: count for kind, count in missed.by_tests.items()},
                "missed_by_all": {kind.value: count for kind, count in missed.by_all.items()},
            }
            for missed in by_column(trials)
        ],
        "suggestions": [
            {
                "assertion": gain.assertion,
                "why": why[gain.assertion],
                "catches": gain.catches,
                "adds": gain.adds,
                "false_alarms": alarms[gain.assertion],
            }
            for gain in gains(trials)
        ],
        "not_judged": dict(challenge.unjudged),
        "copies": [{**asdict(trial), "kind": trial.kind.value} for trial in trials],
    }


def show(console: Console, result: Mapping[str, Any]) -> None:
    """What was caught by kind, what is missed by column, what would catch it, false alarms, and what was not judged."""
    has_tests = bool(result["tests"])
    console.print(_kinds(result))
    windows = ", ".join(window["window"] for window in result["windows"])
    summary = (
        f"{_counted(result['caught']['copies'], 'copy', 'copies')} of {windows} (seed {result['seed']}), judged by "
        f"{_counted(len(result['tests']), 'test')}, {_counted(result['suggestions_offered'], 'suggestion')} and "
        f"novelty, after {_counted(result['past_windows'], 'window')} before"
    )
    console.print(escape(summary), soft_wrap=True)
    if columns := [row for row in result["columns"] if row["missed_by_tests" if has_tests else "missed_by_all"]]:
        heads = ["column", "copies", *(["missed by its tests"] if has_tests else []), "missed by everything"]
        table = Table(*heads, title="what is missed, by column", caption=_more(columns))
        for row in columns[:MOST_SHOWN]:
            by_tests = [_listed(row["missed_by_tests"])] if has_tests else []
            table.add_row(escape(row["column"]), str(row["copies"]), *by_tests, _listed(row["missed_by_all"]))
        console.print(table)
    if helpful := [row for row in result["suggestions"] if row["adds"]]:
        title = "what would catch what its tests miss" if has_tests else "which suggestions catch most"
        heads = ["adds", "catches", "suggestion", "as", "false alarms"]
        table = Table(*heads, title=title, caption=_more(helpful))
        for row in helpful[:MOST_SHOWN]:
            text, false_alarms = row["assertion"], str(row["false_alarms"] or "")
            text = text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
            table.add_row(str(row["adds"]), str(row["catches"]), escape(text), escape(row["why"]), false_alarms)
        console.print(table)
    alarms = {
        row["window"]: [*row["tests"], *row["suggestions"], *["novelty"] * bool(row["novel"])]
        for row in result["windows"]
    }
    if any(alarms.values()):
        console.print("False alarms, unless the window is wrong itself (its copies count as missed by these):")
        lines = [escape(f"  {window}: {', '.join(names)}") for window, names in alarms.items() if names]
        console.print("\n".join(lines), soft_wrap=True)
    else:
        console.print("No false alarm on the windows as they are.")
    if any(row["novel"] is None for row in result["windows"]):
        console.print("Novelty is still learning: it needs 8 windows before.")
    if result["not_judged"]:
        console.print("Not judged on copies:")
    for name, why in result["not_judged"].items():
        console.print(escape(f"  {name}: {why}"), soft_wrap=True)


def _kinds(result: Mapping[str, Any]) -> Table:
    def cell(row: Mapping[str, Any] | None) -> str:
        if row is None or not row["copies"]:
            return "–"
        first = "–" if row["tests_share"] is None else f"{100 * row['tests'] / row['copies']:.0f}"
        return "|".join(
            (first, *(f"{100 * row[part] / row['copies']:.0f}" for part in ("with_suggestions", "with_novelty")))
        )

    title = f"{result['table']}: % caught by its tests|and suggestions|and novelty, by share of rows"
    shares = sorted({share for kind in result["kinds"] for share in shares_of(ErrorKind(kind))})
    table = Table("error", *(f"{share:.0%}" for share in shares), "all", title=escape(title))
    for kind, row in result["kinds"].items():
        table.add_row(kind, *(cell(row["shares"].get(f"{share:g}")) for share in shares), cell(row))
    table.add_section()
    table.add_row("all", *[""] * len(shares), cell(result["caught"]))
    return table


def _more(rows: Sequence[Any]) -> str | None:
    more = len(rows) - MOST_SHOWN
    return f"and {more} more (--json has all)" if more > 0 else None


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in counts.items())


def _counted(count: int, what: str, many: str = "") -> str:
    return f"{count} {what if count == 1 else many or what + 's'}"
