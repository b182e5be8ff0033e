"""May this data be used? Asked of a range of a dataset, of everything that a query reads, or of many ranges at once."""

from collections.abc import Collection, Sequence
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
from assay.catalog.proposals import note_queried
from assay.catalog.selectors import begins_at, by_names
from assay.models import Category, Dataset
from assay.time.windows import Window
from incident_manager.intervals import START
from incident_manager.models import Incident
from incident_manager.quality.rules import AnswerReason, Facts, QualityStatus, RangeRequest, judge, worst
from incident_manager.services import LookUpAnswer, ToRead, gates_of, look_up, look_ups, unreadable_in
from web.access.who import need_of, owned, person_of, unreadable
from web.rendering.use import WORDS, PlaceAnswer, Use, use_sentence, with_why
from web.sql.narrowing import PartitionColumn, ranges
from web.sql.tables import DIALECTS, TableUse, UnableToReadQuery, table_uses

from .base import Api
from .fields import DatasetField, Fields, InstantField, Shape, Spanned, WindowField, demand_readable, with_range
from .gate import STATUSES, demand_replica
from .openapi import with_example
from .problems import Wrong

MOST_RANGES = 25  # of one query, each a look-up of its own; beyond, each table is answered over all that lies between
MOST_WINDOWS = 50  # of one reason or incident, that an answer lists
MOST_LOOK_UPS = 500  # of one bulk request
MOST_BULK_WINDOWS = 3  # of one reason or incident: hundreds of answers stay readable
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class QualityReason(serializers.Serializer[Any]):
    """A reason for the quality of a range."""

    status = serializers.ChoiceField(STATUSES, allow_null=True, help_text="null: the reason only explains")
    text = serializers.CharField()
    category = serializers.ChoiceField(Category.choices, allow_null=True)
    test = serializers.CharField(allow_null=True, help_text="the data test's name")
    hard = serializers.BooleanField()
    windows = serializers.ListField(child=WindowField(), help_text="the first 50")
    more_windows = serializers.IntegerField()
    incident = serializers.IntegerField(allow_null=True)
    report = serializers.IntegerField(allow_null=True)


class QualityIncident(serializers.Serializer[Any]):
    """An incident whose bad windows lie in a range."""

    id = serializers.IntegerField()
    category = serializers.ChoiceField(Category.choices)
    root_cause = serializers.CharField(allow_blank=True)
    eta = serializers.DateTimeField(allow_null=True)
    hard = serializers.BooleanField()
    windows = serializers.ListField(child=WindowField(), help_text="the first 50")
    more_windows = serializers.IntegerField()


class QualityFields(serializers.Serializer[Any]):
    """The quality of a table."""

    dataset = serializers.CharField()
    status = serializers.ChoiceField(STATUSES)
    sentence = serializers.CharField(help_text="may it be used, why not, and when that changes, in plain words")
    reasons = QualityReason(many=True)
    incidents = QualityIncident(many=True)
    reports = serializers.ListField(child=serializers.IntegerField(), help_text="reports that nobody has decided")


class RangeQuality(Spanned, QualityFields):
    """The quality of a range of a dataset in one datacenter."""

    datacenter = serializers.CharField()


class TableQuality(RangeQuality):
    """The quality of a table that was looked up; without range and datacenter where the catalog lacks it."""

    span_may_be_null = True
    datacenter = serializers.CharField(allow_null=True)


class QueryAnswer(serializers.Serializer[Any]):
    """The quality of all tables that a query reads."""

    status = serializers.ChoiceField(STATUSES, help_text="the worst status of the tables")
    tables = TableQuality(many=True)
    unknown = serializers.ListField(child=serializers.CharField(), help_text="tables that the catalog lacks")
    widened = serializers.BooleanField(help_text="whether many ranges were answered as one for each table")


class BulkAnswer(serializers.Serializer[Any]):
    """The quality of many ranges."""

    status = serializers.ChoiceField(STATUSES, help_text="the worst status of the answers")
    answers = TableQuality(
        many=True, help_text="one answer for each range, in their order; each reason lists its first 3 windows"
    )


def qualities_as_json(
    answers: Sequence[LookUpAnswer], *, now: datetime, most: int = MOST_WINDOWS
) -> list[dict[str, Any]]:
    """The answers of look-ups, each with its sentence, and with so many windows of each reason and incident."""
    gated = gates_of([(answer.dataset, answer.quality) for answer in answers], now=now)
    etas = {incident.pk: incident.eta for answer in answers for incident in answer.incidents}
    places = [
        PlaceAnswer(dataset=answer.dataset, quality=answer.quality, gate=gate)
        for answer, gate in zip(answers, gated, strict=True)
    ]
    return [
        _quality_as_json(answer, most) | {"sentence": use_sentence([place])}
        for answer, place in zip(answers, with_why(places, etas, now=now), strict=True)
    ]


