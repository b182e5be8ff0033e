"""What moved in a novel batch, drawn small."""

from typing import Any

from web.shown.moved import HEIGHT, WIDTH, moved


def cause(**more: Any) -> dict[str, Any]:
    past = [["2026-03-09T00:00:00+00:00", 8.0], ["2026-03-10T00:00:00+00:00", 8.2], ["2026-03-11T00:00:00+00:00", 7.9]]
    return {"text": "mean of distance: 4.9", "value": 4.9, "low": 7.9, "high": 8.2, "past": past, **more}


def test_a_statistic_is_drawn_with_its_past_what_is_usual_and_now() -> None:
    (one,) = moved([{"causes": [cause()]}])
    points = [tuple(map(float, point.split(","))) for point in one.line.split()]
    assert one.text == "mean of distance: 4.9"
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert one.now is not None
    assert one.band is not None
    assert one.now[1] > max(y for _, y in points)  # lower than ever: further down
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in [*points, one.now])
    assert one.band[0] < one.now[1]


def test_a_past_of_one_value_that_never_changed_is_a_line() -> None:
    (one,) = moved([{"causes": [cause(past=[["a", 1.0], ["b", 1.0]], value=1.0, low=1.0, high=1.0)]}])
    assert len({point.split(",")[1] for point in one.line.split()}) == 1


def test_what_has_no_numbers_is_told_in_words_alone() -> None:
    words = moved([{"causes": [cause(value="missing", past=[]), cause(past=[])]}])
    assert [(one.text, one.line, one.now) for one in words] == [("mean of distance: 4.9", "", None)] * 2
    assert moved([]) == []
