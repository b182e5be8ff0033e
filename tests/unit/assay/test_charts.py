"""A chart tells the truth: heights, bounds, units, what is far off and what broke; and its words never overlap."""

import re
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.charts.drawing import (
    HEIGHT,
    MOST_POINTS,
    NARROW,
    PICTURE,
    WIDE,
    Chart,
    Mark,
    Point,
    PointState,
    draw,
    draw_small,
)
from assay.charts.scales import panels
from assay.charts.ticks import Unit, length_text, text_width, time_ticks, value_text, value_ticks

START = datetime(2026, 2, 10, tzinfo=UTC)
DAY = timedelta(days=1)
SVG = "{http://www.w3.org/2000/svg}"
CSS = Path(__file__).parents[3] / "web" / "static" / "web" / "assay.css"


def points(
    *values: float | None, low: float | None = None, high: float | None = None, step: timedelta = DAY
) -> list[Point]:
    """One a day; what is beyond its bound broke."""
    made = []
    for place, value in enumerate(values):
        is_broken = value is not None and ((low is not None and value < low) or (high is not None and value > high))
        state = PointState.BROKEN if is_broken else PointState.HELD
        text = f"{place}: {value_text(value, Unit.NUMBER)}"
        made.append(Point(at=START + place * step, value=value, state=state, text=text, low=low, high=high))
    return made


def drawn(chart: Chart, width: float = WIDE) -> ElementTree.Element:
    return ElementTree.fromstring(draw(chart, key="it", width=width))


def texts(chart: Chart, kind: str = "tick", width: float = WIDE) -> list[str]:
    return [element.text or "" for element in drawn(chart, width).iter(f"{SVG}text") if element.get("class") == kind]


def tooltips(svg: ElementTree.Element) -> list[str]:
    return [line.split(" ", 2)[2] for line in (svg.findtext(f"{SVG}metadata") or "").split("\n")]


def paths(svg: ElementTree.Element, kind: str) -> list[str]:
    return [element.get("d") or "" for element in svg.iter(f"{SVG}path") if element.get("class") == kind]


@pytest.mark.parametrize(
    ("low", "high", "unit", "ticks"),
    [
        (4400, 5600, Unit.COUNT, ["4,500", "5,000", "5,500"]),
        (0.99, 1.0, Unit.SHARE, ["99.0 %", "99.5 %", "100.0 %"]),
        (0, 5 * 3600, Unit.LENGTH, ["0", "2 h", "4 h"]),
        (0, 200, Unit.LENGTH, ["0", "1 min", "2 min", "3 min"]),
        (0, 2.5e6, Unit.COUNT, ["0", "1 M", "2 M"]),
        (-0.3, 0.3, Unit.NUMBER, ["-0.2", "0", "0.2"]),
        (0, 1.5, Unit.COUNT, ["0", "1"]),
        (1.0, 1.00001, Unit.NUMBER, ["1.000000", "1.000005", "1.000010"]),
        (1.0, 1.000002, Unit.NUMBER, ["1", "1.0000005", "1.000001", "1.0000015", "1.000002"]),
        (1e15, 3e15, Unit.NUMBER, ["1e+15", "1.5e+15", "2e+15", "2.5e+15", "3e+15"]),
        (7, 7, Unit.NUMBER, []),
    ],
)
def test_ticks_stand_at_round_values_with_their_unit(low: float, high: float, unit: Unit, ticks: list[str]) -> None:
    assert [tick.text for tick in value_ticks(low, high, 3, unit)] == ticks


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.99996, Unit.SHARE, "99.996 %"),
        (0.99999999, Unit.SHARE, "99.9999 %"),  # never rounded up to all
        (12_000, Unit.LENGTH, "3 h 20 min"),
        (1_234_567.0, Unit.COUNT, "1,234,567"),
        (14_609_077.25, Unit.NUMBER, "14,609,077"),
        (None, Unit.COUNT, "–"),
    ],
)
def test_a_tooltip_says_a_value_in_full(value: float | None, unit: Unit, text: str) -> None:
    assert value_text(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0"), (45, "45 s"), (90 * 60, "1 h 30 min"), (3 * 86400 + 7200, "3 d 2 h"), (-60, "-1 min")],
)
def test_a_length_of_time_is_said_in_two_units_at_most(seconds: float, text: str) -> None:
    assert length_text(seconds) == text


