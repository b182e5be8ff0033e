"""What a test would have raised: the live fold over past results, incidents, who was told, and the score of it."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.verdicts.sustain import SeenRun
from assay.time.windows import Window
from execution_engine.language.parse import parse
from execution_engine.outcome import Outcome
from incident_manager.backtests.rules import BacktestIncident, BacktestTerms, Muted, PastWindow, other_bounds, raised

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TERMS = BacktestTerms(sustain=4 * HOUR, period=DAY, grace=HOUR)
SPAN = Window(start=MARCH, end=MARCH + 28 * DAY)
HELD, BROKEN, ERROR = Outcome.HELD, Outcome.BROKEN, Outcome.ERROR


def day(number: int) -> Window:
    return Window(start=MARCH + number * DAY, end=MARCH + (number + 1) * DAY)


def past(number: int, *seen: tuple[float, Outcome]) -> PastWindow:
    """A day, due two hours after its end, with results so many hours after it was due."""
    due = day(number).end + 2 * HOUR
    results = tuple(
        SeenRun(run_id=at, measured_at=due + hours * HOUR, outcome=outcome) for at, (hours, outcome) in enumerate(seen)
    )
    return PastWindow(window=day(number), due_at=due, results=results)


def due(number: int, hours: float = 0) -> datetime:
    return day(number).end + (2 + hours) * HOUR


def found(*windows: PastWindow, terms: BacktestTerms = TERMS) -> tuple[BacktestIncident, ...]:
    return raised(windows, terms, bad_intervals=(), span=SPAN).incidents


def test_what_holds_raises_nothing() -> None:
    assert found(past(1, (0, HELD)), past(2, (0, HELD))) == ()


def test_a_hiccup_within_the_sustain_raises_nothing() -> None:
    assert found(past(1, (0, BROKEN), (3, HELD))) == ()


def test_what_stays_broken_fails_when_it_was_checked_at_the_end_of_the_sustain() -> None:
    (one,) = found(past(1, (0, BROKEN), (1, BROKEN), (4.1, BROKEN), (9, HELD)))
    assert (one.opened_at, one.resolved_at, one.windows) == (due(1, 4.1), due(1, 9), (day(1),))
    assert one.told_at == due(1, 5.1)


def test_where_nobody_checked_then_what_was_last_found_counts() -> None:
    (one,) = found(past(1, (0, BROKEN), (30, HELD)))
    assert (one.opened_at, one.resolved_at) == (due(1, 4), due(1, 30))


@pytest.mark.parametrize(("sustain", "opened"), [(1, 1), (4, 4), (8, 8), (9, None), (24, None)])
def test_another_sustain_opens_earlier_later_or_never(sustain: float, opened: float | None) -> None:
    terms = BacktestTerms(sustain=sustain * HOUR, period=DAY, grace=HOUR)
    incidents = found(past(1, (0, BROKEN), (1, BROKEN), (8.5, HELD)), terms=terms)
    assert [one.opened_at for one in incidents] == ([] if opened is None else [due(1, opened)])


def test_an_error_neither_breaks_nor_heals() -> None:
    (one,) = found(past(1, (0, BROKEN), (2, ERROR), (4, ERROR), (6, BROKEN), (9, HELD)))
    assert (one.opened_at, one.resolved_at) == (due(1, 6), due(1, 9))


def test_windows_that_fail_together_are_one_incident() -> None:
    (one,) = found(past(1, (0, BROKEN), (40, HELD)), past(2, (0, BROKEN), (20, HELD)))
    assert (one.opened_at, one.resolved_at, one.windows) == (due(1, 4), due(2, 20), (day(1), day(2)))


def test_what_fails_within_a_period_opens_the_same_one_again() -> None:
    (one,) = found(past(1, (0, BROKEN), (20, HELD)), past(2, (0, BROKEN), (20, HELD)))
    assert [(episode.start, episode.end) for episode in one.episodes] == [
        (due(1, 4), due(1, 20)),
        (due(2, 4), due(2, 20)),
    ]
    assert one.duration == 32 * HOUR


def test_what_fails_later_is_another_one() -> None:
    assert len(found(past(1, (0, BROKEN), (20, HELD)), past(5, (0, BROKEN), (20, HELD)))) == 2


def test_what_never_healed_is_open_to_the_end() -> None:
    (one,) = found(past(1, (0, BROKEN)))
    assert (one.is_open, one.resolved_at, one.episodes[-1].end) == (True, None, SPAN.end)


def test_what_is_over_within_the_grace_is_told_to_nobody() -> None:
    (one,) = found(past(1, (0, BROKEN), (4.5, HELD)))
    assert (one.told_at, one.muted_by) == (None, "")


def test_what_another_trouble_explains_is_told_once_that_explains_it_no_more() -> None:
    def explained(one: BacktestIncident, at: datetime) -> Muted | None:
        return Muted(cause="freshness of raw.events", again_at=due(1, 10)) if at < due(1, 10) else None

    long, short = past(1, (0, BROKEN), (20, HELD)), past(1, (0, BROKEN), (9, HELD))
    (told,) = raised([long], TERMS, bad_intervals=(), span=SPAN, explained=explained).incidents
    (muted,) = raised([short], TERMS, bad_intervals=(), span=SPAN, explained=explained).incidents
    assert (told.told_at, told.muted_by) == (due(1, 10), "")
    assert (muted.told_at, muted.muted_by) == (None, "freshness of raw.events")


def test_window_after_window_that_starts_broken_is_a_streak() -> None:
    hourly = BacktestTerms(sustain=3 * HOUR, period=HOUR, grace=HOUR)
    hours = [
        PastWindow(
            window=Window(start=MARCH + at * HOUR, end=MARCH + (at + 1) * HOUR),
            due_at=MARCH + (at + 1) * HOUR,
            results=(
                SeenRun(run_id=2 * at, measured_at=MARCH + (at + 1) * HOUR, outcome=BROKEN),
                SeenRun(run_id=2 * at + 1, measured_at=MARCH + (at + 3.5) * HOUR, outcome=HELD),
            ),
        )
        for at in range(6)
    ]
    (one,) = raised(hours, hourly, bad_intervals=(), span=SPAN).incidents
    assert one.opened_at == MARCH + 4 * HOUR  # three hours behind the first that started broken
    assert raised(hours[:3], hourly, bad_intervals=(), span=SPAN).incidents == ()


def test_precision_and_recall_are_shares_of_time() -> None:
    bad = (Window(start=due(1, 10), end=due(1, 40)), Window(start=due(9), end=due(9, 10)))
    found = raised([past(1, (0, BROKEN), (24, HELD))], TERMS, bad_intervals=bad, span=SPAN)
    assert found.precision == pytest.approx(14 / 20)
    assert found.recall == pytest.approx(14 / 40)
    assert (found.a_week(len(found.incidents)), found.notices) == (0.25, 1)


def test_where_nothing_was_bad_or_raised_there_is_no_share() -> None:
    found = raised([past(1, (0, HELD)), past(2, (0, ERROR))], TERMS, bad_intervals=(), span=SPAN)
    assert (found.precision, found.recall) == (None, None)
    assert (found.held, found.broken, found.unjudged) == (1, 0, 1)


@pytest.mark.parametrize(
    ("assertion", "values", "others"),
    [
        ("row_count() >= 80", [100, 100, 100], ["95", "90", "85", "75", "70", "60"]),
        ("80 <= row_count()", [100, 100, 100], ["95", "90", "85", "75", "70", "60"]),
        ("mean(fare) < 30", [10, 10], ["15", "20", "25", "35", "40", "50"]),
        (
            "completeness(email) >= 99 %",
            [1.0, 1.0, 0.995],
            ["99.75 %", "99.5 %", "99.25 %", "98.75 %", "98.5 %", "98 %"],
        ),
        ("completeness(email) >= 1", [1.0, 1.0], ["0.99", "0.98", "0.95"]),
        ("row_count() <= 100", [120], []),  # most values break it: no bound lies between
        ("row_count() = 5", [5], []),
        ("row_count() > 5 and mean(fare) > 1", [5], []),
        ("row_count() >= mean(row_count(), last=7)", [5], []),
        ("not row_count() > 5", [5], []),
        ("row_count() > 5", [], []),
    ],
)
def test_other_bounds_move_by_shares_of_the_distance_to_what_is_usual(
    assertion: str, values: list[float], others: list[str]
) -> None:
    found = other_bounds(parse(assertion), values)
    literals = [one.text.replace("row_count()", "").replace("mean(fare)", "") for one in found]
    assert [text.replace("completeness(email)", "").strip(" <>=") for text in literals] == others
    assert [one.is_looser for one in found] == sorted(one.is_looser for one in found)


def test_both_ends_of_a_range_move() -> None:
    texts = [one.text for one in other_bounds(parse("row_count() between 80 and 140"), [100])]
    assert texts[0] == "row_count() between 95 and 110"
    assert texts[-1] == "row_count() between 60 and 180"