def _quality_as_json(answer: LookUpAnswer, most: int) -> dict[str, Any]:

    def incident_as_json(incident: Incident) -> dict[str, Any]:
        spoilt = [fact for fact in answer.spoilt if fact.incident_id == incident.pk]
        windows = sorted((window for fact in spoilt for window in fact.windows), key=START)
        return {
            "id": incident.pk,
            "category": incident.category,
            "root_cause": incident.root_cause,
            "eta": incident.eta,
            "hard": any(fact.hard for fact in spoilt),
            "windows": [window.text for window in windows[:most]],
            "more_windows": max(0, len(windows) - most),
        }

    return {
        "dataset": answer.dataset.full_name,
        "from": answer.window.start,
        "to": answer.window.end,
        "datacenter": answer.datacenter,
        "status": answer.quality.status,
        "reasons": [_reason_as_json(reason, most) for reason in answer.quality.reasons],
        "incidents": [incident_as_json(incident) for incident in answer.incidents],
        "reports": list(answer.reports),
    }


def _reason_as_json(reason: AnswerReason, most: int) -> dict[str, Any]:
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


def _unknown_table(name: str) -> dict[str, Any]:
    """The answer on a table that the catalog does not know."""
    answer = judge(Facts(dataset=name, is_known=False), RangeRequest())
    reasons = [_reason_as_json(reason, MOST_WINDOWS) for reason in answer.reasons]
    nowhere = {"from": None, "to": None, "datacenter": None, "sentence": _nobody_knows(answer.reasons[0].text)}
    return {"dataset": name, **nowhere, "status": answer.status, "reasons": reasons, "incidents": [], "reports": []}


def _nobody_knows(why: str) -> str:
    return f"{WORDS[Use.NOBODY]}: {why.rstrip('.')}."


@with_range
class QualityQuery(Shape):
    """A range of a dataset to look up in one datacenter; home, if none is named."""

    dataset = DatasetField()
    datacenter = serializers.CharField(required=False, default="", max_length=60)


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
        query = self.read_query(QualityQuery)
        dataset, place = query["dataset"], query["datacenter"]
        demand_replica(dataset, place)
        now = clock.now()
        looked_up = look_up(dataset=dataset, window=query["range"], datacenter=place, now=now)
        (answer,) = qualities_as_json([looked_up], now=now)
        response = Response(answer, headers={"Cache-Control": "private, no-cache"})  # kept, and asked about each time
        etag = f'W/"{blake2s(JSONRenderer().render(answer), digest_size=16).hexdigest()}"'
        conditional = get_conditional_response(request, etag=etag, response=response) or response
        conditional.headers["ETag"] = etag
        return conditional


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

    def get_fields(self) -> Fields:
        """The fields, with the two that are no names in Python."""
        return super().get_fields() | {name: InstantField(required=False) for name in ("from", "to")}


class QueryQuality(Api):
    """POST a query to look up what it reads."""

    @extend_schema(request=SqlQuestion, responses=QueryAnswer)
    def post(self, request: Request) -> Response:
        """Ask how good the tables are that a query reads.

        The answer has every table and range that the query reads; the worst of them is its status. The query is in the
        SQL of ``dialect``.
        """
        body, now = self.read_body(SqlQuestion), clock.now()
        dialect = body["dialect"]
        try:
            uses = table_uses(body["sql"], dialect)
        except UnableToReadQuery as unable:
            mend = (
                f"Send one or several statements in the SQL of {dialect}, or name their dialect: {', '.join(DIALECTS)}."
            )
            raise Wrong(str(unable), where="sql", mend=mend) from None
        datasets = _datasets_by_name({use.name for use in uses})
        uses_by_dataset: dict[Dataset, list[TableUse]] = {}
        for use in uses:
            if use.name in datasets:
                uses_by_dataset.setdefault(datasets[use.name], []).append(use)
        for dataset in uses_by_dataset:
            demand_readable(request, dataset)
        if len(uses_by_dataset) > MOST_RANGES:
            raise Wrong(
                f"The query reads {len(uses_by_dataset)} tables: at most {MOST_RANGES} are answered at once.",
                where="sql",
                mend="Ask in several queries.",
            )
        parts = {dataset: _parts(dataset, own, body, now) for dataset, own in uses_by_dataset.items()}
        is_widened = sum(map(len, parts.values())) > MOST_RANGES
        if is_widened:  # of each table all that lies between: more than is read, so that nothing bad is missed
            parts = {
                dataset: (Window(start=min(part.start for part in own), end=max(part.end for part in own)),)
                for dataset, own in parts.items()
                if own
            }
        look_up_requests = [
            ToRead(dataset=dataset, window=window, datacenter=body["datacenter"])
            for dataset, windows in parts.items()
            for window in windows
        ]
        answers = look_ups(look_up_requests, now=now, query=uuid4())
        unknown = sorted({use.name for use in uses if use.name not in datasets})
        note_queried(unknown, now=now)
        tables = [*qualities_as_json(answers, now=now), *map(_unknown_table, unknown)]
        status = worst(QualityStatus(table["status"]) for table in tables)
        return Response({"status": status, "tables": tables, "unknown": unknown, "widened": is_widened})


