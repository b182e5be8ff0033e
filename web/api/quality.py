"""May this data be used? Asked of a range of a dataset, or of everything that a query reads."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.db.models.functions import Lower
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.models import Dataset
from assay.windows import Window
from incident_manager.services import LookUpAnswer, look_up
from web.api.base import Api
from web.api.errors import Wrong
from web.api.fields import ReplicasField, Shape, with_range
from web.api.gate import demand_replica
from web.sql_tables import TableUse, UnableToReadQuery, ranges, table_uses

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@with_range
class QualityQuery(Shape):
    """A range of a dataset in one datacenter; home, if none is named."""

    dataset = ReplicasField()
    datacenter = serializers.CharField(required=False, default="", max_length=60)


class SqlQuestion(Shape):
    """A query; ``from`` and ``to`` bound the tables that it reads in whole."""

    sql = serializers.CharField(max_length=100_000)
    datacenter = serializers.CharField(required=False, default="", max_length=60)

    def get_fields(self) -> dict[str, Any]:
        """The fields, with the two that are no names in Python."""
        return {**super().get_fields(), **{name: serializers.DateTimeField(required=False) for name in ("from", "to")}}


class Quality(Api):
    """GET the quality of a range."""

    @extend_schema(parameters=[QualityQuery], responses=dict[str, Any])
    def get(self, request: Request) -> Response:
        """``good``, ``reported`` (a claim that nobody confirmed) or ``bad``, with the incidents."""
        asked = self.asked(QualityQuery)
        home = asked["dataset"][0]
        place = asked["datacenter"] or home.datacenter
        if place not in {replica.datacenter for replica in asked["dataset"]}:
            demand_replica(home.dataset, place)
        answer = look_up(dataset=home.dataset, window=asked["range"], datacenter=place, now=clock.now())
        return Response(written(answer))


class QueryQuality(Api):
    """POST a query."""

    @extend_schema(request=SqlQuestion, responses=dict[str, Any])
    def post(self, request: Request) -> Response:
        """The quality of every table and range that the query reads; the worst of them is its status."""
        given, now, question = self.given(SqlQuestion), clock.now(), uuid4()
        try:
            uses = table_uses(given["sql"])
        except UnableToReadQuery as unable:
            raise Wrong(str(unable), where="sql", mend="Send one or several statements in Spark SQL.") from None
        datasets, place = _datasets(uses), given["datacenter"]
        known = [(datasets[use.name.lower()], use) for use in uses if use.name.lower() in datasets]
        answers = [
            look_up(dataset=dataset, window=part, datacenter=place, now=now, query=question)
            for dataset, use in known
            for part in _parts(dataset, use, given, now)
        ]
        unknown = sorted({use.name for use in uses if use.name.lower() not in datasets})
        tables = [written(answer) for answer in answers]
        return Response({"status": _worst(tables), "tables": tables, "unknown": unknown})


def written(answer: LookUpAnswer) -> dict[str, Any]:
    """A look-up's answer for JSON."""
    status = "bad" if answer.failed else "reported" if answer.reports else "good"
    return {
        "dataset": answer.dataset.full_name,
        "from": answer.window.start,
        "to": answer.window.end,
        "datacenter": answer.datacenter,
        "status": status,
        "incidents": [_incident(answer, incident.pk) for incident in answer.incidents],
        "reports": [report.pk for report in answer.reports],
    }


def _incident(answer: LookUpAnswer, pk: int) -> dict[str, Any]:
    spoilt = [row for row in answer.spoilt if row.incident_id == pk]
    incident = spoilt[0].incident
    return {
        "id": pk,
        "category": incident.category,
        "root_cause": incident.root_cause,
        "eta": incident.eta,
        "hard": any(row.severity == "hard" for row in spoilt),
        "windows": [row.window.text for row in spoilt],
    }


def _worst(tables: list[dict[str, Any]]) -> str:
    found = {table["status"] for table in tables}
    return next((status for status in ("bad", "reported") if status in found), "good")


def _datasets(uses: tuple[TableUse, ...]) -> dict[str, Dataset]:
    """The datasets that are read, by lower-case name: SQL does not tell cases apart."""
    wanted = {use.name.lower() for use in uses}
    rows = Dataset.objects.annotate(lower=Lower("full_name")).filter(lower__in=wanted).prefetch_related("replicas")
    return {dataset.full_name.lower(): dataset for dataset in rows}


def _parts(dataset: Dataset, use: TableUse, given: dict[str, Any], now: datetime) -> tuple[Window, ...]:
    partitioning = dataset.partitioning
    last = partitioning.at(now).end if partitioning else now
    start, end = given.get("from") or _begin(dataset), given.get("to") or last
    if start >= end:
        raise Wrong("The range ends before it starts.", where="to")
    whole = Window(start=start, end=end)
    return ranges(use, dataset.partition_column, partitioning, whole) if partitioning else (whole,)


def _begin(dataset: Dataset) -> datetime:
    if dataset.partitioning and dataset.first_partition:
        return dataset.partitioning.window(dataset.first_partition).start
    return EPOCH
