"""Tables that are named and no datasets, and how they become datasets with all that lies around them."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.proposals import proposals
from assay.database.name_keys import name_key
from assay.models import Dataset
from test_generator.onboarding import (
    DEEPEST,
    MOST_OF_A_REQUEST,
    OnboardedTable,
    Onboarding,
    UnableToOnboard,
    onboard,
    plan_onboarding,
)
from web.access.changes import audited
from web.access.who import hidden_datasets

from .base import Api
from .fields import Shape
from .openapi import with_example
from .problems import refusing

MEND = "GET /api/v1/proposals lists the tables that are named and no datasets."


class ProposalRow(serializers.Serializer[Any]):
    """A table that events, queries or catalogs name and that is no dataset."""

    name = serializers.CharField()
    readers = serializers.IntegerField(help_text="number of tables that are made of it")
    queries = serializers.IntegerField(help_text="number of queries that were looked up and read it")
    sources = serializers.ListField(child=serializers.CharField(), help_text="who names it")
    lacking = serializers.ListField(child=serializers.CharField(), help_text="fields that nobody says")
    seen_at = serializers.DateTimeField(help_text="when it was named last, to the day")


class ProposalsAnswer(serializers.Serializer[Any]):
    """Tables that are named and no datasets, those first that are read most."""

    count = serializers.IntegerField(help_text="of all of them")
    results = ProposalRow(many=True)


class ProposalsQuery(Shape):
    """Which of the proposals to list."""

    limit = serializers.IntegerField(required=False, default=50, min_value=1, max_value=1000)
    offset = serializers.IntegerField(required=False, default=0, min_value=0, max_value=10**9)


class Proposals(Api):
    """GET the tables that are named and no datasets."""

    @extend_schema(parameters=[ProposalsQuery], responses=ProposalsAnswer)
    def get(self, request: Request) -> Response:
        """List tables that are named and no datasets, those first that are read most."""
        query = self.read_query(ProposalsQuery)
        count, rows = proposals(query["limit"], start=query["offset"])
        return Response(ProposalsAnswer({"count": count, "results": rows}).data)


@with_example(
    {
        "names": ["mart.fares"],
        "lineage": "up",
        "depth": 2,
        "fields": {"owner": "rides", "tier": 2, "location": "s3://lake/{schema}/{table}"},
    }
)
class OnboardingBody(Shape):
    """Which tables become datasets, and what no source says of them."""

    names = serializers.ListField(
        child=serializers.CharField(max_length=241),
        min_length=1,
        max_length=MOST_OF_A_REQUEST,
        help_text="full names, or patterns such as sales.*",
    )
    lineage = serializers.ChoiceField(
        ["up", "down", "both"], required=False, default="", help_text="also what they are made of, and what is of them"
    )
    depth = serializers.IntegerField(required=False, default=DEEPEST, min_value=1, max_value=DEEPEST)
    fields_ = serializers.DictField(required=False, default=dict)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """The fields, with the one whose name the serializer has for itself."""
        fields = super().get_fields()
        return fields | {"fields": fields.pop("fields_")}


class OnboardedRow(serializers.Serializer[Any]):
    """What becomes of one table."""

    name = serializers.CharField()
    hops = serializers.IntegerField(help_text="from the tables that were named; negative upstream")
    state = serializers.ChoiceField(["new", "known", "lacking"], help_text="known: it is a dataset already")
    lacking = serializers.ListField(child=serializers.CharField(), help_text="fields that nobody says")
    fault = serializers.CharField(allow_blank=True, help_text="what is wrong with the fields for this table")
    tests = serializers.ListField(child=serializers.CharField(), help_text="names of the tests that it gets")
    gaps = serializers.ListField(child=serializers.CharField(), help_text="tests that more metadata would allow")


class OnboardedAnswer(serializers.Serializer[Any]):
    """What becomes of the tables, the nearest first."""

    tables = OnboardedRow(many=True)


def visible_tables(request: Any, tables: Sequence[OnboardedTable]) -> list[OnboardedTable]:
    """The tables without those datasets that whoever asks may not see."""
    hidden = set(Dataset.objects.filter(pk__in=hidden_datasets(request)).values_list("name_key", flat=True))
    return [table for table in tables if table.state != "known" or name_key(table.name) not in hidden]


class OnboardingPreview(Api):
    """POST which tables should become datasets, to see what would come."""

    @extend_schema(request=OnboardingBody, responses=OnboardedAnswer)
    def post(self, request: Request) -> Response:
        """Show what onboarding would do: which tables become datasets, with which tests, and what others lack."""
        with refusing(UnableToOnboard, where="names", mend=MEND):
            tables = plan_onboarding(onboarding_of(self.read_body(OnboardingBody)), now=clock.now())
        return Response(OnboardedAnswer({"tables": visible_tables(request, tables)}).data)


class Onboardings(Api):
    """POST which tables become datasets."""

    @extend_schema(request=OnboardingBody, responses={201: OnboardedAnswer})
    def post(self, request: Request) -> Response:
        """Make datasets of tables that sources name, and of what lies around them; their tests come within a minute.

        ``fields`` are those of a dataset in a catalog file, and fill in what no source says. In place of ``replicas``
        may stand ``location``, with {schema} and {table}, ``storage`` and ``datacenter``.
        """
        body = self.read_body(OnboardingBody)
        with refusing(UnableToOnboard, where="names", mend=MEND):
            tables = onboard_audited(request, onboarding_of(body))
        return Response(OnboardedAnswer({"tables": visible_tables(request, tables)}).data, status=201)


def onboarding_of(body: dict[str, Any]) -> Onboarding:
    """What a body asks for."""
    parts = {"side": body["lineage"], "depth": body["depth"], "most": MOST_OF_A_REQUEST, "fields": body["fields"]}
    return Onboarding(names=body["names"], **parts)


def onboard_audited(request: Any, onboarding: Onboarding) -> list[OnboardedTable]:
    """Onboard, with an entry in the audit; raises UnableToOnboard."""
    with audited(request, "catalog.onboarded", kind="catalog", key=", ".join(onboarding.names)) as change:
        tables = onboard(onboarding, now=clock.now())
        change.after = {"created": [table.name for table in tables if table.state == "new"]}
    return tables