@pytest.mark.parametrize(
    ("days", "ticks"),
    [
        (1, [("00:00", "2026-02-10"), ("06:00", "2026-02-10"), ("12:00", "2026-02-10"), ("18:00", "2026-02-10")]),
        (28, [("02-16", "2026"), ("02-23", "2026"), ("03-02", "2026"), ("03-09", "2026")]),  # Mondays
        (400, [("2026-04", ""), ("2026-07", ""), ("2026-10", ""), ("2027-01", "")]),
        (2000, [("2027", ""), ("2028", ""), ("2029", ""), ("2030", ""), ("2031", "")]),
    ],
)
def test_ticks_of_time_follow_the_length_of_the_range(days: int, ticks: list[tuple[str, str]]) -> None:
    made = time_ticks(START, START + days * DAY - timedelta(minutes=1), width=300, size=12, zone=UTC)
    assert [(tick.text, tick.context) for tick in made] == ticks


def test_days_begin_where_they_do_in_the_zone_of_the_data() -> None:
    berlin = time_ticks(START, START + 5 * DAY, width=600, size=12, zone=ZoneInfo("Europe/Berlin"), least=86400)
    assert datetime.fromtimestamp(berlin[0].at, UTC).hour == 23


def test_a_value_that_is_far_off_breaks_the_axis_and_the_usual_unrest_stays_in_sight() -> None:
    calm = [5000.0 + 50 * (place % 5) for place in range(27)]
    upper, lower = reversed(panels([*calm, 5_000_000.0], [4500, 5500], Unit.COUNT, top=0, bottom=200))
    assert lower.bottom - lower.top > upper.bottom - upper.top
    assert lower.high < 6000
    assert upper.low < 5_000_000 < upper.high
    assert lower.y(5200) < lower.y(5000) - 10  # pixels
    assert paths(drawn(Chart(title="rows", points=points(*calm, 5_000_000.0))), "tear")


def test_different_values_far_off_have_different_heights() -> None:
    far = panels([*(1.0 + place % 3 for place in range(20)), 1000.0, 4000.0], [], Unit.NUMBER, top=0, bottom=200)[-1]
    assert far.y(4000.0) < far.y(1000.0) - 20


def test_what_is_far_below_and_far_above_has_a_panel_each() -> None:
    values = [*(5000.0 + 50 * (place % 5) for place in range(27)), 9e6, -9e6]
    below, calm, above = panels(values, [], Unit.NUMBER, top=0, bottom=300)
    assert max((below, calm, above), key=lambda panel: panel.bottom - panel.top) is calm
    assert below.top > calm.bottom > calm.top > above.bottom


@pytest.mark.parametrize(
    "values",
    [
        [7.0] * 28,
        [0.0] * 27 + [43200.0],
        [1.0, 1000.0],
        [float(place) for place in range(28)],
        [10.0] * 14 + [99.0] * 14,
    ],
)
def test_where_nothing_is_lost_the_axis_is_whole(values: list[float]) -> None:
    (panel,) = panels(values, [], Unit.NUMBER, top=0, bottom=200)
    assert panel.low <= min(values) <= max(values) <= panel.high


def test_a_share_that_holds_looks_like_one_that_holds() -> None:
    values = [0.9999] * 27 + [0.997]
    for limits in ([0.99], []):  # a bound, or none: then a percentage point is the least that is drawn
        (panel,) = panels(values, limits, Unit.SHARE, top=0, bottom=100)
        assert panel.y(0.997) < 45
    (panel,) = panels(values, [0.9], Unit.SHARE, top=0, bottom=100)
    assert panel.low <= 0.9  # the bound of a share is in sight, however far it is
    assert panel.high == 1.0


def test_no_count_is_drawn_below_nothing() -> None:
    (panel,) = panels([0.0, 3.0, 9.0], [], Unit.COUNT, top=0, bottom=100)
    assert panel.low == 0


@given(
    st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=1500),
    st.sets(st.integers(0, 1499), max_size=40),
)
def test_however_many_values_there_are_no_broken_one_and_no_extreme_is_lost(
    values: list[float | None], broken: set[int]
) -> None:
    made = [
        Point(
            at=START + place * DAY,
            value=value,
            state=PointState.BROKEN if place in broken else PointState.HELD,
            text=str(place),
        )
        for place, value in enumerate(values)
    ]
    svg = drawn(Chart(title="many", points=made))
    places = {int(text) for text in tooltips(svg)}
    assert {place for place in broken if place < len(values)} <= places
    known = [value for value in values if value is not None]
    if known:
        drawn_values = {values[place] for place in places}
        assert {min(known), max(known)} <= drawn_values
    assert len(places) <= 2 * MOST_POINTS + len(broken)
    assert sum(path.count("m") for path in paths(svg, "broken")) == len(
        [place for place in broken if place < len(values)]
    )


