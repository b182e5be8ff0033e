"""Data tests: written, revised and retired here, suggested by the past of a dataset, and tried on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, get_args

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.catalog.profile import MOST_DAYS, MOST_ROWS, STORE_PATH, RowsTarget, SensitiveName
from assay.catalog.selectors import slas
from assay.models import CatchUp, Category, Dataset, DataTest, Origin, Scope, Severity
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import dimension_of
from execution_engine.metrics.definition import Dimension
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import as_json
from incident_manager.services import UnableToBacktest, as_revised, backtest, untried_if_hard
from test_generator.definition import Definition
from test_generator.models import Offer, OfferState, PastReading
from test_generator.offers import is_hidden, offers_of, reading_of, suggestion_of
from test_generator.services import (
    UnableToDecide,
    UnableToSuggest,
    UnableToUseStore,
    UnableToWrite,
    accept_suggestion,
    ask_for_suggestions,
    draft,
    not_edited,
    reject_suggestion,
    retire,
    revise,
    take_back_rejection,
    write_data_test,
)
from test_generator.suggestions.suggest import as_python, as_yaml
from web.access.changes import audited

from .base import Api, NumberedRows
from .fields import DatasetField, Filters, FiniteField, LengthField, Row, Shape, Spanned, WindowField, with_range
from .problems import Wrong, conflict, refusing

MEND_UNTRIED = "Send the assertion to POST /api/v1/backtest, which has the past measured, or write a soft test first."
MEND_ASSERTION = "Correct the assertion where the caret points; docs/language.md lists what can be said."


MEND_STORE = "Name another store or folder; docs/failing-rows.md says where rows may be kept."


@contextmanager
def refusing_definition() -> Iterator[None]:
    """Answer what is wrong with the definition of a test as a problem, at its store or else at its assertion."""
    with (
        refusing(UnableToWrite, where="assertion", mend=MEND_ASSERTION),
        refusing(UnableToUseStore, where="keep_rows", mend=MEND_STORE),
    ):
        yield


class KeepRows(Shape):
    """The store of the failing rows of a test, and how many of them stay for how long."""

    table = serializers.RegexField(STORE_PATH, max_length=300, help_text="a store of the operator's, and below it")
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST_ROWS, default=RowsTarget.limit, help_text="rows of a run"
    )
    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=RowsTarget.days)
    sensitive = serializers.ChoiceField(get_args(SensitiveName), default=RowsTarget.sensitive)


class DataTestRow(Row):
    """A data test and its newest revision."""

    dataset = serializers.CharField(source="dataset.full_name")
    revision = serializers.IntegerField(source="revision.number")
    assertion = serializers.CharField(source="revision.assertion")
    severity = serializers.CharField(source="revision.severity")
    schedule = serializers.CharField(source="revision.schedule")
    sustain = LengthField(source="revision.sustain")
    catch_up = serializers.CharField(source="revision.catch_up")
    keep_rows = serializers.SerializerMethodField()
    dimension = serializers.SerializerMethodField(help_text="the dimension of quality that the test is about")

    @extend_schema_field(KeepRows(allow_null=True))
    def get_keep_rows(self, test: DataTest) -> dict[str, Any] | None:
        """Where its failing rows are kept; None: nowhere."""
        assert test.revision is not None
        return test.revision.keep_rows or None

    def get_dimension(self, test: DataTest) -> Dimension:
        """The one of its category or of what it asks for."""
        assert test.revision is not None
        return dimension_of(test.category, from_json(test.revision.tree))

    class Meta:
        model = DataTest
        fields = (
            "id", "dataset", "name", "category", "dimension", "origin", "scope", "datacenter", "spoils", "revision",
            "assertion", "severity", "schedule", "sustain", "catch_up", "keep_rows", "source", "template", "created_at",
            "retired_at", "next_due_at", "skipped_slots",
        )  # fmt: skip


class DataTestQuery(Filters):
    """Filters of the data tests."""

    dataset = DatasetField(required=False)
    category = serializers.ChoiceField(Category.choices, required=False)
    origin = serializers.ChoiceField(Origin.choices, required=False)
    template = serializers.CharField(
        required=False, max_length=128, help_text="the name of the template that makes the tests"
    )
    live = serializers.BooleanField(
        required=False, default=True, help_text="false: list retired tests", source="retired_at__isnull"
    )


class DataTestRevision(Shape):
    """A new revision of a user's test; fields that are left out stay as they are."""

    assertion = serializers.CharField(required=False, max_length=4096)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    schedule = serializers.CharField(required=False, max_length=120)
    sustain = LengthField(required=False)
    catch_up = serializers.ChoiceField(CatchUp.choices, required=False)
    keep_rows = KeepRows(required=False, allow_null=True)


