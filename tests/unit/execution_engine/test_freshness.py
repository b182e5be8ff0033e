from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.freshness.rules import (
    CompletionEvent,
    JudgedWindow,
    SampledSupply,
    Supply,
    WindowEvidence,
    freshness_value,
    is_covered,
    judge_rows,
    rows_told,
    same_weekdays,
    share_asked,
    waits,
)
from execution_engine.language.parse import parse

DAILY = Partitioning(granularity=Granularity.DAY, time_zone="Europe/Berlin")


def judged(rows: float, **given: object) -> JudgedWindow:
    facts = {"share": 0.9, "supplies": (), "announced": False, "usual": (), "allow_empty": False} | given
    return judge_rows(rows, **facts)  # type: ignore[arg-type]


def supply(rows: float, complete: bool = True) -> Supply:
    return Supply(rows=rows, complete=complete)


@pytest.mark.parametrize(
    ("rows", "given", "expected"),
    [
        (1, {}, True),  # any rows, where nothing is known
        (0, {}, False),
        (0, {"allow_empty": True}, True),
        (0, {"announced": True}, False),
        (0, {"announced": True, "allow_empty": True}, True),
        (0, {"supplies": [supply(0)]}, False),
        (0, {"supplies": [supply(0)], "allow_empty": True}, True),
        (90, {"supplies": [supply(100)]}, True),
        (89, {"supplies": [supply(100)]}, False),
        (500, {"supplies": [supply(100)]}, True),
        (100, {"supplies": [supply(100, complete=False)]}, False),
        (100, {"supplies": [supply(100), supply(200)]}, False),
        (1, {"announced": True, "supplies": [supply(100)]}, False),  # an upstream says more than an event
        (1, {"announced": True, "usual": [100, 100, 100]}, True),  # an event says more than what is usual
        (90, {"announced": True, "event_rows": 100}, True),
        (89, {"announced": True, "event_rows": 100}, False),
        (0, {"announced": True, "event_rows": 0}, False),
        (0, {"announced": True, "event_rows": 0, "allow_empty": True}, True),
        (1, {"event_rows": 100}, True),  # of a piece of the window only
        (50, {"usual": [90, 100, 110]}, True),  # three that vary say too little: nobody can know
        (9, {"usual": [95, 100, 100, 100, 105]}, False),  # fewer than the band has, however little that says of more
        (69, {"usual": [100, 100, 100]}, False),
        (70, {"usual": [100, 100, 100]}, True),  # a count varies by its square root
        (9600, {"usual": [9900, 9900, 10000, 10100, 10100, 10000, 9900, 10100]}, True),
        (9400, {"usual": [9900, 9900, 10000, 10100, 10100, 10000, 9900, 10100]}, False),
        (30_000, {"usual": [9900, 10000, 10100]}, True),  # more than expected is no lateness
        (1, {"usual": [100, 100]}, True),  # two are too few to forecast from
        (51, {"usual": [100, 20, 300, 100]}, True),
        (90, {"samples": [SampledSupply(size=100, present=90, name="app.orders")]}, True),
        (90, {"samples": [SampledSupply(size=100, present=89, name="app.orders")]}, False),
        (90, {"samples": [SampledSupply(size=0, present=0, name="app.orders")], "usual": [200] * 3}, False),
        (90, {"samples": [SampledSupply(size=100, present=50, name="app.orders")], "announced": True}, True),
        (90, {"samples": [SampledSupply(size=100, present=100, name="app.orders")], "usual": [200] * 3}, True),
        (0, {"usual": [100, 100, 100], "allow_empty": True}, False),
        (0, {"usual": [0, 0, 0], "allow_empty": True}, True),
    ],
)
def test_when_a_window_is_complete(rows: float, given: dict[str, object], expected: bool) -> None:
    assert judged(rows, **given).complete is expected