NUMBERS = st.floats(width=32) | st.none() | st.floats()


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=40), st.sampled_from(Unit))
def test_any_numbers_are_drawn_inside_the_chart(
    rows: list[tuple[float | None, float | None, float | None]], unit: Unit
) -> None:
    made = [
        Point(at=START + place * DAY, value=value, low=low, high=high) for place, (value, low, high) in enumerate(rows)
    ]
    svg = drawn(Chart(title="any", points=made, unit=unit))
    spots = [tuple(map(float, line.split()[:2])) for line in (svg.findtext(f"{SVG}metadata") or "").split("\n")]
    assert all(0 <= x <= WIDE and 0 <= y <= HEIGHT for x, y in spots)
    assert "nan" not in draw_small(Chart(title="any", points=made, unit=unit))


def test_four_hundred_points_with_bounds_of_their_own_are_small() -> None:
    made = [
        Point(
            at=START + place * DAY, value=5000 + place % 97, low=4500 + place % 13, high=5500 + place % 17,
            text="2026-03-09: 5,017 rows, broken; at least 5,100",
        )
        for place in range(400)
    ]  # fmt: skip
    assert len(draw(Chart(title="rows", points=made), key="it")) <= 30_000


def boxes(svg: ElementTree.Element) -> list[tuple[float, float, float, float, str]]:
    """Left, top, right and bottom of each text, by the table of widths."""
    found = []
    for element in svg.iter(f"{SVG}text"):
        text, x, y = element.text or "", float(element.get("x", "0")), float(element.get("y", "0"))
        width = text_width(text, 12)
        left = x - {"middle": width / 2, "end": width}.get(element.get("text-anchor", ""), 0.0)
        found.append((left, y - 9, left + width, y + 2, text))
    return found


LABELS = ("opened", "told", "acknowledged", "re-run", "healed", "expected")
MARKS = [Mark(at=START + place * DAY / 3, label=label) for place, label in enumerate(LABELS)]
FAR = points(*[5.0, 5.1, 4.9] * 9, 5e6, -5e6, low=4.8, high=5.2)


@pytest.mark.parametrize("width", [NARROW - 16, NARROW, WIDE, WIDE + 40])
@pytest.mark.parametrize(
    "chart",
    [
        Chart(title="three", points=points(4800, 4900, 4700), unit=Unit.COUNT, unit_word="rows"),
        Chart(title="near bounds", points=points(*[0.9995] * 26, 0.9962, 0.94, low=0.999, high=1.001), unit=Unit.SHARE),
        Chart(title="far", points=FAR, marks=MARKS, unit_word="km"),
        Chart(title="hours", points=points(*range(200), step=timedelta(hours=1), high=150), unit=Unit.LENGTH),
        Chart(title="years", points=points(*range(2000)), marks=MARKS),
        Chart(title="nothing", points=points(*[None] * 28), marks=MARKS),
        Chart(title="one", points=points(12_345_678.0), unit=Unit.COUNT, unit_word="rows"),
    ],
    ids=lambda chart: chart.title,
)  # fmt: skip
def test_words_never_overlap_nor_leave_the_chart(chart: Chart, width: float) -> None:
    texts_of_chart = boxes(drawn(chart, width))
    assert [box for box in texts_of_chart if box[0] < 0 or box[2] > width] == []
    for one, other in combinations(texts_of_chart, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1], (one, other)


def test_each_state_has_a_shape_of_its_own() -> None:
    made = [Point(at=START + place * DAY, value=1.0, state=state) for place, state in enumerate(PointState)]
    svg = drawn(Chart(title="states", points=made))
    shapes = {state: re.sub(r"M[\d.]+ [\d.]+", "", paths(svg, state.value)[0]) for state in PointState}
    solid = {shapes[state] for state in (PointState.HELD, PointState.BROKEN, PointState.UNKNOWN, PointState.WAIVED)}
    assert len(solid) == 4
    assert PICTURE["mended"] != PICTURE["broken"]  # a diamond too, but hollow


