"""May this data be used? Asked of hundreds of ranges at once."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.selectors import by_names
from assay.models import Dataset
from incident_manager.quality.rules import Status, worst
from incident_manager.services import Asked, look_ups
from web.access.who import need_of, owned, person_of, unreadable
from web.api.conventions.base import Api
from web.api.conventions.fields import Shape, with_range
from web.api.conventions.openapi import with_example
from web.api.conventions.problems import Wrong

from .answers import BulkAnswer
from .gate import demand_replica
from .quality import not_known, written

MOST_LOOK_UPS = 500
MOST_WINDOWS = 3  # of one reason or incident: hundreds of answers stay readable


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
        given = self.given(LookUpQuestions)["look_ups"]
        datasets = by_names({each["dataset"] for each in given})
        answers: list[dict[str, Any] | None] = []
        asked: list[Asked] = []
        for each in given:
            dataset = datasets.get(each["dataset"])
            if why_not := self._why_not(request, dataset, each["datacenter"]):
                answers.append(_unknown(each, why_not))
            elif dataset is None:
                answers.append({**_unknown(each, ""), **not_known(each["dataset"])})
            else:
                asked.append(Asked(dataset=dataset, window=each["range"], datacenter=each["datacenter"]))
                answers.append(None)
        found = iter(look_ups(asked, now=clock.now()))
        all_answers = [written(next(found), most=MOST_WINDOWS) if answer is None else answer for answer in answers]
        status = worst(Status(answer["status"]) for answer in all_answers)
        return Response({"status": status, "answers": all_answers})

    def _why_not(self, request: Request, dataset: Dataset | None, datacenter: str) -> str:
        """Why a dataset that is known cannot be looked up; empty: it can."""
        if dataset is None:
            return ""
        if refusal := unreadable(person_of(request), need_of(self, "POST"), owned(dataset)):
            return refusal.text
        try:
            demand_replica(dataset, datacenter)
        except Wrong as wrong:
            return str(wrong.detail)
        return ""


def _unknown(asked: dict[str, Any], text: str) -> dict[str, Any]:
    """An answer on what cannot be looked up."""
    return {
        "dataset": asked["dataset"],
        "from": asked["from"],
        "to": asked["to"],
        "datacenter": asked["datacenter"],
        "status": Status.UNKNOWN,
        "reasons": [
            {
                "status": Status.UNKNOWN,
                "text": text,
                "category": None,
                "test": None,
                "hard": False,
                "windows": [asked["range"].text],
                "more_windows": 0,
                "incident": None,
                "report": None,
            }
        ],
        "incidents": [],
        "reports": [],
    }