@pytest.mark.parametrize(
    ("rows", "given", "basis"),
    [
        (5000, {"announced": True, "event_rows": 5000}, "complete: 5,000 of 5,000 rows that the pipeline told of"),
        (4000, {"announced": True, "event_rows": 5000}, "incomplete: 4,000 of 5,000 rows that the pipeline told of"),
        (7, {"announced": True}, "complete: 7 rows, and the pipeline says that these are all"),
        (
            4900,
            {"usual": [4790, 4800, 4810]},
            "complete: 4,900 rows, of at least 4,543 expected after 3 windows like it",
        ),
        (
            2300,
            {"usual": [4700, 4800, 4900]},
            "complete: 2,300 rows; whether these are all cannot be known, as after 3 windows like it any number from "
            "2,222 on would be usual",
        ),
        (
            1,
            {"usual": [100, 20, 300]},
            "complete: 1 rows; whether these are all cannot be known, as after 3 windows like it any number would be "
            "usual",
        ),
        (
            100,
            {"usual": [4800, 4800, 4800]},
            "incomplete: 100 rows, of at least 4,593 expected after 3 windows like it",
        ),
        (
            7,
            {},
            "complete: 7 rows; whether these are all cannot be known, as nothing says yet how many there should be",
        ),
        (0, {}, "incomplete: no rows"),
        (
            95,
            {"samples": [SampledSupply(size=1000, present=950, name="app.orders")]},
            "complete: 950 of 1,000 keys drawn from app.orders are here",
        ),
        (
            95,
            {"supplies": [Supply(rows=100, complete=True, name="raw.trips")]},
            "complete: 95 of 100 rows of raw.trips",
        ),
        (
            95,
            {"supplies": [Supply(rows=100, complete=False, name="raw.trips")]},
            "incomplete: 95 of 100 rows of raw.trips; raw.trips not complete yet",
        ),
        (80, {"supplies": [supply(50), supply(100)]}, "incomplete: 80 of 100 rows of its upstream"),
    ],
)
def test_what_a_judgement_stood_on_is_said(rows: float, given: dict[str, object], basis: str) -> None:
    assert judged(rows, **given).basis == basis


@pytest.mark.parametrize(
    ("given", "evidence"),
    [
        ({"supplies": [supply(100)]}, WindowEvidence.UPSTREAM),
        ({"announced": True}, WindowEvidence.COMPLETION),
        ({"samples": [SampledSupply(size=1, present=1, name="app.orders")]}, WindowEvidence.SAMPLE),
        ({"usual": [99, 100, 101]}, WindowEvidence.FORECAST),
        ({}, WindowEvidence.NOTHING),
    ],
)
def test_what_a_judgement_stood_on_has_a_word(given: dict[str, object], evidence: WindowEvidence) -> None:
    assert judged(100, **given).evidence is evidence


@pytest.mark.parametrize(
    ("rows", "supplies", "waiting"),
    [
        (95, [supply(100, complete=False)], True),
        (89, [supply(100, complete=False)], False),
        (95, [supply(100, complete=False), supply(200)], False),
        (95, [], False),
    ],
)
def test_a_window_with_all_that_is_there_waits_for_its_supplies(
    rows: float, supplies: list[Supply], waiting: bool
) -> None:
    assert waits(rows, share=0.9, supplies=supplies) is waiting


@given(rows=st.integers(0, 1000), more=st.integers(0, 1000), upstream=st.integers(0, 1000))
def test_more_rows_never_make_a_window_less_complete(rows: int, more: int, upstream: int) -> None:
    fewer, all_ = (judged(count, supplies=[supply(upstream)]).complete for count in (rows, rows + more))
    assert all_ >= fewer


def test_an_incomplete_window_is_as_late_as_its_measurement() -> None:
    end = datetime(2026, 3, 10, tzinfo=UTC)
    late = {"measured_at": end + timedelta(hours=6), "window_end": end}
    assert freshness_value(complete=False, **late) == 6 * 3600
    assert freshness_value(complete=True, **late) == 0


def test_events_cover_a_window_in_any_order_only_without_a_gap() -> None:
    start = datetime(2026, 3, 9, tzinfo=UTC)
    hours = [Window(start=start + timedelta(hours=h), end=start + timedelta(hours=h + 8)) for h in (0, 8, 16)]
    day = Window(start=start, end=start + timedelta(days=1))
    assert all(is_covered(day, order) for order in permutations(hours))
    assert not any(is_covered(day, order) for order in permutations(hours, 2))
    assert not is_covered(day, [])


