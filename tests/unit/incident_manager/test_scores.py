"""Precision, recall and quality, against a grid of minutes counted by numpy, and against intervals one by one."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.time.windows import Window
from incident_manager.incidents.lifecycle import How
from incident_manager.scores.rules import Score, score_queries
from tests.unit.incident_manager import scores_by_intervals
from tests.unit.incident_manager.scored_records import Place, score, score_dataset, score_records
from tests.unit.incident_manager.scores_by_intervals import ConfirmedReport, DetectedIncident, OpenTime, Record, combine

START = datetime(2024, 3, 5, tzinfo=UTC)
LENGTH = 200  # minutes on the grid
MINUTE = timedelta(minutes=1)


def at(minute: int) -> datetime:
    return START + minute * MINUTE


def span(start: int, end: int) -> Window:
    return Window(start=at(start), end=at(end))


def during(start: int, end: int | None = None) -> OpenTime:
    return OpenTime(start=at(start), end=None if end is None else at(end))


def found(*episodes: OpenTime, how: How | None = How.AUTO, about: Window | None = None) -> DetectedIncident:
    return DetectedIncident(episodes=episodes, how=how, windows=(about or span(0, 10),))


def reported(start: int, end: int | None, *, about: Window | None = None) -> ConfirmedReport:
    return ConfirmedReport(episode=during(start, end), windows=(about or span(0, 10),))


ALWAYS = span(-1000, 1000)


def record(incidents: list[DetectedIncident], reports: list[ConfirmedReport], tested: Window | None = ALWAYS) -> Record:
    return Record(incidents=tuple(incidents), reports=tuple(reports), tested=tested)


def scored(incidents: list[DetectedIncident], reports: list[ConfirmedReport]) -> Score:
    """The score of a dataset with one category, tested all the time."""
    return score(record(incidents, reports), ASKED, detected=incidents)


ASKED = span(0, 100)


@pytest.mark.parametrize(
    ("incidents", "reports", "times"),
    [
        ([], [], (0, 0, 0, 0)),
        ([found(during(10, 30))], [], (20, 0, 0, 20)),
        ([found(during(10, 30)), found(during(20, 40))], [], (30, 0, 0, 30)),
        ([found(during(10, 30), during(50, 60))], [], (30, 0, 0, 30)),
        ([found(during(-50, 10)), found(during(90, 150))], [], (20, 0, 0, 20)),
        ([found(during(90), how=None)], [], (10, 0, 0, 10)),
        ([found(during(10, 30), how=How.ACCEPTED)], [], (20, 0, 0, 20)),
        ([found(during(10, 30), how=How.FORCED)], [], (0, 20, 0, 0)),
        ([found(during(10, 30), how=How.REDEFINED)], [], (0, 20, 0, 0)),
        ([found(during(10, 30), how=How.WITHDRAWN)], [], (0, 0, 0, 0)),
        ([found(during(10, 30)), found(during(20, 40), how=How.FORCED)], [], (20, 10, 0, 20)),
        ([], [reported(10, 30)], (0, 0, 20, 20)),
        ([found(during(20, 30))], [reported(10, 30)], (10, 0, 10, 20)),
        ([found(during(20, 25), how=How.FORCED)], [reported(10, 30)], (0, 5, 15, 15)),
        ([found(during(20, 25), how=How.WITHDRAWN)], [reported(10, 30)], (0, 0, 20, 20)),
        ([], [reported(80, None)], (0, 0, 20, 20)),
        (  # a forced hour that was really bad is no false alarm and no miss
            [found(during(0, 30), how=How.FORCED), found(during(10, 20))],
            [reported(10, 40, about=span(70, 80))],
            (10, 20, 20, 30),
        ),
    ],
)
def test_times_by_what_became_of_incidents_and_reports(
    incidents: list[DetectedIncident], reports: list[ConfirmedReport], times: tuple[int, int, int, int]
) -> None:
    found_score = scored(incidents, reports)
    parts = (found_score.true_positive, found_score.false_positive, found_score.false_negative, found_score.bad)
    assert tuple(part / MINUTE for part in parts) == times


def test_precision_recall_and_quality_are_shares_of_time() -> None:
    found_score = scored([found(during(0, 30)), found(during(50, 60), how=How.FORCED)], [reported(70, 90)])
    assert found_score.precision == 0.75
    assert found_score.recall == 0.6
    assert found_score.bad_share == 0.5
    assert found_score.data_quality == 0.5


def test_nothing_alerted_and_nothing_bad_has_no_precision_and_no_recall() -> None:
    quiet = scored([], [])
    assert (quiet.precision, quiet.recall, quiet.data_quality) == (None, None, 1)
    assert score_records({}, (ASKED.start, ASKED.end), {})[0].all() == Score()


def test_datasets_weigh_by_their_time() -> None:
    one, other = scored([found(during(0, 10))], []), scored([found(during(0, 30), how=How.FORCED)], [])
    assert (one.bad, other.bad) == (10 * MINUTE, 0 * MINUTE)
    records = {
        ("all", "one", "custom"): record([found(during(0, 10))], []),
        ("all", "other", "custom"): record([found(during(0, 30), how=How.FORCED)], []),
    }
    sums, _ = score_records(records, (ASKED.start, ASKED.end), {"one": (), "other": ()})
    assert sums.score(0) == sums.all() == combine([one, other])
    assert sums.all().precision == 0.25
    assert sums.all().data_quality == 0.95


@pytest.mark.parametrize(
    ("about", "missed"),
    [
        (span(0, 10), 10),  # the windows that the report calls bad: from minute 20 on a test knew
        (span(9, 70), 10),
        (span(70, 80), 20),  # other windows: it said nothing of these
    ],
)
def test_an_incident_of_another_category_shortens_the_miss_on_the_same_windows_alone(
    about: Window, missed: int
) -> None:
    other = found(during(20, 30), about=about)
    by_category = {"freshness": record([other], []), "completeness": record([], [reported(10, 30)])}
    result = score_dataset(by_category, ASKED, detected=[other])
    assert result.by_category["completeness"].false_negative / MINUTE == missed
    assert result.by_category["freshness"].false_negative / MINUTE == 0


HOUR = timedelta(hours=1)


def hours(start: int, end: int) -> Window:
    return Window(start=START + start * HOUR, end=START + end * HOUR)


def bad_hours(start: int, end: int) -> DetectedIncident:
    window = hours(start, end)
    return DetectedIncident(
        episodes=(OpenTime(start=window.start, end=window.end),), how=How.AUTO, windows=(hours(-24, 0),)
    )


A_DAY = hours(0, 24)


def quality(by_category: dict[str, list[DetectedIncident]], tested: Window | None = A_DAY) -> float | None:
    records = {category: record(incidents, [], tested) for category, incidents in by_category.items()}
    detected = [incident for incidents in by_category.values() for incident in incidents]
    return score_dataset(records, A_DAY, detected=detected).whole.data_quality


def test_twelve_bad_hours_of_a_day_are_half_a_day_whatever_the_categories() -> None:
    assert quality({"freshness": [bad_hours(0, 12)]}) == 0.5
    assert quality({"freshness": [bad_hours(0, 12)], "completeness": [bad_hours(0, 12)]}) == 0.5
    assert quality({"freshness": [bad_hours(0, 12)], "completeness": []}) == 0.5
    assert quality({"freshness": [bad_hours(0, 12)], "completeness": [bad_hours(6, 18)]}) == 0.25


@pytest.mark.parametrize(
    ("tested", "expected"),
    [
        (hours(0, 24), 0.75),
        (hours(-100, 100), 0.75),
        (hours(12, 24), 0.5),  # the time before the first test counts neither good nor bad
        (hours(0, 12), 1.0),  # nor does that after the last
        (hours(30, 40), None),
        (None, None),
    ],
)
def test_only_time_in_which_a_dataset_is_tested_counts(tested: Window | None, expected: float | None) -> None:
    assert quality({"custom": [bad_hours(12, 18)]}, tested) == expected


def test_a_dataset_is_tested_from_the_first_test_of_any_category() -> None:
    early, late = record([], [], hours(0, 24)), record([bad_hours(20, 24)], [], hours(16, 24))
    result = score_dataset({"freshness": early, "custom": late}, A_DAY, detected=late.incidents)
    assert (result.whole.total, result.by_category["custom"].total) == (24 * HOUR, 8 * HOUR)
    assert result.by_category["custom"].data_quality == 0.5
    assert result.whole.data_quality == pytest.approx(1 - 4 / 24)


def test_a_report_an_hour_before_its_incident_is_missed_for_that_hour() -> None:
    detected = bad_hours(1, 12)
    whole_time = OpenTime(start=START, end=START + 12 * HOUR)
    claim = ConfirmedReport(episode=whole_time, windows=(hours(-24, 0),))
    same = score_dataset({"completeness": record([detected], [claim])}, A_DAY, detected=[detected])
    assert same.by_category["completeness"].recall == pytest.approx(11 / 12)
    split = {"completeness": record([detected], []), "custom": record([], [claim])}
    assert score_dataset(split, A_DAY, detected=[detected]).whole.recall == pytest.approx(11 / 12)


def test_a_query_is_scored_as_recorded_and_without_those_later_forced() -> None:
    result = score_queries(5, [[How.FORCED], [How.FORCED, How.AUTO], [None]])
    assert (result.total, result.failed, result.failed_without_forced) == (5, 3, 2)
    assert result.failed_share == 0.6
    assert result.quality == 0.4
    assert result.quality_without_forced == 0.6


Grid = npt.NDArray[np.bool_]


def painted(episodes: list[OpenTime], asked: Window) -> Grid:
    grid = np.zeros(LENGTH, dtype=bool)
    for episode in episodes:
        end = LENGTH if episode.end is None else int((episode.end - START) / MINUTE)
        grid[int((episode.start - START) / MINUTE) : end] = True
    inside = np.zeros(LENGTH, dtype=bool)
    inside[int((asked.start - START) / MINUTE) : int((asked.end - START) / MINUTE)] = True
    return grid & inside


def by_grid(incidents: list[DetectedIncident], reports: list[ConfirmedReport], asked: Window) -> Score:
    """Section by section what the definition says, minute by minute."""
    real, false, missed = (np.zeros(LENGTH, dtype=bool) for _ in range(3))
    for incident in incidents:
        if incident.how in (How.AUTO, How.ACCEPTED, None):
            real |= painted(list(incident.episodes), asked)
        if incident.how in (How.FORCED, How.REDEFINED):
            false |= painted(list(incident.episodes), asked)
    for report in reports:
        alone = painted([report.episode], asked)
        for incident in incidents:
            touches = any(max(a.start, b.start) < min(a.end, b.end) for a in incident.windows for b in report.windows)
            if touches and incident.how is not How.WITHDRAWN:
                alone &= ~painted(list(incident.episodes), asked)
        missed |= alone
    tp, fp, fn, bad = (int(g.sum()) * MINUTE for g in (real, false & ~real, missed & ~real, real | missed))
    return Score(true_positive=tp, false_positive=fp, false_negative=fn, bad=bad, total=asked.duration)


starts, lengths = st.integers(0, 150), st.integers(1, 49)
spans = st.builds(lambda start, length: span(start, start + length), starts, lengths)
episodes = st.builds(lambda start, length: during(start, None if length == 49 else start + length), starts, lengths)
detections = st.builds(
    lambda some, how, about: DetectedIncident(episodes=tuple(some), how=how, windows=(about,)),
    st.lists(episodes, min_size=1, max_size=3),
    st.sampled_from([None, *How]),
    spans,
)
confirmations = st.builds(lambda episode, about: ConfirmedReport(episode=episode, windows=(about,)), episodes, spans)


@given(st.lists(detections, max_size=5), st.lists(confirmations, max_size=3), spans)
def test_a_score_is_what_counting_minutes_gives(
    incidents: list[DetectedIncident], reports: list[ConfirmedReport], asked: Window
) -> None:
    expected = by_grid(incidents, reports, asked)
    actual = score(record(incidents, reports), asked, detected=incidents)
    for part in ("true_positive", "false_positive", "false_negative", "bad", "total", "precision", "recall"):
        assert getattr(actual, part) == getattr(expected, part), part


@st.composite
def records_of_groups(draw: st.DrawFn) -> dict[Place, Record]:
    """Records of groups, datasets and categories; some of them tested only for a while, or never."""
    places = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("pq"))
    odd = st.builds(lambda one, other: during(one, other), starts, starts)  # some end when they begin, or before
    again = st.lists(st.one_of(episodes, odd), max_size=3)
    incidents = st.builds(
        lambda some, how, about: DetectedIncident(episodes=tuple(some), how=how, windows=(about,)),
        again,
        st.sampled_from([None, *How]),
        spans,
    )
    one = st.builds(
        record, st.lists(incidents, max_size=4), st.lists(confirmations, max_size=2), st.one_of(st.none(), spans)
    )
    return draw(st.dictionaries(places, one, max_size=8))


@given(records_of_groups(), st.lists(st.integers(0, 200), min_size=2, max_size=5, unique=True))
def test_groups_are_scored_at_once_as_dataset_by_dataset(records: dict[Place, Record], minutes: list[int]) -> None:
    edges = [at(minute) for minute in sorted(minutes)]
    detected = {name: [i for (_, of, _), one in records.items() if of == name for i in one.incidents] for name in "xyz"}
    sums, names = score_records(records, edges, detected)
    assert set(names) == {group for group, _, _ in records}

    def expected(group: str, asked: Window) -> Score:
        own = {name: {c: one for (g, d, c), one in records.items() if (g, d) == (group, name)} for name in "xyz"}
        scores = [scores_by_intervals.score_dataset(own[name], asked, detected=detected[name]) for name in "xyz"]
        return combine(each.whole for each in scores)

    whole = Window(start=edges[0], end=edges[-1])
    for number, name in enumerate(names):
        assert sums.score(number) == expected(name, whole)
        parts = [expected(name, Window(start=one, end=other)) for one, other in pairwise(edges)]
        assert list(sums.parts(number)) == parts
    assert sums.all() == combine(expected(name, whole) for name in names)


def test_a_score_of_nothing_has_no_shares() -> None:
    nothing = Score()
    assert (nothing.precision, nothing.recall, nothing.bad_share, nothing.data_quality) == (None, None, None, None)
    none = score_queries(0, [])
    assert (none.failed_share, none.quality, none.quality_without_forced) == (None, None, None)


def test_a_query_that_failed_by_nothing_that_is_known_is_no_forced_one() -> None:
    result = score_queries(2, [[], [How.FORCED, How.FORCED]])
    assert (result.failed, result.failed_without_forced) == (2, 1)


@pytest.mark.parametrize(
    ("incidents", "reports", "is_open"),
    [
        ([found(during(10, 30))], [], False),
        ([found(during(10), how=None)], [], True),
        ([], [reported(10, None)], True),
        ([found(during(100), how=None)], [], False),  # it begins where the range ends
        ([found(during(99), how=None)], [], True),
        ([found(during(10), how=How.WITHDRAWN)], [], False),
        ([found(during(10, 20), during(30), how=None)], [], True),
        ([found(during(10, 200))], [], False),
        ([], [reported(100, None)], False),
    ],
)
def test_only_what_is_open_before_the_ranges_end_still_grows(
    incidents: list[DetectedIncident], reports: list[ConfirmedReport], is_open: bool
) -> None:
    assert scored(incidents, reports).open is is_open
    assert score_dataset({"custom": record(incidents, reports)}, ASKED, detected=incidents).whole.open is is_open


def test_an_untested_record_scores_its_times_and_no_quality() -> None:
    only = record([found(during(10, 30))], [], None)
    alone = score(only, ASKED, detected=())
    assert (alone.true_positive, alone.bad, alone.total) == (20 * MINUTE, 0 * MINUTE, 0 * MINUTE)
    whole = score_dataset({"custom": only}, ASKED, detected=()).whole
    assert (whole.true_positive, whole.bad, whole.total) == (20 * MINUTE, 0 * MINUTE, 0 * MINUTE)


def test_an_incident_that_names_no_windows_shortens_no_miss() -> None:
    nameless = DetectedIncident(episodes=(during(10, 20),), how=How.AUTO)
    result = score(record([], [reported(10, 30)]), ASKED, detected=[nameless])
    assert result.false_negative == 20 * MINUTE


def test_the_data_of_a_dataset_is_bad_while_tests_or_reports_say_so_once() -> None:
    records = {
        "freshness": record([found(during(0, 20))], []),
        "custom": record([], [reported(10, 40, about=span(70, 80))]),
    }
    whole = score_dataset(records, ASKED, detected=records["freshness"].incidents).whole
    assert (whole.true_positive, whole.false_negative, whole.bad) == (20 * MINUTE, 30 * MINUTE, 40 * MINUTE)
