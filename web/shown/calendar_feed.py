"""A calendar of entries as RFC 5545 has it, for programs that ask for it again and again (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from icalendar import Calendar, Event

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
