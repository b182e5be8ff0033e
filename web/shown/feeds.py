"""What other programs show of us: a badge as SVG, and a calendar as RFC 5545 has it (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape

from icalendar import Calendar, Event

from incident_manager.quality.rules import Status

# A badge: the name of something and its status in words and colour, as an SVG that needs nothing else (pure).

LABEL = "data quality"
# dark enough for white letters by WCAG AA
COLOURS = {
    Status.BAD: "#b3211a",
    Status.UNKNOWN: "#6b3aa6",
    Status.REPORTED: "#8a5600",
    Status.UNTESTED: "#5d6570",
    Status.GOOD: "#17764a",
}
LETTER, ROOM, HEIGHT = 6, 8, 20  # pixels: of a letter, beside a word, of the badge


def badge(name: str, status: Status) -> str:
    """The SVG; who cannot see it is told the name and the status."""
    left, right = (LETTER * len(word) + 2 * ROOM for word in (LABEL, status))
    title = escape(f"{name}: {LABEL} is {status} (all partitions in all datacenters)")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="{HEIGHT}" fill="#3b4048"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{COLOURS[status]}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_word(LABEL, left / 2)}{_word(status, left + right / 2)}</g></svg>"
    )


def _word(word: str, middle: float) -> str:
    return f'<text x="{middle:g}" y="14" textLength="{LETTER * len(word) - 2}">{escape(word)}</text>'


# A calendar of entries as RFC 5545 has it, for programs that ask for it again and again (pure).

SHORTEST = timedelta(minutes=1)  # that a calendar still draws
ASKED_EVERY = timedelta(minutes=15)
PRODUCT = "-//Assay//Data quality//EN"


@dataclass(frozen=True, kw_only=True)
class CalendarEntry:
    """Something that lasts; ``uid`` is the same whenever it is told of."""

    uid: str
    start: datetime
    end: datetime
    summary: str
    text: str
    url: str
    categories: tuple[str, ...] = ()


def calendar(name: str, entries: Iterable[CalendarEntry], *, now: datetime) -> bytes:
    """The calendar; its entries leave their time free, as nobody is busy by them."""
    made = Calendar()
    made.add("prodid", PRODUCT)
    made.add("version", "2.0")
    made.add("method", "PUBLISH")
    made.add("x-wr-calname", name)
    made.add("refresh-interval", ASKED_EVERY, parameters={"VALUE": "DURATION"})
    made.add("x-published-ttl", "PT15M")
    for entry in entries:
        made.add_component(_event(entry, now))
    return bytes(made.to_ical())


def _event(entry: CalendarEntry, now: datetime) -> Event:
    event = Event()
    event.add("uid", entry.uid)
    event.add("dtstamp", now.astimezone(UTC))
    event.add("dtstart", entry.start.astimezone(UTC))
    event.add("dtend", max(entry.end, entry.start + SHORTEST).astimezone(UTC))
    event.add("summary", entry.summary)
    event.add("description", entry.text)
    event.add("url", entry.url)
    event.add("categories", list(entry.categories))
    event.add("transp", "TRANSPARENT")
    return event