def test_the_same_weekday_is_found_across_a_change_of_clocks() -> None:
    window = DAILY.window("2026-04-01")
    keys = [DAILY.key(earlier) for earlier in same_weekdays(window, DAILY)]
    assert keys[:6] == ["2026-03-25", "2026-03-18", "2026-03-11", "2026-03-04", "2026-02-25", "2026-02-18"]


def test_a_month_is_compared_with_the_months_before() -> None:
    monthly = Partitioning(granularity=Granularity.MONTH)
    earlier = same_weekdays(monthly.window("2026-03"), monthly)
    assert [monthly.key(window) for window in earlier[:2]] == ["2026-02", "2026-01"]


@pytest.mark.parametrize(
    ("assertion", "share"),
    [
        ("freshness(complete=0.95) < 6h", 0.95),
        ("freshness() < 6h", 1.0),
        ("freshness(complete=0.95) < 6h or freshness(complete=0.9) < 2h", 0.9),
        ("row_count() > 0", 1.0),
    ],
)
def test_the_share_that_completes_a_window_is_read_from_the_assertion(assertion: str, share: float) -> None:
    assert share_asked(parse(assertion)) == share


START = datetime(2026, 3, 9, tzinfo=UTC)
DAY = Window(start=START, end=START + timedelta(days=1))


def hour(number: int) -> Window:
    return Window(start=START + timedelta(hours=number), end=START + timedelta(hours=number + 1))


def completion(
    rows: int | None, run: str = "", overwrites: bool | None = None, window: Window = DAY
) -> CompletionEvent:
    return CompletionEvent(window=window, rows=rows, run=run, overwrites=overwrites)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        *[([], None), ([completion(None)], None), ([completion(5000)], 5000), ([completion(0)], 0)],
        ([completion(60, "a"), completion(40, "b")], 100),
        ([completion(60, "a"), completion(None, "b")], 60),
        ([completion(60, "a"), completion(60, "a")], 60),  # one event that came twice
        ([completion(60, "a"), completion(70, "a")], 70),  # a run that corrects itself
        ([completion(60, "a"), completion(40, "b", True)], 40),
        ([completion(60, "a"), completion(40, "b", True), completion(5, "c")], 45),
        (
            [completion(60, "a"), completion(40, "b", True), completion(60, "a")],
            40,
        ),  # late news of what was overwritten
        ([completion(40, "a", True), completion(40, "a", True)], 40),
        ([completion(60, "a"), completion(None, "b", True)], None),  # replaced by nobody knows how many
        ([completion(5, window=hour(0)), completion(7, window=hour(1))], 12),
        ([completion(5, "a", window=hour(0)), completion(7, "a", window=hour(1))], 12),  # one run, two pieces
        ([completion(5, window=hour(0)), completion(7, window=hour(1)), completion(9, "x", True, hour(1))], 14),
        (
            [completion(700, window=Window(start=START, end=START + timedelta(days=7)))],
            None,
        ),  # of a week: who knows of a day
    ],
)
def test_the_rows_of_runs_add_up_until_one_overwrites_them(events: list[CompletionEvent], expected: int | None) -> None:
    assert rows_told(DAY, events, there=1.0) == expected


@pytest.mark.parametrize(
    ("there", "overwrites", "expected"),
    [
        (100.0, None, 100),  # exactly what the second run wrote: it has overwritten without saying so
        (99.0, None, 200),
        (100.0, False, 200),  # it says that it appended
    ],
)
def test_a_run_that_does_not_say_how_it_wrote_is_known_by_its_rows(
    there: float, overwrites: bool | None, expected: int
) -> None:
    events = [completion(100, "first", overwrites), completion(100, "again", overwrites)]
    assert rows_told(DAY, events, there=there) == expected


def test_a_piece_that_has_as_many_rows_as_the_window_has_not_replaced_it() -> None:
    assert rows_told(DAY, [completion(50, "a"), completion(50, "b", window=hour(1))], there=50.0) == 100
