"""Sets of instants, against the same on a grid of minutes."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.time.windows import Window
from incident_manager.intervals import before, clip, since, subtract, total, union
from incident_manager.reports import split

START = datetime(2024, 3, 5, tzinfo=UTC)


def window(start: int, end: int) -> Window:
    return Window(start=START + timedelta(minutes=start), end=START + timedelta(minutes=end))


def minutes(*windows: Window) -> set[int]:
    def offset(at: datetime) -> int:
        return int((at - START) / timedelta(minutes=1))

    return {minute for one in windows for minute in range(offset(one.start), offset(one.end))}


windows = st.builds(lambda start, length: window(start, start + length), st.integers(0, 60), st.integers(1, 20))
sets = st.lists(windows, max_size=6)


@given(sets)
def test_a_union_has_the_instants_of_its_windows_once(some: list[Window]) -> None:
    merged = union(some)
    assert minutes(*merged) == minutes(*some)
    assert total(merged) == timedelta(minutes=len(minutes(*some)))
    assert all(one.end < other.start for one, other in pairwise(merged))


@given(sets, sets)
def test_a_difference_has_the_instants_of_the_one_and_not_of_the_other(some: list[Window], less: list[Window]) -> None:
    assert minutes(*subtract(some, less)) == minutes(*some) - minutes(*less)


@given(sets, windows)
def test_clipping_keeps_what_is_inside(some: list[Window], to: Window) -> None:
    assert minutes(*clip(some, to)) == minutes(*some) & minutes(to)


@given(windows, st.lists(st.tuples(st.integers(1, 3), windows), max_size=6))
def test_a_report_is_split_into_what_incidents_cover_and_the_rest(
    report: Window, unhealed: list[tuple[int, Window]]
) -> None:
    covered, uncovered = split(report, unhealed)
    known = minutes(*(spoilt for _, spoilt in unhealed))
    assert minutes(*uncovered) == minutes(report) - known
    for incident, parts in covered.items():
        own = minutes(*(spoilt for number, spoilt in unhealed if number == incident))
        assert minutes(*parts) == own & minutes(report) != set()


def test_a_report_may_join_two_incidents_and_open_a_third() -> None:
    covered, uncovered = split(window(0, 60), [(7, window(0, 20)), (8, window(10, 30)), (9, window(60, 90))])
    assert covered == {7: (window(0, 20),), 8: (window(10, 30),)}
    assert uncovered == (window(30, 60),)


@given(sets, st.integers(-5, 90))
def test_what_lies_before_an_instant_and_since_it_is_all_there_is(some: list[Window], minute: int) -> None:
    known, instant = union(some), START + timedelta(minutes=minute)
    early, late = before(known, instant), since(known, instant)
    assert minutes(*early) == {each for each in minutes(*known) if each < minute}
    assert minutes(*late) == {each for each in minutes(*known) if each >= minute}
    assert all(each.start < each.end for each in (*early, *late))


def test_windows_that_touch_are_one_and_what_is_cut_ends_exactly() -> None:
    assert union([window(10, 20), window(0, 10), window(0, 5)]) == (window(0, 20),)
    assert union([]) == ()
    assert total(()) == timedelta(0)
    assert clip([window(0, 10), window(20, 30)], window(10, 25)) == (window(20, 25),)
    assert subtract([window(0, 10)], [window(10, 20)]) == (window(0, 10),)
    assert subtract([window(0, 10), window(15, 30)], [window(5, 20), window(40, 50)]) == (window(0, 5), window(20, 30))
    assert before((window(0, 10), window(20, 30)), window(20, 30).start) == (window(0, 10),)
    assert since((window(0, 10), window(20, 30)), window(0, 10).end) == (window(20, 30),)


def test_a_report_takes_nothing_of_incidents_that_only_touch_it_and_names_them_by_number() -> None:
    covered, uncovered = split(
        window(10, 20), [(9, window(20, 30)), (8, window(15, 40)), (7, window(0, 10)), (3, window(0, 12))]
    )
    assert list(covered.items()) == [(3, (window(10, 12),)), (8, (window(15, 20),))]
    assert uncovered == (window(12, 15),)
