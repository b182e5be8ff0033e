"""May this data be used? Asked of a range of a dataset, or of everything that a query reads."""

from collections.abc import Collection
from datetime import UTC, datetime
from hashlib import blake2s
from typing import Any
from uuid import uuid4

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.selectors import begins_at, by_names
from assay.models import Dataset
from assay.time.windows import Window
from incident_manager.intervals import START
from incident_manager.models import Incident
from incident_manager.quality.rules import AnswerReason, AskedRange, Facts, Status, judge, worst
from incident_manager.services import Asked, LookUpAnswer, look_up, look_ups
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetField, InstantField, Shape, demand_readable, with_range
from web.api.conventions.openapi import with_example
from web.api.conventions.problems import Wrong
from web.sql.narrowing import PartitionColumn, ranges
from web.sql.tables import DIALECTS, TableUse, UnableToReadQuery, table_uses

from .answers import QueryAnswer, RangeQuality
from .gate import demand_replica

MOST_RANGES = 25  # of one query, each a look-up of its own; beyond, each table is answered over all that lies between
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_WINDOWS = 50  # of one reason or incident, that an answer lists


@with_range
class QualityQuery(Shape):
    """A range of a dataset to look up in one datacenter; home, if none is named."""

    dataset = DatasetField()
    datacenter = serializers.CharField(required=False, default="", max_length=60)


@with_example({"sql": "select sum(fare) from raw.trips where datestr = '2026-03-09'"})
class SqlQuestion(Shape):
    """A query to look up; ``from`` and ``to`` bound the tables that it reads in whole."""

    sql = serializers.CharField(max_length=100_000)
    dialect = serializers.ChoiceField(
        DIALECTS,
        required=False,
        default=DIALECTS[0],
        error_messages={"invalid_choice": f'"{{input}}" is not known; known here: {", ".join(DIALECTS)}'},
    )
    datacenter = serializers.CharField(required=False, default="", max_length=60)

    def get_fields(self) -> dict[str, Any]:
        """The fields, with the two that are no names in Python."""
        return {**super().get_fields(), **{name: InstantField(required=False) for name in ("from", "to")}}


class Quality(Api):
    """GET the quality of a range of a dataset."""

    @extend_schema(parameters=[QualityQuery], responses=RangeQuality)
    def get(self, request: Request) -> HttpResponseBase:
        """Ask how good a range of a dataset is.

        The status is the worst that is known of the range, with every reason and the incidents.

        ``bad``: the latest result of a test is broken, an incident is open or a report is confirmed. ``unknown``: a
        hard test is due and has given no verdict, or the data cannot be read. ``reported``: a user claims that it is
        bad, or it is bad and accepted. ``untested``: no test has judged all of it, as where it is not due yet. Else
        ``good``. The answer has an ETag: sent again as ``If-None-Match``, the same answer is 304 without a body.
        """
        asked = self.asked(QualityQuery)
        dataset, place = asked["dataset"], asked["datacenter"]
        demand_replica(dataset, place)
        answer = look_up(dataset=dataset, window=asked["range"], datacenter=place, now=clock.now())
        return unless_known(request, written(answer))


class QueryQuality(Api):
    """POST a query to look up what it reads."""

    @extend_schema(request=SqlQuestion, responses=QueryAnswer)
    def post(self, request: Request) -> Response:
        """Ask how good the tables are that a query reads.

        The answer has every table and range that the query reads; the worst of them is its status. The query is in the
        SQL of ``dialect``.
        """
        given, now, question = self.given(SqlQuestion), clock.now(), uuid4()
        dialect, place = given["dialect"], given["datacenter"]
        try:
            uses = table_uses(given["sql"], dialect)
        except UnableToReadQuery as unable:
            mend = (
                f"Send one or several statements in the SQL of {dialect}, or name their dialect: {', '.join(DIALECTS)}."
            )
            raise Wrong(str(unable), where="sql", mend=mend) from None
        datasets = datasets_of({use.name for use in uses})
        read: dict[Dataset, list[TableUse]] = {}
        for use in uses:
            if use.name in datasets:
                read.setdefault(datasets[use.name], []).append(use)
        for dataset in read:
            demand_readable(request, dataset)
        if len(read) > MOST_RANGES:
            raise Wrong(
                f"The query reads {len(read)} tables: at most {MOST_RANGES} are answered at once.",
                where="sql",
                mend="Ask in several queries.",
            )
        parts = [(dataset, part) for dataset, own in read.items() for part in _parts(dataset, tuple(own), given, now)]
        asked = _spanned(parts) if len(parts) > MOST_RANGES else parts
        ranges_asked = [Asked(dataset=dataset, window=part, datacenter=place) for dataset, part in asked]
        answers = look_ups(ranges_asked, now=now, query=question)
        unknown = sorted({use.name for use in uses if use.name not in datasets})
        tables = [*(written(answer) for answer in answers), *(not_known(name) for name in unknown)]
        status = worst(Status(table["status"]) for table in tables)
        return Response({"status": status, "tables": tables, "unknown": unknown, "widened": asked is not parts})