class NewDataTest(DataTestRevision):
    """A user's test to write."""

    dataset = DatasetField()
    name = serializers.CharField(max_length=300)
    assertion = serializers.CharField(max_length=4096)
    category = serializers.ChoiceField(Category.choices, required=False)


class DataTests(NumberedRows):
    """Data tests of all datasets."""

    kind, nouns = "data-test", ("data test and its newest revision", "data tests")
    query, serializer_class = DataTestQuery, DataTestRow
    queryset = DataTest.objects.select_related("dataset", "revision").filter(revision__isnull=False).order_by("pk")

    @extend_schema(request=NewDataTest, responses={201: DataTestRow})
    def create(self, request: Request) -> Response:
        """Write a user's test.

        The assertion of the test is parsed and type-checked first.
        """
        body = self.read_body(NewDataTest)
        self.check_object_permissions(request, body["dataset"])
        severity = body.get("severity") or slas(body["dataset"]).severity
        keep_rows = body.get("keep_rows")
        target = RowsTarget(**keep_rows) if keep_rows else None
        with refusing_definition():
            _demand_tried(body["dataset"], body["assertion"], severity, body.get("schedule", "partition"))
            with self.changing("create", details=body) as change:
                row = write_data_test(**{**body, "keep_rows": target}, author=self.author, now=clock.now())
                change.key = row.pk
        return self.show(row, status=201)

    @extend_schema(request=DataTestRevision)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Give a user's test a new revision.

        Broken windows are judged anew by the new revision.
        """
        changes, test = self.read_body(DataTestRevision), self._editable()
        if "keep_rows" in changes:
            changes = {**changes, "keep_rows": changes["keep_rows"] or {}}
        assert test.revision is not None
        with refusing_definition():
            if test.scope == Scope.PARTITION and test.revision.severity != changes.get("severity"):
                assertion = changes.get("assertion", test.revision.assertion)
                _demand_tried(test.dataset, assertion, changes.get("severity"))
            with self.changing("revise", pk, changes):
                definition = replace(Definition.of(test.revision), **changes)
                revised = revise(test, definition, author=self.author, now=clock.now())
        return self.show(revised)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Retire a user's test; its results stay."""
        test = self._editable()
        with self.changing("retire", pk):
            retire(test, now=clock.now())
        return Response(status=204)

    def _editable(self) -> DataTest:
        test: DataTest = self.get_object()
        if refused := not_edited(test):
            raise conflict(refused.why, mend=refused.mend)
        return test


def _demand_tried(dataset: Dataset, assertion: str, severity: str | None, schedule: str = "partition") -> None:
    """Refuse to make a test of tier 0 or 1 hard that was not tried on the past."""
    if (why := untried_if_hard(dataset, assertion, severity, clock.now(), schedule=schedule)) is not None:
        raise conflict(f"It cannot be hard yet: {why}.", mend=MEND_UNTRIED)


MEND_DECISION = "GET /api/v1/suggestions of the dataset lists what is offered now."
MEND_READING = "POST /api/v1/suggestions with the dataset, or `assay suggest DATASET --keep`."


class SuggestionRow(Row):
    """A suggested test, which held in ``held`` of the ``tried`` windows; it was fitted on other windows."""

    dataset = serializers.CharField(source="dataset.full_name")
    held_share = serializers.SerializerMethodField()
    yaml = serializers.SerializerMethodField()
    python = serializers.SerializerMethodField()

    class Meta:
        model = Offer
        fields = (
            "id", "dataset", "rule", "columns", "assertion", "why", "cost", "fitted", "held", "tried", "held_share",
            "offered_at", "state", "decided_at", "decided_by", "reason", "data_test", "yaml", "python",
        )  # fmt: skip

    def get_held_share(self, row: Offer) -> float | None:
        """The share of the tried windows in which the suggestion held; null where none was tried."""
        return suggestion_of(row).held_share

    def get_yaml(self, row: Offer) -> str:
        """The suggestion as a test of a catalog file."""
        return as_yaml([suggestion_of(row)], row.dataset.full_name)

    def get_python(self, row: Offer) -> str:
        """The suggestion as a check in Python."""
        return as_python(suggestion_of(row))


class ReadingRow(Row):
    """The newest reading of a dataset's past; ``ended_at`` is null while it waits or is under way."""

    dataset = serializers.CharField(source="dataset.full_name")

    class Meta:
        model = PastReading
        fields = ("dataset", "asked_at", "asked_by", "ended_at", "windows", "first_window", "last_window", "problem")