def test_what_is_not_known_is_a_gap_and_what_was_mended_is_off_the_line() -> None:
    made = points(1.0, 2.0, None, 3.0, 4.0)
    made.append(Point(at=made[-1].at, value=9.0, state=PointState.MENDED))
    (line,) = paths(drawn(Chart(title="gap", points=made)), "series")
    assert (line.count("M"), line.count("l")) == (2, 2)


def test_a_bound_changes_where_it_changed() -> None:
    made = [*points(1.0, 1.0, low=0.5), *(Point(at=START + place * DAY, value=1.0, low=0.8) for place in (2, 3))]
    assert [path.count("v") for path in paths(drawn(Chart(title="bounds", points=made)), "bound")] == [1]
    assert texts(Chart(title="bounds", points=made), "bound-text") == ["≥ 0.8"]


def test_a_screen_reader_hears_what_it_is() -> None:
    svg = drawn(Chart(title="rows of <b>", points=points(1.0, 2.0), description="two & all held"))
    ids = svg.get("aria-labelledby", "").split()
    words = {element.get("id"): element.text for element in svg}
    assert svg.get("role") == "img"
    assert [words[id_] for id_ in ids] == ["rows of <b>", "two & all held"]


def test_a_picture_has_the_colours_of_the_light_page_and_no_tooltips() -> None:
    svg = draw(Chart(title="rows", points=points(1.0, 2.0, 0.0, low=0.5)), key="it", is_picture=True)
    light = CSS.read_text().partition("prefers-color-scheme: dark")[0]
    assert {color for color in re.findall("#[0-9a-f]{6}", svg) if color not in light} == set()
    assert not re.search("class=|metadata|var\\(", svg)


def test_a_small_chart_has_two_values_at_least() -> None:
    assert draw_small(Chart(title="one", points=points(None, 1.0))) == ""


def test_points_beyond_the_range_are_left_out_and_marks_too() -> None:
    chart = Chart(title="zoomed", points=points(*range(30)), start=START + 10 * DAY, end=START + 12 * DAY, marks=MARKS)
    svg = drawn(chart)
    assert tooltips(svg) == [
        "10: 10",
        "11: 11",
        "12: 12",
    ]
    assert texts(chart, "mark-text") == []


def test_time_runs_from_left_to_right() -> None:
    svg = drawn(Chart(title="rows", points=points(3.0, 1.0, 2.0)))
    xs = [int(line.split()[0]) for line in (svg.findtext(f"{SVG}metadata") or "").split("\n")]
    assert all(x < later for x, later in pairwise(xs))


WHOLE = Chart(
    title="rows of <b>",
    points=[
        *points(5000, 5060, None, 4930, 5010, 5080, 4960, 5020, 2_000_000, low=4500, high=5500),
        *(
            Point(at=START + day * DAY, value=value, state=state, text=f"  {state}\n& more", low=low, high=5600)
            for day, value, state, low in (
                *((9, 5040, PointState.UNKNOWN, 4600), (10, None, PointState.BROKEN, 4600)),
                *(
                    (11, 4950, PointState.WAIVED, None),
                    (12, 5000, PointState.MENDED, None),
                    (12, 5030, PointState.HELD, 4600),
                ),
            )
        ),
    ],
    unit=Unit.COUNT,
    unit_word="rows",
    description="two & all held",
    marks=[*MARKS, Mark(at=START - DAY, label="too early"), Mark(at=START + 9 * DAY, label="healed")],
    zone=ZoneInfo("Europe/Berlin"),
)
PLAIN = Chart(
    title="how long trips of the city take, by day of the week", points=points(1.0, 0.0, low=0.5), marks=MARKS[:1]
)


SMALL = Chart(title="rows", points=points(5000, 5060, None, 4930, 4400, low=4500))


def test_a_chart_is_drawn_as_it_was_when_somebody_looked_at_it() -> None:
    drawings = {
        "page": draw(WHOLE, key="it", width=600),
        "picture": draw(PLAIN, key="it", width=NARROW, is_picture=True),
        "small": draw_small(SMALL, room_for=[4000]),
    }
    for name, svg in drawings.items():
        kept = (Path(__file__).with_name("charts") / f"{name}.svg").read_text().rstrip("\n")
        assert svg.replace("><", ">\n<").split("\n") == kept.replace("><", ">\n<").split("\n")