def _datasets_by_name(names: Collection[str]) -> dict[str, Dataset]:
    """The datasets of these names, as queries write them: a catalog before the name that we know is left away."""
    shorter = {name: [name.split(".", at)[-1] for at in range(max(1, name.count(".")))] for name in names}
    datasets = by_names({part.lower() for parts in shorter.values() for part in parts})
    catalog_names = {
        name: next((part for part in parts if part.lower() in datasets), None) for name, parts in shorter.items()
    }
    return {name: datasets[part.lower()] for name, part in catalog_names.items() if part is not None}


def _parts(dataset: Dataset, uses: list[TableUse], body: dict[str, Any], now: datetime) -> tuple[Window, ...]:
    """The ranges of a dataset that the uses read; raises Wrong."""
    partitioning = dataset.partitioning
    last = partitioning.at(now).end if partitioning else now
    start, end = body.get("from") or begins_at(dataset) or EPOCH, body.get("to") or last
    if start >= end:
        raise Wrong("The range ends before it starts.", where="to")
    whole = Window(start=start, end=end)
    if partitioning is None:
        return (whole,)
    column = PartitionColumn(name=dataset.partition_column, partitioning=partitioning, times=dataset.stored_times)
    return ranges(tuple(uses), column, whole, now=now, dialect=body["dialect"])


@with_range
class LookUpQuestion(Shape):
    """A range of a dataset to look up in one datacenter; home, if none is named."""

    dataset = serializers.CharField(max_length=255)
    datacenter = serializers.CharField(required=False, default="", max_length=60)


@with_example({"look_ups": [{"dataset": "raw.trips", "from": "2026-03-09T00:00:00Z", "to": "2026-03-10T00:00:00Z"}]})
class LookUpQuestions(Shape):
    """Many ranges to look up, of one or of many datasets."""

    look_ups = serializers.ListField(child=LookUpQuestion(), min_length=1, max_length=MOST_LOOK_UPS)


class BulkQuality(Api):
    """POST many ranges to look up."""

    @extend_schema(request=LookUpQuestions, responses=BulkAnswer)
    def post(self, request: Request) -> Response:
        """Ask how good many ranges are.

        The answer has one look-up for each range, in their order. What cannot be looked up is ``unknown``, with the
        reason, and leaves the other answers alone: a dataset that the catalog does not know or that you may not see,
        and a datacenter that has no copy of it. Each reason lists its first 3 windows.
        """
        questions = self.read_body(LookUpQuestions)["look_ups"]
        datasets = by_names({question["dataset"] for question in questions})
        answers: list[dict[str, Any] | None] = []
        look_up_requests: list[ToRead] = []
        person, need = person_of(request), need_of(self, "POST")
        for question in questions:
            if (dataset := datasets.get(question["dataset"])) is None:
                answers.append(_unknown_table(question["dataset"]))
                continue
            why_not = unreadable(person, need, owned(dataset)) or unreadable_in(dataset, question["datacenter"])
            if why_not:
                reason = {
                    **{"status": QualityStatus.UNKNOWN, "text": why_not, "category": None, "test": None, "hard": False},
                    **{"windows": [question["range"].text], "more_windows": 0, "incident": None, "report": None},
                }
                place = {name: question[name] for name in ("dataset", "from", "to", "datacenter")}
                unknown = {"status": QualityStatus.UNKNOWN, "reasons": [reason], "incidents": [], "reports": []}
                answers.append({**place, **unknown, "sentence": _nobody_knows(why_not)})
            else:
                look_up_requests.append(
                    ToRead(dataset=dataset, window=question["range"], datacenter=question["datacenter"])
                )
                answers.append(None)
        now = clock.now()
        looked_up = iter(qualities_as_json(look_ups(look_up_requests, now=now), now=now, most=MOST_BULK_WINDOWS))
        whole = [answer or next(looked_up) for answer in answers]
        return Response({"status": worst(QualityStatus(answer["status"]) for answer in whole), "answers": whole})