class SuggestionQuery(Shape):
    """Filters of the suggestions of a dataset."""

    dataset = DatasetField()
    state = serializers.ChoiceField(OfferState.choices, required=False)
    least_held = FiniteField(
        required=False,
        min_value=0,
        max_value=1,
        help_text="the least share of tried windows in which a suggestion held",
    )


class ReadingQuery(Shape):
    """The dataset whose partitions to read for suggestions."""

    dataset = DatasetField()


class OfferRejection(Shape):
    """Why a suggestion is not wanted."""

    reason = serializers.CharField(required=False, max_length=1000)


class Suggestions(NumberedRows):
    """Suggestions of a dataset, in the order of its columns."""

    kind, nouns = "suggestion", ("suggestion", "suggestions of a dataset")
    query, serializer_class = SuggestionQuery, SuggestionRow
    queryset = Offer.objects.select_related("dataset").order_by("pk")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The suggestions that match the query of a list."""
        if self.action != "list":
            return queryset
        query = self.read_query(SuggestionQuery)
        least, rows = query.get("least_held", 0), offers_of(query["dataset"])
        rows = [row for row in rows if query.get("state", row.state) == row.state]
        return queryset.filter(pk__in=[row.pk for row in rows if (suggestion_of(row).held_share or 0) >= least])

    def get_object(self) -> Offer:
        """The suggestion of the address; none that tells of a column that is sensitive by now."""
        row: Offer = super().get_object()
        if is_hidden(row):
            raise Http404
        return row

    @extend_schema(request=ReadingQuery, responses={202: ReadingRow})
    def create(self, request: Request) -> Response:
        """Have the last partitions of a dataset read for suggestions.

        A worker beside the data reads them; `GET /api/v1/suggestions` lists what it finds.
        """
        dataset: Dataset = self.read_body(ReadingQuery)["dataset"]
        self.check_object_permissions(request, dataset)
        with (
            refusing(UnableToSuggest, where="dataset"),
            audited(request, "suggestion.ask", kind="dataset", key=dataset.full_name),
        ):
            row = ask_for_suggestions(dataset, author=self.author, now=clock.now())
        return Response(ReadingRow(row).data, status=202)

    @extend_schema(parameters=[ReadingQuery], responses={200: ReadingRow, 404: None}, filters=False)
    @action(detail=False, pagination_class=None)
    def reading(self, request: Request) -> Response:
        """Show how far the newest reading for suggestions is."""
        dataset = self.read_query(ReadingQuery)["dataset"]
        if (row := reading_of(dataset)) is None:
            raise Wrong(f"Nobody has asked for suggestions of {dataset}.", mend=MEND_READING, code=404)
        return Response(ReadingRow(row).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, pk: str) -> Response:
        """Make a suggestion a soft test of its dataset.

        The assertion of the suggestion is parsed and type-checked first.
        """
        with refusing(UnableToWrite, where="assertion"):
            return self.act(accept_suggestion)

    @extend_schema(request=OfferRejection)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Reject a suggestion.

        Neither the suggestion nor its rule on the same columns is offered again, until the rejection is taken back.
        """
        return self.act(reject_suggestion, **self.read_body(OfferRejection))

    @extend_schema(request=None)
    @action(detail=True, methods=["post"], url_path="take-back")
    def take_back(self, request: Request, pk: str) -> Response:
        """Offer a rejected suggestion again."""
        return self.act(take_back_rejection)

    def act(self, service: Any, **fields: Any) -> Response:
        """Decide of the suggestion, and answer what is refused."""
        with refusing(UnableToDecide, mend=MEND_DECISION, code=409):
            return super().act(service, **fields)


class RaisedFigures(serializers.Serializer[Any]):
    """What a test would have raised under one rule."""

    held = serializers.IntegerField()
    broken = serializers.IntegerField()
    unjudged = serializers.IntegerField()
    alerts = serializers.IntegerField()
    notices = serializers.IntegerField()
    alerts_a_week = serializers.FloatField(allow_null=True)
    notices_a_week = serializers.FloatField(allow_null=True)
    precision = serializers.FloatField(allow_null=True)
    recall = serializers.FloatField(allow_null=True)


class OtherBound(RaisedFigures):
    """What a test would have raised with another bound."""

    assertion = serializers.CharField()
    looser = serializers.BooleanField()


