"""What was caught is counted once, by the first of tests, suggestions and novelty that speaks."""

import re
from dataclasses import asdict
from io import StringIO
from typing import Any

from rich.console import Console

from test_generator.challenge.injector import ErrorKind
from test_generator.challenge.report import (
    ROWS,
    Caught,
    Challenge,
    Gain,
    Sound,
    Trial,
    as_json,
    by_column,
    gains,
    show,
)
from test_generator.suggestions.suggest import Suggestion


def trial(
    kind: ErrorKind = ErrorKind.SCALE,
    *columns: str,
    share: float = 0.1,
    tests: tuple[str, ...] = (),
    suggestions: tuple[str, ...] = (),
    novel: bool | None = False,
) -> Trial:
    return Trial(
        window="2026-03-01",
        kind=kind,
        share=share,
        columns=columns,
        rows=5,
        tests=tests,
        suggestions=suggestions,
        novel=novel,
    )


BY_TEST = trial(ErrorKind.SCALE, "fare", tests=("t",), suggestions=("s",), novel=True)
BY_SUGGESTION = trial(ErrorKind.SCALE, "fare", share=0.5, suggestions=("s",))
BY_NOVELTY = trial(ErrorKind.CASE, "city", novel=True)
BY_NOBODY = trial(ErrorKind.CASE, "city", novel=None)
ALL = [BY_NOBODY, BY_NOVELTY, BY_SUGGESTION, BY_TEST]


def test_a_swap_is_missed_in_both_columns_and_lost_rows_in_none() -> None:
    swapped = trial(ErrorKind.SWAPPED_TEXTS, "from", "to")
    assert [one.column for one in by_column([swapped])] == ["from", "to"]
    assert [one.column for one in by_column([trial(ErrorKind.PARTIAL)])] == [ROWS]


def test_suggestions_are_ranked_by_what_they_add_to_tests_and_to_those_above_them() -> None:
    trials = [
        trial(suggestions=("a", "b")),
        trial(suggestions=("a",)),
        trial(suggestions=("b", "c")),
        trial(suggestions=("c",), tests=("t",)),
    ]
    assert gains(trials) == [
        Gain(assertion="a", catches=2, adds=2),
        Gain(assertion="b", catches=2, adds=1),
        Gain(assertion="c", catches=1, adds=0),
    ]
    assert gains([]) == []


LONG = "s" * 101
CHALLENGE = Challenge(
    sound=[
        Sound(window="2026-03-01", rows=50, tests=(), suggestions=(LONG, "[s]"), novel=None),
        Sound(window="2026-03-02", rows=50, tests=("t",), suggestions=(), novel=True),
        Sound(window="2026-03-03", rows=50, tests=(), suggestions=(), novel=False),
    ],
    trials=[*ALL, trial(ErrorKind.STALE, share=1.0, novel=True), trial(ErrorKind.CASE, "[a]", suggestions=(LONG, "c"))],
    suggested=[
        Suggestion(rule="r", columns=(), assertion=text, why=f"by [{text[:4]}]", fitted=8, held=2, tried=2, cost="")
        for text in ("s", LONG, "c", "unused")
    ],
    unjudged={"broken": "no [place]"},
    past=1,
)


def counts(copies: int, tests: int, with_suggestions: int, with_novelty: int, share: float | None) -> dict[str, Any]:
    counted = Caught(copies=copies, tests=tests, with_suggestions=with_suggestions, with_novelty=with_novelty)
    return {**asdict(counted), "tests_share": share}


