"""The lineage of a dataset, and the events of OpenLineage that tell of it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.events import apply_event
from assay.catalog.openlineage import UnableToReadEvent, read_event
from assay.catalog.services import UnableToComplete
from assay.models import EdgeTelling
from execution_engine.models import BlastRadius
from web.access.changes import audited
from web.access.who import hidden_datasets
from web.rendering.lineage import EdgeFacts, edges_with_facts, lineage
from web.rendering.status import DisplayStatus

from .base import Api
from .fields import DatasetField, Shape
from .problems import refusing


class LineageDataset(serializers.Serializer[Any]):
    """A dataset in a graph of lineage."""

    name = serializers.CharField()
    tier = serializers.IntegerField()
    status = serializers.ChoiceField([status.value for status in DisplayStatus])
    hops = serializers.IntegerField(help_text="from the dataset that was asked for; negative upstream")


class EdgeSource(serializers.Serializer[EdgeTelling]):
    """A source that tells of an edge: a catalog file, a provider, pushes or events."""

    source = serializers.CharField()  # type: ignore[assignment]
    seen_at = serializers.DateTimeField(help_text="when it told of the edge last, to the day")
    missed_since = serializers.DateTimeField(
        allow_null=True,
        help_text="since when it tells without the edge, which ends 14 days later; null: it tells of it",
    )


class Edge(serializers.Serializer[EdgeFacts]):
    """An edge of lineage: the downstream dataset is made of the upstream one.

    ``keys``, ``columns`` and ``all_columns`` are empty where nobody knows them, or where you may not see both datasets.
    """

    upstream = serializers.CharField()
    downstream = serializers.CharField()
    one_to_one = serializers.BooleanField()
    keys = serializers.DictField(
        child=serializers.CharField(), help_text="columns of the downstream's primary key, with their names upstream"
    )
    columns = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="columns of the downstream, each with the columns upstream that it is made of",
    )
    all_columns = serializers.ListField(
        child=serializers.CharField(), help_text="columns upstream that all of the downstream depends on, as by a join"
    )
    sources = EdgeSource(many=True, help_text="the source that counts first comes first")


class Reach(serializers.Serializer[Any]):
    """What stands on a dataset, and what it stands on, through any number of steps."""

    downstreams = serializers.IntegerField()
    by_tier = serializers.ListField(child=serializers.IntegerField(), help_text="downstreams of tier 0, 1 …")
    roots = serializers.IntegerField(help_text="datasets without an upstream that it stands on")
    depth = serializers.IntegerField(help_text="the most steps from a root")


class LineageGraph(serializers.Serializer[Any]):
    """The lineage around one dataset."""

    datasets = LineageDataset(many=True)
    edges = Edge(many=True)
    blast_radius = Reach(allow_null=True, help_text="as counted once a day; null before, and without edges")


class HeardEvent(serializers.Serializer[Any]):
    """What Assay took from an event of OpenLineage."""

    edges = serializers.IntegerField()
    completions = serializers.IntegerField()
    unknown = serializers.ListField(child=serializers.CharField(), help_text="datasets that the catalog lacks")


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
        dataset = self.read_query(LineageQuery)["dataset"]
        graph = lineage(dataset, now=clock.now())
        datasets = [{"name": n.name, "tier": n.tier, "status": n.status, "hops": n.column} for n in graph.nodes]
        edges = edges_with_facts(graph, hidden=hidden_datasets(request))
        reach = BlastRadius.objects.filter(dataset=dataset).values(*Reach().fields).first()
        return Response(LineageGraph({"datasets": datasets, "edges": edges, "blast_radius": reach}).data)

    @extend_schema(request=dict[str, Any], responses={201: HeardEvent})
    def post(self, request: Request) -> Response:
        """Send an event of a run, as the clients of OpenLineage do.

        ``unknown`` names datasets that the catalog lacks.
        """
        with refusing(UnableToReadEvent, mend="Post an OpenLineage RunEvent, as openlineage-python does."):
            event = read_event(request.data)
        with (
            refusing(UnableToComplete, where="run.facets.nominalTime"),
            audited(request, "lineage.event", kind="pipeline") as change,
        ):
            heard = apply_event(event, now=clock.now())
            answer = {"edges": heard.edges, "completions": heard.completions, "unknown": heard.unknown}
            change.key, change.after = event.job, answer
        return Response(answer, status=201)
