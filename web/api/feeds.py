"""What other programs show of us: badges as SVG, a calendar as RFC 5545 has it, and exports as files."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2s
from html import escape
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.db.models import Q
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from icalendar import Calendar, Event
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from alerting.models import Silence
from assay import clock
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import Dataset
from incident_manager.exports import MEDIA_TYPES, TABLES, export
from incident_manager.models import Incident, Resolution
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import QualityStatus
from web.access.tokens import PARAMETER, KeyInAddress
from web.access.who import hidden_datasets

from .base import Api
from .fields import DatasetField, Shape, with_range

LABEL = "data quality"
# dark enough for white letters by WCAG AA
COLOURS = {
    QualityStatus.BAD: "#b3211a",
    QualityStatus.UNKNOWN: "#6b3aa6",
    QualityStatus.REPORTED: "#8a5600",
    QualityStatus.UNTESTED: "#5d6570",
    QualityStatus.GOOD: "#17764a",
}
LETTER, ROOM, HEIGHT = 6, 8, 20  # pixels: of a letter, beside a word, of the badge
SECONDS = 60  # that a badge may be shown without asking again


class AnyFile(BaseRenderer):
    """The media type of a file, whatever the request accepts; the view writes the file itself."""

    media_type, format = "*/*", "file"

    def render(self, data: Any, *_: object, **__: object) -> Any:
        return data


class Pictures(AnyFile):
    """The media type of a badge."""

    media_type, format = "image/svg+xml", "svg"


class Badge(Api):
    """GET a picture of how a dataset stands now."""

    authentication_classes = [*Api.authentication_classes, KeyInAddress]
    renderer_classes = [Pictures]

    @extend_schema(responses={(200, "image/svg+xml"): str})
    def get(self, request: Request, name: str) -> HttpResponseBase:
        """Get the status of a dataset as a picture (SVG).

        The status is the one that look-ups answer, over all copies, as things stand now. The picture may be shown for a
        minute; then `If-None-Match` with its `ETag` asks whether it has changed.
        """
        dataset = get_object_or_404(Dataset, name_key=name_key(name))
        self.check_object_permissions(request, dataset)
        status = statuses_now({dataset.pk: dataset.full_name}, now=clock.now())[dataset.pk]
        picture = badge(dataset.full_name, status).encode()
        etag = f'"{blake2s(picture, digest_size=8).hexdigest()}"'
        headers = {"ETag": etag, "Cache-Control": f"private, max-age={SECONDS}", "Vary": "Authorization, Cookie"}
        whole = HttpResponse(picture, content_type="image/svg+xml", headers=headers)
        return get_conditional_response(request, etag=etag, response=whole) or whole


def badge(name: str, status: QualityStatus) -> str:
    """The SVG; who cannot see it is told the name and the status."""
    left, right = (LETTER * len(word) + 2 * ROOM for word in (LABEL, status))
    title = escape(f"{name}: {LABEL} is {status} (all partitions in all datacenters)")
    words = "".join(
        f'<text x="{middle:g}" y="14" textLength="{LETTER * len(word) - 2}">{escape(word)}</text>'
        for word, middle in ((LABEL, left / 2), (status, left + right / 2))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="{HEIGHT}" fill="#3b4048"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{COLOURS[status]}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{words}</g></svg>"
    )


PAST = timedelta(days=90)
MOST = 1000  # of incidents, and of mutes: the newest
SHORTEST = timedelta(minutes=1)  # that a calendar still draws
REFRESH = timedelta(minutes=15)
PRODUCT = "-//Assay//Data quality//EN"


class CalendarQuery(Shape):
    """Whose incidents and mutes the calendar has; left out: all that you may see."""

    team = serializers.CharField(required=False, max_length=200)
    owner = serializers.CharField(required=False, max_length=200)
    dataset = DatasetField(required=False)


class CalendarFeed(Api):
    """GET a calendar of incidents and mutes."""

    authentication_classes = [*Api.authentication_classes, KeyInAddress]
    renderer_classes = [AnyFile]

    @extend_schema(operation_id="calendar", parameters=[CalendarQuery], responses={(200, "text/calendar"): str})
    def get(self, request: Request) -> HttpResponse:
        """Get incidents and mutes as a calendar (iCalendar).

        An incident lasts from its FAIL until it was resolved; while it is open, until its ETA, or until now. The
        calendar has what ended in the last 90 days, and all that is open. A calendar program asks with `?key=…`, the
        `address_key` of a token of the scope `read`.
        """
        sent = {name: value for name, value in request.query_params.items() if name != PARAMETER}
        query, now, hidden = self.check(CalendarQuery, sent), clock.now(), hidden_datasets(request)
        whose = ", ".join(map(str, query.values()))
        events = [*_incident_events(query, hidden, now), *_silence_events(query, hidden, now)]
        body = calendar(f"Data quality: {whose}" if whose else "Data quality", events)
        headers = {"Cache-Control": "private, max-age=300", "Content-Disposition": 'inline; filename="assay.ics"'}
        return HttpResponse(body, content_type="text/calendar; charset=utf-8", headers=headers)


def calendar(name: str, events: list[Event]) -> bytes:
    """The calendar of events."""
    whole = Calendar()
    whole.add("prodid", PRODUCT)
    whole.add("version", "2.0")
    whole.add("method", "PUBLISH")
    whole.add("x-wr-calname", name)
    whole.add("refresh-interval", REFRESH, parameters={"VALUE": "DURATION"})
    whole.add("x-published-ttl", "PT15M")
    for event in events:
        whole.add_component(event)
    return bytes(whole.to_ical())


def calendar_event(*, start: datetime, end: datetime, now: datetime, **texts: Any) -> Event:
    """Something that lasts, which leaves its time free, as nobody is busy by it; ``uid`` is the same each time."""
    event = Event()
    event.add("dtstamp", now.astimezone(UTC))
    event.add("dtstart", start.astimezone(UTC))
    event.add("dtend", max(end, start + SHORTEST).astimezone(UTC))
    for name, value in texts.items():
        event.add(name, value)
    event.add("transp", "TRANSPARENT")
    return event


def _incident_events(query: dict[str, Any], hidden: list[int], now: datetime) -> Iterator[Event]:
    url = config().public_url.rstrip("/")
    recent = Q(resolved_at=None) | Q(resolved_at__gte=now - PAST)
    rows = Incident.objects.filter(recent, **query).exclude(dataset__in=hidden).select_related("dataset")
    for row in rows.order_by("-pk")[:MOST]:
        state = f"resolved ({Resolution(row.resolution).word})" if row.resolved_at and row.resolution else "open"
        lines = [f"Tier {row.tier}, owner {row.owner}", row.root_cause, row.backfill and f"Backfill: {row.backfill}"]
        yield calendar_event(
            uid=f"incident-{row.pk}@{urlsplit(url).hostname}",
            start=row.detected_at,
            end=row.resolved_at or max(now, row.eta or now),
            now=now,
            summary=f"{row.dataset.full_name}: {row.category}, {state}",
            description="\n".join(filter(None, lines)),
            url=f"{url}/incidents/{row.pk}",
            categories=["Incident", row.category],
        )


def _silence_events(query: dict[str, Any], hidden: list[int], now: datetime) -> Iterator[Event]:
    """The mutes of notices about what is asked for; one of an owner alone is of all of their datasets."""
    url, matching = config().public_url.rstrip("/"), Q(ends_at__gte=now - PAST)
    for field in query.keys() & {"team", "owner"}:
        matching &= Q(**{f"dataset__{field}": query[field]}) | Q(owner=query[field])
    if dataset := query.get("dataset"):
        matching &= Q(dataset=dataset) | Q(dataset=None, owner__in=("", dataset.owner))
    rows = Silence.objects.filter(matching).exclude(dataset__in=hidden).select_related("dataset").order_by("-pk")
    for row in rows[:MOST]:
        what = [row.dataset.full_name if row.dataset else "", row.category, row.owner and f"for {row.owner}"]
        yield calendar_event(
            uid=f"mute-{row.pk}@{urlsplit(url).hostname}",
            start=row.starts_at,
            end=row.ends_at,
            now=now,
            summary=f"Muted: {' '.join(filter(None, what))}",
            description=f"{row.reason}\n{row.author}",
            url=f"{url}/silences",
            categories=["Mute"],
        )


@with_range
class ExportQuery(Shape):
    """The rows to export."""

    dataset = DatasetField(required=False, help_text="left out: all that you may see")


class Export(Api):
    """GET the rows of a range as a file."""

    renderer_classes = [AnyFile]
    table: ClassVar[str]
    form: ClassVar[str]

    def get(self, request: Request) -> HttpResponseBase:
        """Export the rows of a range as a file.

        The range holds runs by when they were evaluated, measurements by when they were measured, and incidents by when
        they were detected, the oldest first. Instants are in UTC. `value` is a float, `exact` has all of its digits. In
        CSV a text that a spreadsheet might run as a formula begins with an apostrophe.
        """
        query, hidden = self.read_query(ExportQuery), hidden_datasets(request)
        dataset, span = query.get("dataset"), query["range"]
        parts = export(self.table, self.form, span=span, dataset=dataset, hidden=hidden, now=clock.now())
        name = f"{self.table}-{span.start:%Y%m%dT%H%M%SZ}-{span.end:%Y%m%dT%H%M%SZ}.{self.form}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return StreamingHttpResponse(parts, content_type=MEDIA_TYPES[self.form], headers=headers)


def _export_view(table: str, form: str) -> type[Export]:
    """The view of one kind of file, with its own words in the document."""
    answer = {(200, MEDIA_TYPES[form]): OpenApiTypes.BINARY if form == "parquet" else str}
    described = extend_schema(
        operation_id=f"exports_{table}_{form}",
        summary=f"Export the {table} of a range as {form.upper() if form == 'csv' else form.capitalize()}",
        parameters=[ExportQuery],
        responses=answer,
    )
    view: type[Export] = type("Export", (Export,), {"table": table, "form": form, "__doc__": Export.__doc__})
    return extend_schema_view(get=described)(view)


EXPORTS = {f"{table}.{form}": _export_view(table, form) for table in TABLES for form in MEDIA_TYPES}