class LiveSpan(serializers.Serializer[Any]):
    """An incident that was open in the range of a backtest."""

    opened_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    windows = serializers.ListField(child=WindowField())
    told_at = serializers.DateTimeField(allow_null=True)


class ForetoldSpan(LiveSpan):
    """An incident that a test would have opened."""

    seconds = serializers.FloatField()
    muted_by = serializers.CharField(allow_null=True, allow_blank=True)


class BacktestWindow(serializers.Serializer[Any]):
    """What a backtest says of one window."""

    window = WindowField()
    key = serializers.CharField()
    due_at = serializers.DateTimeField()
    outcome = serializers.ChoiceField([outcome.value for outcome in Outcome])
    value = serializers.FloatField(allow_null=True)
    sentence = serializers.CharField(allow_blank=True)
    results = serializers.IntegerField()
    measured_late = serializers.BooleanField()
    changed_since = serializers.BooleanField()


class BacktestAnswer(Spanned, RaisedFigures):
    """What a test would have raised over the past."""

    dataset = serializers.CharField()
    test = serializers.CharField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    assertion = serializers.CharField()
    severity = serializers.ChoiceField(Severity.choices)
    sustain = LengthField()
    grace = LengthField()
    incidents = ForetoldSpan(many=True)
    live_incidents = LiveSpan(many=True)
    bounds = OtherBound(many=True)
    windows = BacktestWindow(many=True)
    not_measured = serializers.ListField(child=WindowField())
    cannot_be_known = serializers.DictField(
        child=serializers.CharField(), help_text="why the test cannot judge a window, by window"
    )
    scans_needed = serializers.IntegerField()
    seconds_needed = serializers.FloatField(allow_null=True)


WRITTEN = DataTest.objects.filter(revision__isnull=False).select_related("dataset", "revision")


@with_range
class BacktestQuery(Shape):
    """What to backtest: a test, or an assertion on a dataset, and how it is judged."""

    data_test = serializers.PrimaryKeyRelatedField(queryset=WRITTEN, required=False)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=10**6, help_text="number of a revision of `data_test`"
    )
    dataset = DatasetField(required=False)
    assertion = serializers.CharField(required=False, max_length=4096)
    category = serializers.ChoiceField(Category.choices, required=False)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    sustain = LengthField(required=False)
    grace = LengthField(required=False)
    as_of_due = serializers.BooleanField(
        required=False, default=False, help_text="take each window from the snapshot of when it was due"
    )


class Backtests(Api):
    """What a test would have raised; GET reads what is stored, POST has measured what is missing as well."""

    @extend_schema(parameters=[BacktestQuery], responses=BacktestAnswer)
    def get(self, request: Request) -> Response:
        """Show what a test would have raised over the past, by what is stored.

        A backtest opens no incident, sends no notice and writes nothing.

        Give ``data_test``, or ``dataset`` and ``assertion``. ``scans_needed`` says what POST would read.
        """
        return Response(self._answer(self.read_query(BacktestQuery)))

    @extend_schema(request=BacktestQuery, responses={202: BacktestAnswer})
    def post(self, request: Request) -> Response:
        """Have the measurements that a backtest lacks taken, and show what is known so far.

        GET shows the whole backtest once they are taken.
        """
        body = self.read_body(BacktestQuery)
        with audited(request, "backtest.measure", kind="backtest", details={**body}):
            return Response(self._answer(body, measure=True), status=202)

    def _answer(self, query: dict[str, Any], *, measure: bool = False) -> dict[str, Any]:
        now, start, end = clock.now(), query.pop("from"), query.pop("to")
        if "data_test" in query:
            if unneeded := sorted({"dataset", "assertion", "category", "severity"} & set(query)):
                mend = "Leave it out, or leave data_test out."
                raise Wrong("A written test has its own.", where=unneeded[0], mend=mend)
            test = query["data_test"]
        elif "revision" in query or not {"dataset", "assertion"} <= set(query):
            mend = "Give data_test, or dataset and assertion."
            raise Wrong("There is nothing to backtest.", where="data_test", mend=mend)
        else:
            category = query.get("category", Category.CUSTOM)
            with refusing(UnableToWrite, where="assertion"):
                test = draft(query["dataset"], query["assertion"], category=category, severity=query.get("severity"))
        self.check_object_permissions(self.request, test.dataset)
        terms: Any = {"sustain": query.get("sustain"), "grace": query.get("grace"), "measure": measure}
        terms["as_of_due"] = query["as_of_due"]
        with refusing(UnableToBacktest):
            revised = as_revised(test, query.get("revision"))
            return as_json(backtest(revised, start=start, end=end, now=now, **terms), Veil(now))
