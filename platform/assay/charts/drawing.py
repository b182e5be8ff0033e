"""A chart of values over time as SVG text: the same for a page, whose style sheet colours it, and for a picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from html import escape
from itertools import groupby, pairwise

from .scales import GAP, Panel, TimeScale, panels, thinned, time_scale
from .ticks import Tick, Unit, text_width, time_ticks, value_text, value_ticks, without_overlap


class PointState(StrEnum):
    """What is known of a value; each has a shape of its own beside its colour."""

    HELD = "held"  # a dot
    BROKEN = "broken"  # a diamond
    UNKNOWN = "unknown"  # a hollow square
    WAIVED = "waived"  # a hollow triangle
    MENDED = "mended"  # a hollow diamond, off the line: a value that was broken, and is another one now


@dataclass(frozen=True, kw_only=True)
class Point:
    """A value at an instant, None where there is none, with the bounds in force then (inclusive; None: none).

    ``text`` is what the tooltip says. A point without a value is drawn at the base, unless it held.
    """

    at: datetime
    value: float | None
    state: PointState = PointState.HELD
    text: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """An instant that something happened at, with a word or two: opened, told, healed, expected."""

    at: datetime
    label: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What is drawn. ``points`` are in the order of time; the range of time is theirs unless it is given.

    ``unit_word`` stands above the axis of values, such as *rows*; ``title`` and ``description`` are what a screen
    reader says. Days begin where they do in ``zone``.
    """

    title: str
    points: Sequence[Point]
    unit: Unit = Unit.NUMBER
    unit_word: str = ""
    description: str = ""
    marks: Sequence[Mark] = ()
    start: datetime | None = None
    end: datetime | None = None
    zone: tzinfo = UTC


WIDE, NARROW = 1160, 336  # of a chart on a page, in pixels: for a screen, and for a phone
HEIGHT = 260
SMALL_WIDTH, SMALL_HEIGHT = 280, 44
MOST_POINTS = 280  # that are drawn; of more only what is seen, and every one that broke or was waived
FONT = 12.0
DOTS_APART = 6.0  # pixels from one point to the next, so that each held one has a dot
MARK_ROWS, MARK_ROW = 3, 15.0  # of labels, and the height of one; a mark that fits in none has no label
TICKS_APART = 34.0  # pixels between two values on the axis, about
RIGHT = 24.0
DAY = timedelta(days=1)
LARGEST = 1e300  # so that a difference of two is a number
FAMILY = "Open Sans, DejaVu Sans, sans-serif"

# The colours of the light page (assay.css), for a picture that has no style sheet.
PAPER, SHADE, INK, QUIET, RULE, BLUE, RED, AMBER, VIOLET = (
    *("#ffffff", "#f0f0ec", "#1b1e23", "#5d6570", "#e2e2dc"),
    *("#2f55d4", "#b3211a", "#8a5600", "#6b3aa6"),
)
_SIGN = 'stroke-width="1.5"'
_HALO = f'stroke="{PAPER}" stroke-width="3" paint-order="stroke"'
PICTURE = {
    "paper": f'fill="{PAPER}"',
    "name": f'fill="{INK}" font-weight="600"',
    "tick": f'fill="{QUIET}"',
    "rule": f'stroke="{RULE}"',
    "allowed": f'fill="{SHADE}"',
    "bound": f'stroke="{AMBER}" stroke-width="1.5" stroke-dasharray="5 4" fill="none"',
    "bound-text": f'fill="{AMBER}" {_HALO}',
    "series": f'stroke="{BLUE}" stroke-width="1.5" fill="none" stroke-linejoin="round"',
    "tear": f'fill="{PAPER}" stroke="{QUIET}"',
    "mark": f'stroke="{QUIET}" stroke-dasharray="2 3"',
    "mark-text": f'fill="{INK}" {_HALO}',
    "held": f'stroke="{BLUE}" stroke-width="6" stroke-linecap="round"',
    "broken": f'fill="{RED}" stroke="{PAPER}"',
    "unknown": f'fill="{PAPER}" stroke="{VIOLET}" {_SIGN}',
    "waived": f'fill="{PAPER}" stroke="{QUIET}" {_SIGN}',
    "mended": f'fill="{PAPER}" stroke="{RED}" {_SIGN}',
}
SHAPES = {  # around a point, which is at 0, 0
    PointState.HELD: "{0} {1}h.01",
    PointState.BROKEN: "{0} {1}m0-6l6 6-6 6-6-6z",
    PointState.UNKNOWN: "{0} {1}m-4-4h8v8h-8z",
    PointState.WAIVED: "{0} {1}m0-5l5 9h-10z",
    PointState.MENDED: "{0} {1}m0-6l6 6-6 6-6-6z",
}


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """Where a chart draws what."""

    width: float
    height: float
    top: float
    bottom: float
    time: TimeScale
    panels: Sequence[Panel]
    mark_rows: int = 0
    is_picture: bool = False

    def paint(self, name: str) -> str:
        """The attributes of an element of this name."""
        return PICTURE[name] if self.is_picture else f'class="{name}"'

    def y(self, value: float | None) -> float:
        """Of no value the base."""
        return self.bottom if value is None else self.panel(value).y(value)

    def panel(self, value: float) -> Panel:
        """The one that a value is in."""
        return next((panel for panel in self.panels if value <= panel.high), self.panels[-1])

    def xy(self, point: Point) -> tuple[float, float]:
        return self.time.x(point.at), self.y(point.value)


