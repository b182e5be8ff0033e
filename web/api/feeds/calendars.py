"""A calendar of incidents and mutes, which calendar programs ask for by an address alone."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Q
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from alerting.models import Silence
from assay import clock
from assay.config import config
from assay.models import Dataset
from incident_manager.models import Incident, Resolution
from web.access.tokens import PARAMETER, KeyInAddress
from web.access.who import hidden_datasets
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetField, Shape
from web.shown.feeds import CalendarEntry, calendar

from .exports import AnyFile

PAST = timedelta(days=90)
MOST = 1000  # of incidents, and of mutes: the newest


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
        given = {name: value for name, value in request.query_params.items() if name != PARAMETER}
        asked, now, hidden = self._checked(CalendarQuery, given), clock.now(), hidden_datasets(request)
        url = config().public_url.rstrip("/")
        entries = [*_incidents(asked, hidden, now, url), *_silences(asked, hidden, now, url)]
        whose = ", ".join(str(each) for each in asked.values())
        body = calendar(f"Data quality: {whose}" if whose else "Data quality", entries, now=now)
        headers = {"Cache-Control": "private, max-age=300", "Content-Disposition": 'inline; filename="assay.ics"'}
        return HttpResponse(body, content_type="text/calendar; charset=utf-8", headers=headers)


def _incidents(asked: dict[str, Any], hidden: list[int], now: datetime, url: str) -> Iterator[CalendarEntry]:
    recent = Q(resolved_at=None) | Q(resolved_at__gte=now - PAST)
    rows = Incident.objects.filter(recent, **asked).exclude(dataset__in=hidden).select_related("dataset")
    for row in rows.order_by("-pk")[:MOST]:
        state = f"resolved ({Resolution(row.resolution).said})" if row.resolved_at and row.resolution else "open"
        told = [f"Tier {row.tier}, owner {row.owner}", row.root_cause, row.backfill and f"Backfill: {row.backfill}"]
        yield CalendarEntry(
            uid=f"incident-{row.pk}@{urlsplit(url).hostname}",
            start=row.detected_at,
            end=row.resolved_at or max(now, row.eta or now),
            summary=f"{row.dataset.full_name}: {row.category}, {state}",
            text="\n".join(filter(None, told)),
            url=f"{url}/incidents/{row.pk}",
            categories=("Incident", row.category),
        )


def _silences(asked: dict[str, Any], hidden: list[int], now: datetime, url: str) -> Iterator[CalendarEntry]:
    rows = Silence.objects.filter(_muting(asked), ends_at__gte=now - PAST).exclude(dataset__in=hidden)
    for row in rows.select_related("dataset").order_by("-pk")[:MOST]:
        of_what = [row.dataset.full_name if row.dataset else "", row.category, row.owner and f"for {row.owner}"]
        yield CalendarEntry(
            uid=f"mute-{row.pk}@{urlsplit(url).hostname}",
            start=row.starts_at,
            end=row.ends_at,
            summary=f"Muted: {' '.join(filter(None, of_what))}",
            text=f"{row.reason}\n{row.author}",
            url=f"{url}/silences",
            categories=("Mute",),
        )


def _muting(asked: dict[str, Any]) -> Q:
    """The mutes of notices about what is asked for; one of an owner alone is of all of their datasets."""
    wanted = Q()
    if "team" in asked:
        wanted &= Q(dataset__team=asked["team"]) | Q(owner=asked["team"])
    if "owner" in asked:
        wanted &= Q(dataset__owner=asked["owner"]) | Q(owner=asked["owner"])
    if "dataset" in asked:
        dataset: Dataset = asked["dataset"]
        wanted &= Q(dataset=dataset) | Q(dataset=None, owner__in=("", dataset.owner))
    return wanted
