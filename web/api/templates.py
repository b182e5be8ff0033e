"""Templates of rules, what they would make, and the bindings of pipelines to tests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.text import capfirst
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.mixins import RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.access import Owned
from assay.catalog.profile import TemplateProfile
from assay.catalog.selectors import profile_of
from assay.catalog.services import UnableToShare
from assay.models import Binding, Severity, Strength
from execution_engine.services import UnableToKeepRows, check_target
from incident_manager.services import untried_if_hard
from test_generator.models import RuleTemplate
from test_generator.pushed_rules import (
    UnableToReadTemplate,
    as_written,
    library,
    preview,
    previewed,
    read_template,
    remove_binding,
    remove_template,
    write_binding,
    write_template,
)
from test_generator.services import UnableToWrite
from test_generator.templates.services import as_json, selected_by, template_of, template_summaries
from web.access.who import hidden_datasets

from .base import NumberedRows, Rows
from .data_tests import MEND_UNTRIED
from .fields import DatasetField, Filters, Row, Shape
from .openapi import with_example
from .problems import Wrong, conflict, errors_text

FROM_A_FILE = "Change the catalog file of that source, and sync it."


class TemplateRow(serializers.Serializer[Any]):
    """A template of a source, and what it comes to now."""

    name = serializers.CharField()
    assertion = serializers.CharField(help_text="with {column} and {parameters} where its tests have their own")
    selector = serializers.CharField(help_text="which datasets and columns the template selects, in words")
    parameters = serializers.DictField(child=serializers.CharField())
    severity = serializers.CharField(allow_null=True, help_text="null: each dataset has its own severity")
    category = serializers.CharField()
    needs = serializers.CharField(help_text="what a dataset must have for it")
    example = serializers.CharField(help_text="what it finds")
    source = serializers.CharField(help_text="push: it was written by page or API")  # type: ignore[assignment]
    author = serializers.CharField(help_text="who wrote it by page or API")
    place = serializers.CharField(help_text="file:line of the assertion; empty: by page or API")
    datasets = serializers.IntegerField(help_text="number of datasets with live tests of the template")
    data_tests = serializers.IntegerField(
        help_text="number of live tests; GET /api/v1/data-tests?template=NAME lists them"
    )
    gaps = serializers.IntegerField(help_text="number of datasets where the template makes fewer tests than it should")


@with_example(
    {
        "name": "keys are known",
        "assertion": "completeness({column}) >= {share}",
        "parameters": {"share": 0.999},
        "selector": {"owners": ["rides"], "columns": {"names": ["*_id"]}},
        "severity": "soft",
    }
)
class TemplateBody(serializers.Serializer[Any]):
    """A template as in a catalog file, as JSON (docs/catalog.md#templates)."""

    name = serializers.CharField(required=False, max_length=128)
    assertion = serializers.CharField(required=False, max_length=4096)
    selector = serializers.DictField(
        required=False, help_text="tiers, tags, names, except, owners and columns: {names, kinds}"
    )
    parameters = serializers.DictField(required=False)
    overrides = serializers.DictField(required=False)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    schedule = serializers.CharField(required=False)
    sustain = serializers.CharField(required=False)
    catch_up = serializers.CharField(required=False)
    category = serializers.CharField(required=False)
    keep_rows = serializers.DictField(required=False)
    needs = serializers.CharField(required=False)
    example = serializers.CharField(required=False)


class PreviewedTestRow(serializers.Serializer[Any]):
    """A test that would come (+), change (~) or go (-)."""

    sign = serializers.CharField()
    name = serializers.CharField(source="test.name")
    column = serializers.CharField(help_text="empty: the test is of the dataset as a whole")
    assertion = serializers.CharField(source="test.definition.assertion")
    severity = serializers.CharField(source="test.definition.severity")


class PreviewedDatasetRow(serializers.Serializer[Any]):
    """What a template would do to one dataset, and why it makes less there than it should."""

    dataset = serializers.CharField(source="dataset.full_name")
    tests = PreviewedTestRow(many=True)
    gaps = serializers.ListField(child=serializers.CharField())


class PreviewRow(serializers.Serializer[Any]):
    """What a template would do to the datasets that it selects."""

    selected = serializers.IntegerField(help_text="number of datasets")
    more = serializers.IntegerField(help_text="number of datasets that are not listed")
    datasets = PreviewedDatasetRow(many=True, source="shown")


@contextmanager
def refusing_template() -> Iterator[None]:
    """Answer what cannot be read or written as problems."""
    try:
        yield
    except UnableToReadTemplate as error:
        text, where = errors_text(error.problems)
        raise Wrong(text, where=where) from None
    except UnableToShare as error:
        raise conflict(str(error), mend=FROM_A_FILE) from None
    except UnableToWrite as error:
        raise Wrong(str(error)) from None


def objection_to(template: TemplateProfile) -> str | None:
    """Why the template may not be written for one of the datasets that it selects; None where it may.

    A test of tier 0 or 1 is tried on the past before it is hard, and failing rows lie outside the data of its dataset.
    """
    for row in previewed(template, selected_by([template.selector])):
        if template.keep_rows:
            try:
                check_target(template.keep_rows, profile_of(row.dataset))
            except UnableToKeepRows as unable:
                return f"keep_rows: {unable}"
        for change in row.tests:
            definition = change.test.definition
            if change.sign == "-":
                continue
            asked = (row.dataset, definition.assertion, definition.severity, clock.now())
            if why := untried_if_hard(*asked, schedule=definition.schedule):
                return f"it cannot be hard yet: {row.dataset}: {why}; make it soft"
    return None


def owners_of(template: TemplateProfile) -> list[Owned]:
    """Whose datasets a template can select: those of the owners and teams that it names, else anybody's."""
    names = template.selector.owners
    of = f"templates without owners: [NAME] in their selector, such as {template.name!r}"
    return [Owned(name=name, owner=name, team=name) for name in names] or [Owned(name=of, owner="", team="")]


class Templates(Rows, RetrieveModelMixin):
    """Templates of all sources, by name, each with its selector and its counts."""

    kind, nouns = "template", ("template", "templates")
    dataset_path = ""
    serializer_class = TemplateRow
    queryset = RuleTemplate.objects.order_by("name")
    lookup_url_kwarg, lookup_value_regex = "name", ".+"

    def get_object(self) -> RuleTemplate:
        """The template of the address, in whatever case its name is written there; raises PermissionDenied."""
        row = get_object_or_404(RuleTemplate, name__iexact=self.kwargs["name"])
        if self.action != "retrieve":
            for owned in owners_of(template_of(row)):
                self.check_object_permissions(self.request, owned)
        return row

    @classmethod
    def picture(cls, key: object) -> dict[str, Any] | None:
        """The template of this name as a file would say it, for the audit."""
        row = RuleTemplate.objects.filter(name__iexact=str(key)).first()
        return None if row is None else as_written(template_of(row))

    def paginate_queryset(self, queryset: Any) -> list[Any]:
        """One page, each with its selector and its counts."""
        return [as_json(template) for template in template_summaries(super().paginate_queryset(queryset) or [])]

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Show one template, with its counts."""
        return self._show(self.get_object())

    @extend_schema(request=TemplateBody, responses={201: TemplateRow})
    def create(self, request: Request) -> Response:
        """Write a template; its tests are made within a minute.

        An owner names themselves or their teams in ``owners`` of its selector, and so selects no other datasets.
        """
        with refusing_template():
            template = read_template(self._body())
        if RuleTemplate.objects.filter(name__iexact=template.name).exists():
            raise conflict(f"There is a template {template.name!r}.", mend="Take another name, or PATCH that one.")
        return self._write(template, "create", status=201)

    @extend_schema(request=TemplateBody, responses=TemplateRow)
    def partial_update(self, request: Request, name: str) -> Response:
        """Change a template that page or API wrote; its tests get new revisions. What is left out stays."""
        row = self.get_object()
        changes = {key: value for key, value in self._body().items() if key != "name"}
        with refusing_template():
            merged = as_written(template_of(row)) | changes
            template = read_template({key: value for key, value in merged.items() if value is not None})
        return self._write(template, "update")

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, name: str) -> Response:
        """Take a template away that page or API wrote; its tests are retired after a day."""
        row = self.get_object()
        with refusing_template(), self.changing("destroy", row.name):
            remove_template(row, now=clock.now())
        return Response(status=204)

    @extend_schema(request=TemplateBody, responses=PreviewRow)
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """Show what a template would make, before it is written: the first 100 datasets with their tests and gaps."""
        with refusing_template():
            template = read_template(self._body())
        return Response(PreviewRow(preview(template, hidden=hidden_datasets(request))).data)

    @extend_schema(responses=dict[str, Any], filters=False)
    @action(detail=False, methods=["get"], pagination_class=None)
    def library(self, request: Request) -> Response:
        """List ready templates, each with what it needs and an example of what it finds, as bodies of a POST."""
        return Response({"templates": [as_written(template) for template in library().values()]})

    def _body(self) -> Mapping[str, Any]:
        if not isinstance(self.request.data, dict):
            raise Wrong("The body is no JSON object.", mend="Write the template as in a catalog file, as JSON.")
        return self.request.data

    def _write(self, template: TemplateProfile, action: str, status: int = 200) -> Response:
        for owned in owners_of(template):
            self.check_object_permissions(self.request, owned)
        with refusing_template(), self.changing(action, template.name, as_written(template)):
            if why := objection_to(template):
                raise conflict(capfirst(f"{why}."), mend=f"Change the template. {MEND_UNTRIED}")
            row = write_template(template, author=self.author, now=clock.now())
        return self._show(row, status)

    def _show(self, row: RuleTemplate, status: int = 200) -> Response:
        (summary,) = template_summaries([row])
        return Response(as_json(summary), status=status)


class BindingRow(Row):
    """What the gate of one pipeline does where a test is bad, whatever the test's severity."""

    dataset = serializers.CharField(source="dataset.full_name")
    gate = serializers.ChoiceField(Strength.values, source="strength")

    class Meta:
        model = Binding
        fields = ("id", "pipeline", "dataset", "test", "gate", "source")


class BindingQuery(Filters):
    """Filters of the bindings."""

    dataset = DatasetField(required=False)
    pipeline = serializers.CharField(required=False, max_length=200)


@with_example({"pipeline": "load_fares", "dataset": "raw.trips", "test": "duplicates", "gate": "weak"})
class NewBinding(Shape):
    """A binding to write: strong blocks the pipeline where the test is bad, weak only tells it."""

    pipeline = serializers.CharField(max_length=200)
    dataset = DatasetField()
    test = serializers.CharField(max_length=300)
    gate = serializers.ChoiceField(Strength.values)


class BindingChange(Shape):
    """Another word of a binding."""

    gate = serializers.ChoiceField(Strength.values)


class Bindings(NumberedRows):
    """Bindings of pipelines to tests, by pipeline."""

    kind, nouns = "binding", ("binding of a pipeline to a test", "bindings")
    query, serializer_class = BindingQuery, BindingRow
    queryset = Binding.objects.select_related("dataset").order_by("pipeline", "pk")

    @extend_schema(request=NewBinding, responses={201: BindingRow})
    def create(self, request: Request) -> Response:
        """Bind the gate of a pipeline to a test of a dataset."""
        body = self.read_body(NewBinding)
        self.check_object_permissions(request, body["dataset"])
        if Binding.objects.filter(**{name: body[name] for name in ("pipeline", "dataset", "test")}).exists():
            raise conflict("The pipeline is bound to this test already.", mend="PATCH that binding.")
        with refusing_template(), self.changing("create", details=body) as change:
            row = write_binding({**body, "dataset": body["dataset"].full_name})
            change.key = row.pk
        return self.show(row, status=201)

    @extend_schema(request=BindingChange)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change what a binding of page or API says."""
        body, row = self.read_body(BindingChange), self.get_object()
        fields = {"pipeline": row.pipeline, "dataset": row.dataset.full_name, "test": row.test}
        with refusing_template(), self.changing("update", pk, body):
            write_binding({**fields, **body})
        return self.show()

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Take a binding of page or API away: the severity of the test counts again."""
        row = self.get_object()
        with refusing_template(), self.changing("destroy", pk):
            remove_binding(row)
        return Response(status=204)
