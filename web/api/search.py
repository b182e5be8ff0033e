"""What a text finds, as the box of the pages has it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from web.access.who import hidden_datasets
from web.rendering.search import LONGEST, Hit, HitKind, search

from .base import Api
from .fields import Shape


class SearchQuery(Shape):
    """What to look for."""

    q = serializers.CharField(max_length=LONGEST, help_text="part of a name, or the number of an incident")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=100, default=8, help_text="how many hits of each kind at most"
    )


class HitRow(serializers.Serializer[Hit]):
    """A dataset, an incident, a column, an owner, a team or a test that a person wrote."""

    kind = serializers.ChoiceField([(kind.value, kind.value) for kind in HitKind])
    name = serializers.CharField()
    address = serializers.CharField(help_text="path of the page that shows the hit")
    dataset = serializers.CharField(help_text="dataset of an incident or a test; of a column if only one has it")
    datasets = serializers.IntegerField(help_text="number of datasets of a column, an owner or a team")
    open_incidents = serializers.IntegerField(help_text="number of open incidents of a dataset")


class SearchAnswer(serializers.Serializer[Any]):
    """The hits by kind, the best of each kind first."""

    hits = HitRow(many=True)


class Search(Api):
    """GET what a text finds."""

    @extend_schema(parameters=[SearchQuery], responses=SearchAnswer)
    def get(self, request: Request) -> Response:
        """Search datasets, open incidents, columns, owners, teams and tests by name.

        A name that is the text comes first, then those of which a part begins with it, then those that contain it.
        What you may not see is neither listed nor counted.
        """
        query = self.read_query(SearchQuery)
        hits = search(query["q"], hidden=hidden_datasets(request), most=query["limit"])
        return Response(SearchAnswer({"hits": hits}).data)