def draw(chart: Chart, *, key: str, width: float = WIDE, height: float = HEIGHT, is_picture: bool = False) -> str:
    """The SVG text of a chart, of so many pixels; ``key`` begins its ids, and stands once on a page.

    On a page the style sheet colours it by class, and ``metadata`` has a line for each point for the script: its
    place and its tooltip. A picture has its colours in it, stands alone, and has its title above.
    """
    chart = _readable(chart)
    frame = _frame(chart, width, height, is_picture=is_picture)
    parts: list[str] = []
    if is_picture:
        parts = [f'<rect {PICTURE["paper"]} width="{_n(width)}" height="{_n(height)}"/>']
        ends = (f"…{chart.title[at:]}" if at else chart.title for at in range(len(chart.title)))
        title = next((text for text in ends if text_width(text, FONT) <= width - 16), "")  # what tells it apart is last
        parts.append(f'<text {PICTURE["name"]} x="8" y="20">{escape(title, quote=False)}</text>')
    if frame:
        points = _thinned(chart.points, frame)
        tints, dashes = _bounds(points, frame)
        parts += [*tints, *_values_axis(chart, frame), *_time_axis(chart, frame), *dashes]
        parts += [*_marks(chart, frame), *_series(points, frame), *_tears(frame), *_signs(points, frame)]
        parts += [*_bound_texts(chart, frame), "" if is_picture else _tooltips(points, frame)]
    return _whole(chart, frame, "".join(parts), key, (width, height), is_picture=is_picture)


def _whole(
    chart: Chart, frame: _Frame | None, body: str, key: str, size: tuple[float, float], *, is_picture: bool
) -> str:
    width, height = map(_n, size)
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    roles = f'role="img" aria-labelledby="{key}-title{f" {key}-desc" if chart.description else ""}"'
    kind = f'font-family="{FAMILY}" font-size="{FONT:g}"' if is_picture else 'class="chart"'
    times = ""
    if frame and not is_picture:  # for the script that zooms
        scale = frame.time
        times = f' data-start="{scale.start.timestamp():.0f}" data-end="{scale.end.timestamp():.0f}"'
        times += f' data-left="{_n(scale.left)}" data-right="{_n(scale.right)}"'
    words = f'<title id="{key}-title">{escape(chart.title, quote=False)}</title>'
    if chart.description:
        words += f'<desc id="{key}-desc">{escape(chart.description, quote=False)}</desc>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {kind} {box} {roles}{times}>{words}{body}</svg>'


def draw_small(chart: Chart, room_for: Sequence[float] = ()) -> str:
    """The same without axes, words and tooltips: a line with its bounds and what broke; empty without two values.

    It is as high as those with the same values to have ``room_for`` too, so that they can be compared.
    """
    chart = _readable(chart)
    values, limits = _figures(chart.points)
    if len(values) < 2:
        return ""
    top, bottom = 6.0, SMALL_HEIGHT - 6.0
    scale = time_scale([point.at for point in chart.points], chart.start, chart.end, left=6, right=SMALL_WIDTH - 6)
    assert scale is not None
    whole = panels([*values, *room_for], limits, chart.unit, top=top, bottom=bottom, breaks=False)
    frame = _Frame(width=SMALL_WIDTH, height=SMALL_HEIGHT, top=top, bottom=bottom, time=scale, panels=whole)
    points = _thinned(chart.points, frame)
    tints, dashes = _bounds(points, frame)
    body = "".join((*tints, *dashes, *_series(points, frame), *_signs(points, frame, dots=False)))
    size = f'viewBox="0 0 {SMALL_WIDTH} {SMALL_HEIGHT}" width="{SMALL_WIDTH}" height="{SMALL_HEIGHT}"'
    return f'<svg class="chart small-chart" {size} role="img" aria-label="{escape(chart.title)}">{body}</svg>'