def test_all_results_are_told_as_json() -> None:
    result = as_json(CHALLENGE, table="shop/[trips]", seed=7, tests=["t", "broken", "u"])
    assert result == {
        "table": "shop/[trips]",
        "seed": 7,
        "past_windows": 1,
        "windows": [asdict(sound) for sound in CHALLENGE.sound],
        "tests": ["t", "u"],
        "suggestions_offered": 4,
        "caught": counts(6, 1, 3, 5, 0.1667),
        "kinds": {
            "scale": {
                **counts(2, 1, 2, 2, 0.5),
                "shares": {"0.1": counts(1, 1, 1, 1, 1), "0.5": counts(1, 0, 1, 1, 0)},
            },
            "case": {**counts(3, 0, 1, 2, 0), "shares": {"0.1": counts(3, 0, 1, 2, 0)}},
            "stale copy": {**counts(1, 0, 0, 1, 0), "shares": {"1": counts(1, 0, 0, 1, 0)}},
        },
        "columns": [
            {"column": name, **counted, "missed_by_tests": by_tests, "missed_by_all": by_all}
            for name, counted, by_tests, by_all in (
                ("city", counts(2, 0, 0, 1, 0), {"case": 2}, {"case": 1}),
                ("[a]", counts(1, 0, 1, 1, 0), {"case": 1}, {}),
                ("fare", counts(2, 1, 2, 2, 0.5), {"scale": 1}, {}),
                ("whole rows", counts(1, 0, 0, 1, 0), {"stale copy": 1}, {}),
            )
        ],
        "suggestions": [
            {"assertion": "s", "why": "by [s]", "catches": 1, "adds": 1, "false_alarms": 0},
            {"assertion": LONG, "why": "by [ssss]", "catches": 1, "adds": 1, "false_alarms": 1},
            {"assertion": "c", "why": "by [c]", "catches": 1, "adds": 0, "false_alarms": 0},
        ],
        "not_judged": {"broken": "no [place]"},
        "copies": [{**asdict(copy), "kind": copy.kind.value} for copy in CHALLENGE.trials],
    }


def text_of(challenge: Challenge, *tests: str) -> str:
    """What people read, without the frames of its tables, and its words one space apart."""
    console = Console(file=StringIO(), width=160)
    show(console, as_json(challenge, table="shop/[trips]", seed=7, tests=tests))
    assert isinstance(console.file, StringIO)
    return " ".join(re.sub("[\u2500-\u257f]", " ", console.file.getvalue()).split())


def test_people_read_what_was_caught_what_is_missed_and_false_alarms() -> None:
    lines = [
        "shop/[trips]: % caught by its tests|and suggestions|and novelty, by share of rows",
        "error 1% 5% 10% 20% 50% 100% all",
        "scale – – 100|100|100 – 0|100|100 – 50|100|100",
        "case – – 0|33|67 – – – 0|33|67",
        "stale copy – – – – – 0|0|100 0|0|100",
        "all 17|50|83",
        "6 copies of 2026-03-01, 2026-03-02, 2026-03-03 (seed 7), judged by 2 tests, 4 suggestions and novelty, "
        "after 1 window before",
        "what is missed, by column",
        "column copies missed by its tests missed by everything",
        *("city 2 case 2 case 1", "[a] 1 case 1", "fare 2 scale 1", "whole rows 1 stale copy 1"),
        "what would catch what its tests miss",
        "adds catches suggestion as false alarms",
        "1 1 s by [s]",
        f"1 1 {'s' * 99}… by [ssss] 1",
        "False alarms, unless the window is wrong itself (its copies count as missed by these):",
        f"2026-03-01: {LONG}, [s]",
        "2026-03-02: t, novelty",
        "Novelty is still learning: it needs 8 windows before.",
        "Not judged on copies:",
        "broken: no [place]",
    ]
    assert text_of(CHALLENGE, "t", "broken", "u") == " ".join(lines)


def test_without_tests_people_read_what_everything_misses_and_which_suggestions_catch_most() -> None:
    spoilt = [trial(ErrorKind.CASE, f"c{at:02d}") for at in range(21)]
    helped = Challenge(trials=[*spoilt, BY_SUGGESTION], suggested=CHALLENGE.suggested, sound=CHALLENGE.sound[2:])
    lines = [
        "shop/[trips]: % caught by its tests|and suggestions|and novelty, by share of rows",
        "error 1% 5% 10% 20% 50% all",
        "scale – – – – –|100|100 –|100|100",
        "case – – –|0|0 – – –|0|0",
        "all –|5|5",
        "22 copies of 2026-03-03 (seed 7), judged by 0 tests, 4 suggestions and novelty, after 0 windows before",
        "what is missed, by column",
        "column copies missed by everything",
        *(f"c{at:02d} 1 case 1" for at in range(20)),
        "and 1 more (--json has all)",
        "which suggestions catch most",
        "adds catches suggestion as false alarms",
        "1 1 s by [s]",
        "No false alarm on the windows as they are.",
    ]
    assert text_of(helped) == " ".join(lines)
