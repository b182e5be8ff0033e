"""The gate: may a pipeline read this now?"""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.selectors import asked_window, parse_windows
from assay.models import Dataset
from assay.time.windows import UnableToReadWindow, Window
from incident_manager.gate.services import as_json
from incident_manager.services import ToRead, gate_of, unreadable_in
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetsField, Shape
from web.api.conventions.openapi import with_example
from web.api.conventions.problems import Wrong

from .answers import GateVerdict


@with_example({"datasets": ["raw.trips"], "window": "2026-03-09", "pipeline": "nightly_fares"})
class GateQuestion(Shape):
    """What a pipeline is about to read: a window as START/END, or a partition's key.

    A dataset without partitions is judged as it lies now.
    """

    datasets = DatasetsField(min_length=1, max_length=200, help_text="full names, of business metrics too")
    window = serializers.CharField(max_length=100)
    datacenter = serializers.CharField(required=False, default="", max_length=60)
    pipeline = serializers.CharField(required=False, default="", max_length=200)


class Gate(Api):
    """POST what a pipeline is about to read."""

    @extend_schema(request=GateQuestion, responses=GateVerdict)
    def post(self, request: Request) -> Response:
        """Ask whether a pipeline may read this data now.

        The answer is ``allow``, ``warn`` or ``block`` with every reason, the strictest first.
        """
        given, now = self.given(GateQuestion), clock.now()
        try:
            windows = parse_windows(given["datasets"], given["window"], now)
        except UnableToReadWindow as unable:
            raise Wrong(str(unable), where="window") from None
        for dataset in given["datasets"]:
            demand_replica(dataset, given["datacenter"])
        to_read = [
            ToRead(dataset=dataset, window=window, datacenter=given["datacenter"])
            for dataset, window in zip(given["datasets"], windows, strict=True)
        ]
        return Response(as_json(gate_of(to_read, pipeline=given["pipeline"], now=now)))


def read_window(dataset: Dataset, text: str, *, where: str) -> Window:
    """The window that is meant; raises Wrong."""
    try:
        return asked_window(dataset, text)
    except UnableToReadWindow as unable:
        raise Wrong(str(unable), where=where) from None


def demand_replica(dataset: Dataset, datacenter: str) -> None:
    """Nothing where the dataset is kept in that datacenter, or anywhere if none is named; else raises Wrong."""
    if why_not := unreadable_in(dataset, datacenter):
        raise Wrong(why_not, where="datacenter" if datacenter else "dataset")
