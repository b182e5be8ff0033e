"""Where the ticks of an axis stand and what they say: round numbers, round lengths of time, days of a calendar."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from math import ceil, floor, isfinite, log10
from unicodedata import east_asian_width

MINUTE, HOUR, DAY = 60, 3600, 86400  # seconds


class Unit(StrEnum):
    """What a value is a number of. ``SHARE`` is from 0 to 1 and written in percent, ``LENGTH`` is in seconds."""

    NUMBER = "number"
    COUNT = "count"  # of whole things, such as rows
    SHARE = "share"
    LENGTH = "length"


# The advance of letters in em, at least as wide as in the usual fonts of pages without serifs (DejaVu Sans is the
# widest of them), so that what does not overlap by this table overlaps nowhere.
_NARROW, _WIDE = frozenset(" .,:;'|!()[]ijlftI/-"), frozenset("mwMW%@&")
_ADVANCES = {"narrow": 0.42, "usual": 0.66, "capital": 0.8, "wide": 1.0}


def text_width(text: str, size: float) -> float:
    """How wide a text may be, in the unit of its font's ``size``; an upper bound in any usual font."""
    return size * sum(map(_advance, text))


def _advance(letter: str) -> float:
    if letter in _NARROW:
        return _ADVANCES["narrow"]
    if letter in _WIDE or east_asian_width(letter) in "WF":
        return _ADVANCES["wide"]
    return _ADVANCES["capital" if letter.isupper() or not letter.isascii() else "usual"]


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A place on an axis and its text; ``context`` is what the text leaves out, such as the year of a day."""

    at: float
    text: str
    context: str = ""


def nice_number(number: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten; after P. Heckbert, "Nice numbers for graph labels" (1990)."""
    power = 10.0 ** floor(log10(number))
    fraction = number / power
    return power * (1 if fraction < 1.5 else 2 if fraction < 3 else 5 if fraction < 7 else 10)


_LENGTHS = (
    *(1, 5, 10, 30, MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY),
)


def value_ticks(low: float, high: float, count: int, unit: Unit) -> list[Tick]:
    """About so many ticks at round values from ``low`` to ``high``, each with its unit; at least one where they differ.

    All of them are written with the same digits, and millions as ``1.5 M``.
    """
    factor = 100 if unit is Unit.SHARE else 1
    low, high = low * factor, high * factor
    if high - low <= max(abs(low), abs(high)) * 1e-9 or high - low < 1e-290:  # closer than numbers can be written
        return []
    step = _step(low, high, max(count, 1), unit)
    while not (places := _multiples(low, high, step)):
        step /= 2
    largest = max(map(abs, places))
    scale = next((size for size in _LETTERS if size <= largest < size * 1000 and step >= size / 1000), 1.0)
    digits = max(_decimals(place / scale, step / scale) for place in places)
    return [Tick(at=place / factor, text=_tick_text(place, digits, scale, unit)) for place in places]


def _step(low: float, high: float, count: int, unit: Unit) -> float:
    span = high - low
    if unit is Unit.LENGTH and span > 1:
        longer = (length for length in _LENGTHS if span / length <= 1.5 * count)
        return float(next(longer, 0) or nice_number(span / count / _LENGTHS[-1]) * _LENGTHS[-1])
    step = nice_number(span / count)
    return max(step, 1.0) if unit is Unit.COUNT and span >= 1 else step


def _multiples(low: float, high: float, step: float) -> list[float]:
    slack = step * 1e-6  # of what a float cannot say
    first, last = ceil((low - slack) / step), floor((high + slack) / step)
    return [number * step for number in range(first, last + 1)]


_LETTERS = {1e12: " T", 1e9: " G", 1e6: " M", 1.0: ""}


def _tick_text(value: float, digits: int, scale: float, unit: Unit) -> str:
    if unit is Unit.LENGTH:
        return length_text(value)
    end = " %" if unit is Unit.SHARE else _LETTERS[scale]
    if abs(value) >= 1e15 or digits > 6:  # eleven digits tell all ticks apart, as no axis is closer than that
        return f"{value:.11g}{end if unit is Unit.SHARE else ''}"
    return f"{value / scale + 0.0:,.{digits}f}{end}" if value or unit is Unit.SHARE else "0"


def _decimals(value: float, step: float) -> int:
    """How many a multiple of a step needs, at most those that the step has."""
    most = max(0, 1 - floor(log10(step)))
    return next(count for count in range(most + 1) if count == most or abs(value - round(value, count)) < step / 1000)


