"""Lineage: the graph around a dataset, and run events as OpenLineage's clients post them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.events import apply_event
from assay.catalog.openlineage import UnableToReadEvent, read_event
from assay.catalog.services import UnableToComplete
from web.access.changes import audited
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetField, Shape
from web.api.conventions.problems import Wrong
from web.shown.lineage import lineage

from .answers import HeardEvent, LineageGraph


class LineageQuery(Shape):
    """The dataset whose lineage to show."""

    dataset = DatasetField()


class Lineage(Api):
    """GET the lineage of a dataset, POST an event of OpenLineage."""

    @extend_schema(parameters=[LineageQuery], responses=LineageGraph)
    def get(self, request: Request) -> Response:
        """Show the lineage of a dataset, up to three hops upstream and downstream.

        ``hops`` is negative upstream.
        """
        graph = lineage(self.asked(LineageQuery)["dataset"], now=clock.now())
        names = {node.id: node.name for node in graph.nodes}
        datasets = [{"name": n.name, "tier": n.tier, "status": n.status, "hops": n.column} for n in graph.nodes]
        edges = [
            {"upstream": names[upstream], "downstream": names[downstream], "one_to_one": one_to_one, "keys": keys}
            for upstream, downstream, one_to_one, keys in graph.edges
        ]
        return Response({"datasets": datasets, "edges": edges})

    @extend_schema(request=dict[str, Any], responses={201: HeardEvent})
    def post(self, request: Request) -> Response:
        """Send an event of a run, as the clients of OpenLineage do.

        ``unknown`` names datasets that the catalog lacks.
        """
        try:
            event = read_event(request.data)
        except UnableToReadEvent as unable:
            raise Wrong(str(unable), mend="Post an OpenLineage RunEvent, as openlineage-python does.") from None
        try:
            with audited(request, "lineage.event", kind="pipeline") as change:
                heard = apply_event(event, now=clock.now())
                answer = {"edges": heard.edges, "completions": heard.completions, "unknown": heard.unknown}
                change.key, change.after = event.job, answer
        except UnableToComplete as unable:
            raise Wrong(str(unable), where="run.facets.nominalTime") from None
        return Response(answer, status=201)