def unless_known(request: Request, answer: dict[str, Any]) -> HttpResponseBase:
    """The answer with its ETag, or 304 where who asks has it already."""
    response = Response(answer, headers={"Cache-Control": "private, no-cache"})  # kept, and asked about each time
    etag = f'W/"{blake2s(JSONRenderer().render(answer), digest_size=16).hexdigest()}"'
    found = get_conditional_response(request, etag=etag, response=response) or response
    found.headers["ETag"] = etag
    return found


def written(answer: LookUpAnswer, *, most: int = MOST_WINDOWS) -> dict[str, Any]:
    """A look-up's answer for JSON, with so many windows of each reason and incident."""
    return {
        "dataset": answer.dataset.full_name,
        "from": answer.window.start,
        "to": answer.window.end,
        "datacenter": answer.datacenter,
        "status": answer.quality.status,
        "reasons": [reason_written(reason, most=most) for reason in answer.quality.reasons],
        "incidents": [_incident(answer, incident, most) for incident in answer.incidents],
        "reports": list(answer.reports),
    }


def reason_written(reason: AnswerReason, *, most: int = MOST_WINDOWS) -> dict[str, Any]:
    """A reason for JSON, with the first of its windows and how many more there are."""
    return {
        "status": reason.status,
        "text": reason.text,
        "category": reason.category or None,
        "test": reason.test,
        "hard": reason.hard,
        "windows": [window.text for window in reason.windows[:most]],
        "more_windows": max(0, len(reason.windows) - most),
        "incident": reason.incident_id,
        "report": reason.report_id,
    }


def not_known(name: str) -> dict[str, Any]:
    """The answer on a table that the catalog does not know, for JSON."""
    answer = judge(Facts(dataset=name, is_known=False), AskedRange())
    reasons = [reason_written(reason) for reason in answer.reasons]
    nowhere = {"from": None, "to": None, "datacenter": None}
    return {"dataset": name, **nowhere, "status": answer.status, "reasons": reasons, "incidents": [], "reports": []}


def _incident(answer: LookUpAnswer, incident: Incident, most: int) -> dict[str, Any]:
    spoilt = [each for each in answer.spoilt if each.incident_id == incident.pk]
    windows = sorted((window for each in spoilt for window in each.windows), key=START)
    return {
        "id": incident.pk,
        "category": incident.category,
        "root_cause": incident.root_cause,
        "eta": incident.eta,
        "hard": any(each.hard for each in spoilt),
        "windows": [window.text for window in windows[:most]],
        "more_windows": max(0, len(windows) - most),
    }


def _spanned(parts: list[tuple[Dataset, Window]]) -> list[tuple[Dataset, Window]]:
    """One range for each table, from its first to its last: more than is read, so that nothing bad is missed."""
    spans: dict[Dataset, Window] = {}
    for dataset, part in parts:
        known = spans.get(dataset, part)
        spans[dataset] = Window(start=min(known.start, part.start), end=max(known.end, part.end))
    return list(spans.items())


def datasets_of(names: Collection[str]) -> dict[str, Dataset]:
    """The datasets of these names, as queries write them: a catalog before the name that we know is left away."""
    shorter = {name: [name.split(".", at)[-1] for at in range(max(1, name.count(".")))] for name in names}
    found = by_names({each.lower() for own in shorter.values() for each in own})
    known = {name: next((each for each in own if each.lower() in found), None) for name, own in shorter.items()}
    return {name: found[each.lower()] for name, each in known.items() if each is not None}


def _parts(dataset: Dataset, uses: tuple[TableUse, ...], given: dict[str, Any], now: datetime) -> tuple[Window, ...]:
    partitioning = dataset.partitioning
    last = partitioning.at(now).end if partitioning else now
    start, end = given.get("from") or begins_at(dataset) or EPOCH, given.get("to") or last
    if start >= end:
        raise Wrong("The range ends before it starts.", where="to")
    whole = Window(start=start, end=end)
    if partitioning is None:
        return (whole,)
    column = PartitionColumn(name=dataset.partition_column, partitioning=partitioning, times=dataset.stored_times)
    return ranges(uses, column, whole, now=now, dialect=given["dialect"])