def _readable(chart: Chart) -> Chart:
    """With the points of its range; what is no number that can be drawn is none."""
    points = [
        _drawable(point)
        for point in chart.points
        if (chart.start is None or point.at >= chart.start) and (chart.end is None or point.at <= chart.end)
    ]
    return replace(chart, points=points)


def _drawable(point: Point) -> Point:
    value, low, high = _number(point.value), _number(point.low), _number(point.high)
    if value is point.value and low is point.low and high is point.high:  # as nearly always: a copy costs more
        return point
    return replace(point, value=value, low=low, high=high)


def _number(value: float | None) -> float | None:
    return value if value is not None and abs(value) <= LARGEST else None


def _figures(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """The values, and the limits, each once."""
    limits = {limit for point in points for limit in (point.low, point.high) if limit is not None}
    return [point.value for point in points if point.value is not None], sorted(limits)


def _frame(chart: Chart, width: float, height: float, *, is_picture: bool) -> _Frame | None:
    """Where a chart with axes draws what; None where there is no time to draw."""
    values, limits = _figures(chart.points)
    instants = [point.at for point in chart.points]
    rough = time_scale(instants, chart.start, chart.end, left=60, right=width - RIGHT)
    if rough is None:
        return None
    rows = max((row for *_, row in _placed_marks(chart.marks, rough, MARK_ROWS)), default=-1) + 1
    top = 14.0 + rows * MARK_ROW + (18.0 if chart.unit_word else 0.0) + (22.0 if is_picture else 0.0)
    bottom = height - 40.0
    stretches = panels(values, limits, chart.unit, top=top, bottom=bottom)
    texts = [tick.text for panel in stretches for tick in _ticks(panel, chart.unit)]
    left = max((text_width(text, FONT) for text in texts), default=0.0) + 18.0
    scale = replace(rough, left=left, right=width - RIGHT)
    box = {"width": width, "height": height, "top": top, "bottom": bottom}
    return _Frame(**box, time=scale, panels=stretches, mark_rows=rows, is_picture=is_picture)


def _ticks(panel: Panel, unit: Unit) -> list[Tick]:
    count = max(2, int((panel.bottom - panel.top) / TICKS_APART))
    ticks = value_ticks(panel.low, panel.high, count, unit)
    boxes = [(panel.y(tick.at) - FONT / 2, panel.y(tick.at) + FONT / 2) for tick in ticks]
    return [ticks[place] for place in without_overlap(boxes)]


def _values_axis(chart: Chart, frame: _Frame) -> Iterator[str]:
    left, right = frame.time.left, frame.time.right
    for panel in frame.panels:
        for tick in _ticks(panel, chart.unit):
            y = panel.y(tick.at)
            yield f'<path {frame.paint("rule")} d="M{_n(left - 6)} {_n(y)}H{_n(right + 6)}"/>'
            yield _text(frame, "tick", left - 10, y + FONT * 0.36, tick.text, anchor="end")
    if chart.unit_word:
        yield _text(frame, "tick", 2, frame.top - 12, chart.unit_word)


def _time_axis(chart: Chart, frame: _Frame) -> Iterator[str]:
    """The texts of ticks in one row, and below it what they leave out, where it begins or changes."""
    scale, base = frame.time, frame.bottom + 8
    width = scale.right - scale.left
    least = min((later.at - point.at for point, later in pairwise(chart.points) if later.at > point.at), default=DAY)
    ticks = time_ticks(scale.start, scale.end, width=width, size=FONT, zone=chart.zone, least=least.total_seconds())
    xs = [scale.x(datetime.fromtimestamp(tick.at, UTC)) for tick in ticks]
    halves = [text_width(tick.text, FONT) / 2 for tick in ticks]
    yield f'<path {frame.paint("rule")} d="M{_n(scale.left - 6)} {_n(base)}H{_n(scale.right + 6)}"/>'
    fitting = [
        place
        for place in without_overlap([(x - half, x + half) for x, half in zip(xs, halves, strict=True)])
        if xs[place] - halves[place] >= 0 and xs[place] + halves[place] <= frame.width
    ]
    contexts: list[tuple[float, str]] = []
    for place in fitting:
        yield f'<path {frame.paint("rule")} d="M{_n(xs[place])} {_n(base)}v4"/>'
        yield _text(frame, "tick", xs[place], base + 16, ticks[place].text, anchor="middle")
        context = ticks[place].context
        if context and (not contexts or contexts[-1][1] != context):
            contexts.append((xs[place] - halves[place], context))
    boxes = [(left, left + text_width(context, FONT)) for left, context in contexts]
    for place in without_overlap(boxes, gap=8.0):
        if boxes[place][1] <= frame.width:
            yield _text(frame, "tick", boxes[place][0], base + 30, contexts[place][1])


def _placed_marks(marks: Sequence[Mark], scale: TimeScale, rows: int) -> list[tuple[Mark, float, float, int]]:
    """Each mark of the range with the places of its line and of its label, and its row; -1 where none is free."""
    free = [float("-inf")] * rows
    placed = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        if not scale.start <= mark.at <= scale.end:
            continue
        x, width = scale.x(mark.at), text_width(mark.label, FONT)
        left = min(max(x - width / 2, scale.left - 6), scale.right + 6 - width)
        row = next((row for row, end in enumerate(free) if end <= left), -1)
        if row >= 0:
            free[row] = left + width + 6.0
        placed.append((mark, x, left, row))
    return placed


def _marks(chart: Chart, frame: _Frame) -> Iterator[str]:
    first = frame.top - 8 - (18.0 if chart.unit_word else 0.0)
    placed = _placed_marks(chart.marks, frame.time, frame.mark_rows)
    for _, x, _, row in placed:
        top = first - max(row, 0) * MARK_ROW
        yield f'<path {frame.paint("mark")} d="M{_n(x)} {_n(top)}V{_n(frame.bottom + 8)}"/>'
    for mark, _, left, row in placed:
        if row >= 0:
            yield _text(frame, "mark-text", left, first - row * MARK_ROW - 4, mark.label)


def _thinned(points: Sequence[Point], frame: _Frame) -> list[Point]:
    most = min(MOST_POINTS, max(2, int(frame.time.right - frame.time.left)))
    if len(points) <= most:
        return list(points)
    values, xs = [point.value for point in points], [frame.time.x(point.at) for point in points]
    is_mark = [point.state not in (PointState.HELD, PointState.UNKNOWN) for point in points]
    return [points[place] for place in thinned(values, xs, most // 2, is_mark)]


def _bounds(points: Sequence[Point], frame: _Frame) -> tuple[list[str], list[str]]:
    """A tint of what the bounds allow, and dashed lines; each is in force from halfway to halfway between points."""
    tints: list[str] = []
    dashes: list[str] = []
    plain = [point for point in points if point.state is not PointState.MENDED]
    xs = [frame.time.x(point.at) for point in plain]
    ends = [frame.time.left - 6, *((x + y) / 2 for x, y in pairwise(xs)), frame.time.right + 6]
    is_known = [(point.low is not None, point.high is not None) for point in plain]
    for (has_low, has_high), run in groupby(range(len(plain)), is_known.__getitem__):
        places = list(run)
        sides = [ends[place] for place in (*places, places[-1] + 1)]
        lines = []
        for is_drawn, edge, limits in (
            (has_low, frame.bottom + 8, [plain[place].low for place in places]),
            (has_high, frame.top - 8, [plain[place].high for place in places]),
        ):
            heights = [frame.y(limit) if is_drawn else edge for limit in limits]
            lines.append((is_drawn, _stairs(sides, heights), _stairs(sides[::-1], heights[::-1])))
        if has_low or has_high:
            tints.append(f'<path {frame.paint("allowed")} d="M{lines[0][1]}L{lines[1][2]}z"/>')
        dashes += [f'<path {frame.paint("bound")} d="M{line}"/>' for is_drawn, line, _ in lines if is_drawn]
    return tints, dashes


def _stairs(xs: Sequence[float], heights: Sequence[float]) -> str:
    """From each x to the next at its height; in whole tenths of a pixel, so that the path is short."""
    places, levels = [round(x * 10) for x in xs], [round(height * 10) for height in heights]
    text, at, level = f"{places[0] / 10:g} {levels[0] / 10:g}", places[0], levels[0]
    for place, upcoming in zip(places[1:], [*levels[1:], None], strict=True):
        if upcoming != level:
            text += f"h{(place - at) / 10:g}"
            at = place
            if upcoming is not None:
                text += f"v{(upcoming - level) / 10:g}"
                level = upcoming
    return text


def _bound_texts(chart: Chart, frame: _Frame) -> Iterator[str]:
    """The last bound of each side in words, at the right end of its line, where neither covers the other."""
    last = next((point for point in reversed(chart.points) if point.low is not None or point.high is not None), None)
    if last is None:
        return
    right, taken = frame.time.right + 6, list[float]()
    for limit, sign, is_above in ((last.high, "≤", True), (last.low, "≥", False)):
        if limit is None:
            continue
        panel = frame.panel(limit)
        above, below = panel.y(limit) - 5.0, panel.y(limit) + FONT + 2.0
        top = frame.top - 8 if panel is frame.panels[-1] else panel.top
        bottom = frame.bottom + 8 if panel is frame.panels[0] else panel.bottom
        sides = (above, below) if is_above else (below, above)
        free = (
            y for y in sides if top + FONT * 0.8 <= y <= bottom and all(abs(y - other) > FONT + 1 for other in taken)
        )
        if (y := next(free, None)) is not None:
            taken.append(y)
            yield _text(frame, "bound-text", right, y, f"{sign} {value_text(limit, chart.unit)}", anchor="end")


def _series(points: Sequence[Point], frame: _Frame) -> Iterator[str]:
    """One line, with a gap where a value is not known; in whole tenths of a pixel from point to point, to be short."""
    parts, before = [], None
    for point in points:
        if point.state is PointState.MENDED:
            continue
        if point.value is None:
            before = None
            continue
        x, y = (round(place * 10) for place in frame.xy(point))
        if before is None:
            parts.append(f"M{x / 10:g} {y / 10:g}")
        else:
            parts.append(f"l{(x - before[0]) / 10:g} {(y - before[1]) / 10:g}")
        before = x, y
    if parts:
        yield f'<path {frame.paint("series")} d="{"".join(parts)}"/>'


def _signs(points: Sequence[Point], frame: _Frame, *, dots: bool = True) -> Iterator[str]:
    """The shape of each point that did not hold, and of each held one while they are few, or stand alone."""
    has_room = len(points) * DOTS_APART <= frame.time.right - frame.time.left
    for state in PointState:
        spots = [
            SHAPES[state].format(*(_n(place) for place in frame.xy(point)))
            for place, point in enumerate(points)
            if point.state is state
            and (
                state is not PointState.HELD
                or (dots and point.value is not None and (has_room or _is_alone(points, place)))
            )
        ]
        if spots:
            yield f'<path {frame.paint(state.value)} d="M{"M".join(spots)}"/>'


def _is_alone(points: Sequence[Point], place: int) -> bool:
    around = (*points[max(0, place - 1) : place], *points[place + 1 : place + 2])
    return all(point.value is None for point in around)


def _tears(frame: _Frame) -> Iterator[str]:
    """A band with torn edges between two panels: here values are left out."""
    left, right = frame.time.left - 6, frame.time.right + 6
    count = max(4, int((right - left) / 24))
    step = (right - left) / count
    for lower in frame.panels[:-1]:
        top = lower.top - GAP + 5
        teeth = "".join(f"l{_n(step / 2)} 4l{_n(step / 2)} -4" for _ in range(count))
        back = "".join(f"l{_n(-step / 2)} 4l{_n(-step / 2)} -4" for _ in range(count))
        yield f'<path {frame.paint("tear")} d="M{_n(left)} {_n(top)}{teeth}v6{back}z"/>'


def _tooltips(points: Sequence[Point], frame: _Frame) -> str:
    lines = []
    for point in points:
        x, y = frame.xy(point)
        lines.append(f"{x:.0f} {y:.0f} {' '.join(point.text.split())}")
    return f"<metadata>{escape(chr(10).join(lines), quote=False)}</metadata>"


def _text(frame: _Frame, name: str, x: float, y: float, text: str, *, anchor: str = "") -> str:
    aligned = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text {frame.paint(name)} x="{_n(x)}" y="{_n(y)}"{aligned}>{escape(text, quote=False)}</text>'


def _n(place: float) -> str:
    """A place to a tenth of a pixel, as short as it can be."""
    return f"{round(place, 1):g}"
