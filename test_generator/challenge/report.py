"""A challenge as one JSON object, and as tables for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .challenge import Challenge, Sound
from .injector import ErrorKind, shares_of
from .tally import Caught, Missed, Trial, by_cell, by_column, by_kind, caught, gains

MOST_SHOWN = 20  # columns, and suggestions; --json has all
WIDEST = 100  # characters of an assertion


def as_json(found: Challenge, *, table: str, seed: int, asked: Sequence[str]) -> dict[str, Any]:
    """All that was found. ``asked`` are the names of the tests that were held against copies."""
    judged = [name for name in asked if name not in found.unjudged]
    why = {one.assertion: one for one in found.suggested}
    alarms = [name for sound in found.sound for name in sound.suggestions]
    return {
        "table": table,
        "seed": seed,
        "past_windows": found.past,
        "windows": [_sound(one) for one in found.sound],
        "tests": judged,
        "suggestions_offered": len(found.suggested),
        "caught": _caught(caught(found.trials), has_tests=bool(judged)),
        "kinds": {
            kind.value: {
                **_caught(total, has_tests=bool(judged)),
                "shares": {
                    f"{share:g}": _caught(cell, has_tests=bool(judged))
                    for (of, share), cell in by_cell(found.trials).items()
                    if of is kind
                },
            }
            for kind, total in by_kind(found.trials).items()
        },
        "columns": [_missed(one, has_tests=bool(judged)) for one in by_column(found.trials)],
        "suggestions": [
            {
                "assertion": gain.assertion,
                "why": why[gain.assertion].why,
                "catches": gain.catches,
                "adds": gain.adds,
                "false_alarms": alarms.count(gain.assertion),
            }
            for gain in gains(found.trials)
        ],
        "not_judged": dict(found.unjudged),
        "copies": [_trial(one) for one in found.trials],
    }


def _sound(one: Sound) -> dict[str, Any]:
    return {
        "window": one.window,
        "rows": one.rows,
        "tests": list(one.tests),
        "suggestions": list(one.suggestions),
        "novel": one.novel,
    }


def _caught(some: Caught, *, has_tests: bool) -> dict[str, Any]:
    """``tests_share`` is None where there is no test to count."""
    copies = some.copies or 1
    return {
        "copies": some.copies,
        "tests": some.tests,
        "with_suggestions": some.with_suggestions,
        "with_novelty": some.with_novelty,
        "tests_share": round(some.tests / copies, 4) if has_tests and some.copies else None,
    }


def _missed(one: Missed, *, has_tests: bool) -> dict[str, Any]:
    return {
        "column": one.column,
        **_caught(one.caught, has_tests=has_tests),
        "missed_by_tests": {kind.value: count for kind, count in one.by_tests.items()},
        "missed_by_all": {kind.value: count for kind, count in one.by_all.items()},
    }


def _trial(one: Trial) -> dict[str, Any]:
    return {
        "window": one.window,
        "kind": one.kind.value,
        "share": one.share,
        "columns": list(one.columns),
        "rows": one.rows,
        "tests": list(one.tests),
        "suggestions": list(one.suggestions),
        "novel": one.novel,
    }


def show(console: Console, result: Mapping[str, Any]) -> None:
    """What was caught by kind, what is missed by column, what would catch it, false alarms, and what was not judged."""
    console.print(_kinds(result))
    console.print(_summary(result), soft_wrap=True)
    has_tests = bool(result["tests"])
    if columns := [one for one in result["columns"] if one["missed_by_tests" if has_tests else "missed_by_all"]]:
        console.print(_columns(columns, has_tests=has_tests))
    if helpful := [one for one in result["suggestions"] if one["adds"]]:
        console.print(_suggestions(helpful, has_tests=has_tests))
    _show_alarms(console, result["windows"])
    if result["not_judged"]:
        console.print("Not judged on copies:")
    for name, why in result["not_judged"].items():
        console.print(escape(f"  {name}: {why}"), soft_wrap=True)


def _kinds(result: Mapping[str, Any]) -> Table:
    title = f"{result['table']}: % caught by its tests|and suggestions|and novelty, by share of rows"
    shares = sorted({share for kind in result["kinds"] for share in shares_of(ErrorKind(kind))})
    table = Table("error", *(f"{share:.0%}" for share in shares), "all", title=escape(title))
    for kind, row in result["kinds"].items():
        cells = [_cell(row["shares"].get(f"{share:g}")) for share in shares]
        table.add_row(kind, *cells, _cell(row))
    table.add_section()
    table.add_row("all", *[""] * len(shares), _cell(result["caught"]))
    return table


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or not row["copies"]:
        return "–"
    first = "–" if row["tests_share"] is None else f"{100 * row['tests'] / row['copies']:.0f}"
    rest = (f"{100 * row[part] / row['copies']:.0f}" for part in ("with_suggestions", "with_novelty"))
    return "|".join((first, *rest))


def _summary(result: Mapping[str, Any]) -> str:
    windows = ", ".join(one["window"] for one in result["windows"])
    tests = _counted(len(result["tests"]), "test")
    return escape(
        f"{_counted(result['caught']['copies'], 'copy', 'copies')} of {windows} (seed {result['seed']}), judged by "
        f"{tests}, {_counted(result['suggestions_offered'], 'suggestion')} and novelty, "
        f"after {_counted(result['past_windows'], 'window')} before"
    )


def _columns(columns: Sequence[Mapping[str, Any]], *, has_tests: bool) -> Table:
    heads = ["column", "copies", *(["missed by its tests"] if has_tests else []), "missed by everything"]
    table = Table(*heads, title="what is missed, by column", caption=_more(columns))
    for one in columns[:MOST_SHOWN]:
        by_tests = [_listed(one["missed_by_tests"])] if has_tests else []
        table.add_row(escape(one["column"]), str(one["copies"]), *by_tests, _listed(one["missed_by_all"]))
    return table


def _suggestions(some: Sequence[Mapping[str, Any]], *, has_tests: bool) -> Table:
    title = "what would catch what its tests miss" if has_tests else "which suggestions catch most"
    table = Table("adds", "catches", "suggestion", "as", "false alarms", title=title, caption=_more(some))
    for one in some[:MOST_SHOWN]:
        text, alarms = one["assertion"], str(one["false_alarms"] or "")
        shown = text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
        table.add_row(str(one["adds"]), str(one["catches"]), escape(shown), escape(one["why"]), alarms)
    return table


def _more(some: Sequence[Any]) -> str | None:
    more = len(some) - MOST_SHOWN
    return f"and {more} more (--json has all)" if more > 0 else None


def _show_alarms(console: Console, windows: Sequence[Mapping[str, Any]]) -> None:
    said = [
        escape(
            f"  {one['window']}: {', '.join([*one['tests'], *one['suggestions'], *(['novelty'] * bool(one['novel']))])}"
        )
        for one in windows
        if one["tests"] or one["suggestions"] or one["novel"]
    ]
    if said:
        console.print("False alarms, unless the window is wrong itself (its copies count as missed by these):")
        console.print("\n".join(said), soft_wrap=True)
    else:
        console.print("No false alarm on the windows as they are.")
    if any(one["novel"] is None for one in windows):
        console.print("Novelty is still learning: it needs 8 windows before.")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in counts.items())


def _counted(count: int, what: str, many: str = "") -> str:
    return f"{count} {what if count == 1 else many or what + 's'}"
