"""Templates: rules that are written once in a catalog and make tests of many datasets."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from test_generator.models import RuleTemplate
from test_generator.templates.services import as_json, shown_templates
from web.api.conventions.base import Rows


class TemplateRow(serializers.Serializer[Any]):
    """A template of tests, and the tests that it makes now."""

    name = serializers.CharField()
    assertion = serializers.CharField(help_text="with {column} and {parameters} where its tests have their own")
    selector = serializers.CharField(help_text="which datasets and columns the template selects, in words")
    parameters = serializers.DictField(child=serializers.CharField())
    severity = serializers.CharField(allow_null=True, help_text="null: each dataset has its own severity")
    category = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    place = serializers.CharField(help_text="file:line of the assertion")
    datasets = serializers.IntegerField(help_text="number of datasets with live tests of the template")
    data_tests = serializers.IntegerField(
        help_text="number of live tests; GET /api/v1/data-tests?template=NAME lists them"
    )
    gaps = serializers.IntegerField(help_text="number of datasets where the template makes fewer tests than it should")


class Templates(Rows):
    """Templates of all sources, by name."""

    dataset_path = ""
    mend_of_method = (
        "Templates and bindings are written in catalog files alone (docs/catalog.md#templates): change the file of the "
        "template's source and sync it. examples/templates.yaml has ready ones."
    )
    serializer_class = TemplateRow
    queryset = RuleTemplate.objects.order_by("name")

    @extend_schema(responses=TemplateRow(many=True))
    def list(self, request: Request) -> Response:
        """List the templates, each with its selector and its counts."""
        page = self.paginate_queryset(self.get_queryset()) or []
        return self.get_paginated_response(
            TemplateRow([as_json(each) for each in shown_templates(page)], many=True).data
        )
