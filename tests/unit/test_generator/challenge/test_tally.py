"""What was caught is counted once, by the first of tests, suggestions and novelty that speaks."""

from test_generator.challenge.injector import ErrorKind
from test_generator.challenge.report import ROWS, Caught, Gain, Trial, by_cell, by_column, by_kind, caught, gains


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


def test_each_judge_adds_to_those_before_it() -> None:
    assert caught(ALL) == Caught(copies=4, tests=1, with_suggestions=2, with_novelty=3)
    assert caught([]) == Caught(copies=0, tests=0, with_suggestions=0, with_novelty=0)


def test_copies_are_counted_by_kind_and_by_share_in_their_order() -> None:
    assert list(by_cell(ALL)) == [(ErrorKind.SCALE, 0.1), (ErrorKind.SCALE, 0.5), (ErrorKind.CASE, 0.1)]
    assert by_cell(ALL)[ErrorKind.SCALE, 0.5] == Caught(copies=1, tests=0, with_suggestions=1, with_novelty=1)
    assert by_kind(ALL)[ErrorKind.CASE] == Caught(copies=2, tests=0, with_suggestions=0, with_novelty=1)


def test_the_column_of_which_tests_miss_most_comes_first() -> None:
    first, second = by_column(ALL)
    assert (first.column, first.by_tests, first.by_all) == ("city", {ErrorKind.CASE: 2}, {ErrorKind.CASE: 1})
    assert (second.column, second.by_tests, second.by_all) == ("fare", {ErrorKind.SCALE: 1}, {})


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