def length_text(seconds: float) -> str:
    """A length of time in at most two units: ``3 h 20 min``, ``3 min 20 s``."""
    if abs(seconds) < MINUTE or abs(seconds) >= 1e15:
        return f"{seconds:.3g} s" if seconds else "0"
    if round(abs(seconds)) < 60 * MINUTE:
        count, rest = divmod(round(abs(seconds)), 60)
        return f"{'-' if seconds < 0 else ''}{count} min" + (f" {rest} s" if rest else "")
    minutes = round(abs(seconds) / MINUTE)
    unit, size = ("d", 1440) if minutes >= 2880 else ("h", 60) if minutes >= 60 else ("min", 1)
    count, rest = divmod(minutes, size)
    more = "" if not rest else f" {round(rest / 60)} h" if size == 1440 else f" {rest} min"
    return f"{'-' if seconds < 0 else ''}{count} {unit}{'' if more == ' 0 h' else more}"


def value_text(value: float | None, unit: Unit) -> str:
    """A value in full, as a tooltip or a table says it: ``4,812``, ``99.953 %``, ``3 h 20 min``; of None a dash."""
    if value is None or not isfinite(value):
        return "–"
    if unit is Unit.LENGTH:
        return length_text(value)
    if unit is Unit.SHARE:
        percent = f"{value * 100:.6g}"
        is_rounded_up = percent == "100" and value < 1
        return f"{'99.9999' if is_rounded_up else percent} %"
    is_whole = value == round(value) or abs(value) >= 999_999.5  # six digits have no fraction then
    return f"{value:,.0f}" if is_whole and abs(value) < 1e15 else f"{value:.6g}"


# Ticks of time stand where days, hours and minutes of a zone begin.


@dataclass(frozen=True, kw_only=True)
class _TimeStep:
    unit: str  # minute, hour, day, month or year
    count: int
    seconds: int  # about
    pattern: str
    context: str = ""


_MONTH, _YEAR = 30.44 * DAY, 365.25 * DAY
_TIME_STEPS = (
    *(
        _TimeStep(unit="minute", count=n, seconds=n * MINUTE, pattern="%H:%M", context="%Y-%m-%d")
        for n in (1, 5, 15, 30)
    ),
    *(_TimeStep(unit="hour", count=n, seconds=n * HOUR, pattern="%H:%M", context="%Y-%m-%d") for n in (1, 3, 6, 12)),
    *(_TimeStep(unit="day", count=n, seconds=n * DAY, pattern="%m-%d", context="%Y") for n in (1, 2, 7, 14)),
    *(_TimeStep(unit="month", count=n, seconds=int(n * _MONTH), pattern="%Y-%m") for n in (1, 3, 6)),
    *(_TimeStep(unit="year", count=n, seconds=int(n * _YEAR), pattern="%Y") for n in (1, 2, 5, 10, 50, 100)),
)


def time_ticks(
    start: datetime, end: datetime, *, width: float, size: float, zone: tzinfo, least: float = 0.0
) -> list[Tick]:
    """Ticks from ``start`` to ``end`` over a ``width``, as close as their texts fit; ``at`` is in epoch seconds.

    No two are closer than ``least`` seconds, which is how far the values are from each other.
    Their form follows the length of the range: hours with their day as context, days with their year, months, years.
    """
    span = max((end - start).total_seconds(), 1.0)
    for step in _TIME_STEPS:
        text = start.strftime(step.pattern)
        if step.seconds >= least * 0.9 and step.seconds / span * width >= text_width(text, size) + size:
            break
    local = start.astimezone(zone).replace(tzinfo=None)
    ticks = []
    for naive in _starts(local, end.astimezone(zone).replace(tzinfo=None), step):
        at = naive.replace(tzinfo=zone)
        if start <= at <= end:
            context = naive.strftime(step.context) if step.context else ""
            ticks.append(Tick(at=at.timestamp(), text=naive.strftime(step.pattern), context=context))
    return ticks


def _starts(start: datetime, end: datetime, step: _TimeStep) -> Iterator[datetime]:
    """The local instants that are whole multiples of a step, from the last before ``start`` on; weeks on Mondays."""
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    if step.unit in ("minute", "hour"):
        length = timedelta(seconds=step.seconds)
        at = midnight + (start - midnight) // length * length
    elif step.unit == "day":
        length = timedelta(days=step.count)
        at = midnight - timedelta(days=(midnight.toordinal() - 1) % step.count)
    else:
        yield from _months(start, end, step.count * (12 if step.unit == "year" else 1))
        return
    while at <= end:
        yield at
        at += length


def _months(start: datetime, end: datetime, count: int) -> Iterator[datetime]:
    number = (start.year * 12 + start.month - 1) // count * count
    while number // 12 <= end.year:
        if number >= 12:
            yield datetime(number // 12, number % 12 + 1, 1)
        number += count


def without_overlap(boxes: Sequence[tuple[float, float]], gap: float = 4.0) -> list[int]:
    """The places of those, from left to right, that do not overlap one before them; each is a left and a right end."""
    places, free = [], float("-inf")
    for place in sorted(range(len(boxes)), key=lambda place: boxes[place]):
        left, right = boxes[place]
        if left >= free:
            places.append(place)
            free = right + gap
    return places
