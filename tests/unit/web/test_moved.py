"""What moved in a novel batch, drawn small."""

from typing import Any

from web.rendering.findings import HEIGHT, WIDTH, moved, small_plot


def cause(**more: Any) -> dict[str, Any]:
    past = [["2026-03-09T00:00:00+00:00", 8.0], ["2026-03-10T00:00:00+00:00", 8.2], ["2026-03-11T00:00:00+00:00", 7.9]]
    return {"text": "mean of distance: 4.9", "value": 4.9, "low": 7.9, "high": 8.2, "past": past, **more}


def points_of(line: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())]


def test_a_statistic_is_drawn_with_its_past_what_is_usual_and_now() -> None:
    (one,) = moved([{"causes": [cause()]}])
    assert one.text == "mean of distance: 4.9"
    assert one.plot is not None
    assert one.plot.band is not None
    (line,), (now,) = one.plot.lines, one.plot.marks
    points = points_of(line)
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert points[-1] == now
    assert now[1] > max(y for _, y in points[:-1])  # lower than ever: further down
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    assert one.plot.band[0] < now[1]


def test_a_past_of_one_value_that_never_changed_is_a_line() -> None:
    (one,) = moved([{"causes": [cause(past=[["a", 1.0], ["b", 1.0]], value=1.0, low=1.0, high=1.0)]}])
    assert one.plot is not None
    assert len({y for line in one.plot.lines for _, y in points_of(line)}) == 1


def test_what_has_no_numbers_is_told_in_words_alone() -> None:
    words = moved([{"causes": [cause(value="missing", past=[]), cause(past=[])]}])
    assert [(one.text, one.plot) for one in words] == [("mean of distance: 4.9", None)] * 2
    assert moved([]) == []


def test_what_is_not_known_is_a_gap_in_the_line_and_has_no_mark() -> None:
    plot = small_plot([1.0, None, 2.0, 3.0], [False, True, False, True])
    assert plot is not None
    assert [len(points_of(line)) for line in plot.lines] == [1, 2]
    assert plot.marks == [points_of(plot.lines[-1])[-1]]
    assert small_plot([None, 1.0], [False, False]) is None
