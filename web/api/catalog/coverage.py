"""Coverage: how much of what should be tested is, and whose owner would hear of a fault."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.coverage import coverage_by_tier
from assay import clock
from test_generator.coverage import TierCoverage
from web.api.conventions.base import Api
from web.api.conventions.fields import Shape


class CoverageQuery(Shape):
    """Whose datasets to count; left out: all."""

    owner = serializers.CharField(required=False, max_length=200)
    team = serializers.CharField(required=False, max_length=200)


class TierRow(serializers.Serializer[TierCoverage]):
    """The coverage of one tier; a share of nothing is null."""

    tier = serializers.IntegerField()
    datasets = serializers.IntegerField()
    live = serializers.IntegerField(help_text="standard tests that are live and not waived")
    wanted = serializers.IntegerField(help_text="standard tests that can be written")
    gaps = serializers.IntegerField(help_text="standard tests that are not testable, as metadata is missing")
    share = serializers.FloatField(allow_null=True, help_text="live / (wanted + gaps)")
    target = serializers.FloatField()
    reachable = serializers.IntegerField(help_text="datasets whose owner any channel but the log reaches")
    reachable_share = serializers.FloatField(allow_null=True)
    is_met = serializers.BooleanField(help_text="whether both shares reach the target")
    uncovered = serializers.ListField(child=serializers.CharField(), help_text="datasets that lack a test")
    unreachable = serializers.ListField(child=serializers.CharField(), help_text="owners whom no channel reaches")


class CoverageAnswer(serializers.Serializer[Any]):
    """The coverage of every tier from 0 to 5."""

    tiers = TierRow(many=True)


class Coverage(Api):
    """GET what is tested, and which owners a notice can reach."""

    @extend_schema(parameters=[CoverageQuery], responses=CoverageAnswer)
    def get(self, request: Request) -> Response:
        """Show what is tested, and which owners a notice can reach, by tier.

        A notice that goes to the log alone reaches nobody.
        """
        asked = self.asked(CoverageQuery)
        return Response(CoverageAnswer({"tiers": coverage_by_tier(now=clock.now(), **asked)}).data)
