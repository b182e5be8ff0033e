"""Incidents: what is bad, and what users do about it; and mutes (silences): who is not told of what, until when."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from alerting.models import Notice, Silence
from alerting.services import UnableToSilence, end_silence, evidence_of, silence, silences_of
from alerting.state import Delivery, WaiverScope
from assay import clock
from assay.models import Category
from execution_engine.runs.shown_results import Veil
from execution_engine.slices.result import SearchStatus
from incident_manager import services
from incident_manager.explanations import incident_explanation
from incident_manager.models import Ending, Entry, EntryKind, Incident, Report, SpoiltWindow
from web.rendering.headline import timeline_of

from .base import NumberedRows
from .fields import DatasetField, Filters, FiniteField, InstantField, Row, Shape, WindowField
from .problems import refusing

MOST_NOTICES = 200
MOST_WINDOWS = 200
LONGEST_NAME = 128  # as of owners in catalogs
WAIVER_SCOPES = [scope.value for scope in WaiverScope]


class SilenceRow(Row):
    """A mute of notices; an empty field matches all."""

    dataset = serializers.CharField(source="dataset.full_name", default=None, allow_null=True)

    class Meta:
        model = Silence
        fields = ("id", "dataset", "category", "owner", "starts_at", "ends_at", "author", "reason")


class SilenceQuery(Filters):
    """Filters of the mutes."""

    dataset = DatasetField(required=False)
    active = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="only mutes that have not ended"
    )


class NewSilence(Shape):
    """A mute to write: of a dataset, a category or an owner, or several of them; until when, and why."""

    dataset = DatasetField(required=False)
    category = serializers.ChoiceField(Category.choices, required=False)
    owner = serializers.CharField(
        required=False, max_length=200, help_text="who is not told: a name as datasets have it in `owner`"
    )
    ends_at = InstantField(help_text="at most 90 days from now")
    reason = serializers.CharField(max_length=10_000)


class Silences(NumberedRows):
    """Mutes (silences), the newest first."""

    kind, nouns = "silence", ("mute", "mutes")
    query, serializer_class = SilenceQuery, SilenceRow
    queryset = Silence.objects.select_related("dataset").order_by("-pk")

    @extend_schema(request=NewSilence, responses={201: SilenceRow})
    def create(self, request: Request) -> Response:
        """Mute the notices of a dataset, a category or an owner until an instant.

        Incidents, look-ups and gates go on as ever.
        """
        body = self.read_body(NewSilence)
        self.check_object_permissions(request, Silence(dataset=body.get("dataset"), owner=body.get("owner", "")))
        with refusing(UnableToSilence), self.changing("create", details=body) as change:
            row = silence(**body, author=self.author, now=clock.now())
            change.key = row.pk
        return self.show(row, status=201)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, pk: str) -> Response:
        """End a mute now.

        Assay decides at once about the notices that it muted.
        """
        with refusing(UnableToSilence, where="", mend="Nothing is left to do.", code=409):
            return self.act(lambda row, author, now: end_silence(row, now=now))


class SpoiltWindowRow(Row):
    """A window of bad data, which must not be used until it is healed."""

    window = WindowField()
    data_test = serializers.CharField(source="data_test.name", default=None, allow_null=True)

    class Meta:
        model = SpoiltWindow
        fields = (
            "window", "data_test", "datacenter", "severity", "whole_table", "partitions", "spoilt_at", "healed_at",
            "how",
        )  # fmt: skip


class EntryRow(Row):
    """One entry of an incident's timeline."""

    class Meta:
        model = Entry
        fields = ("at", "actor", "event", "text")


class IncidentRow(Row):
    """An incident of one dataset in one category."""

    dataset = serializers.CharField(source="dataset.full_name")
    cause = serializers.IntegerField(
        source="alert.cause.incident.pk",
        default=None,
        allow_null=True,
        help_text="id of the incident that caused this one",
    )
    is_past = serializers.BooleanField(
        help_text="only a back-fill of the past has found it: nobody was paged, and it counts in no score"
    )

    class Meta:
        model = Incident
        fields = (
            "id", "dataset", "category", "kind", "tier", "owner", "team", "detected_at", "resolved_at", "resolution",
            "acknowledged_at", "acknowledged_by", "assigned_to", "root_cause", "eta", "backfill", "cause",
            "is_past",
        )  # fmt: skip


class Claim(Row):
    """A user's report that belongs to an incident."""

    window = WindowField()

    class Meta:
        model = Report
        fields = ("id", "reporter", "saw", "window", "datacenter", "description", "state", "created_at")


class NoticeRow(Row):
    """A message about an incident to one recipient over one channel, and whether it was delivered."""

    delivery = serializers.ChoiceField(
        [state.value for state in Delivery], help_text="logged: it went to the log alone, and reached nobody"
    )

    class Meta:
        model = Notice
        fields = ("event", "recipient", "channel", "delivery", "suppressed", "due_at", "sent_at")


class EndingRow(Row):
    """A user's decision to end an incident of many windows, while Assay ends them."""

    windows_left = serializers.IntegerField(source="left.count", help_text="how many windows are not ended yet")

    class Meta:
        model = Ending
        fields = ("kind", "scope", "author", "said_at", "windows_left")


class ExplainedSlice(serializers.Serializer[Any]):
    """Rows with the same values in some columns, which explain a change."""

    name = serializers.CharField(help_text="such as city = 'Oslo' and source is missing")
    where = serializers.CharField(help_text="a condition of SQL that finds the rows")
    columns = serializers.ListField(child=serializers.CharField())
    expected = FiniteField(help_text="rows, the sum, the rows that are hit, or the mean")
    seen = FiniteField()
    factor = FiniteField(allow_null=True, help_text="seen for each that was expected; null of what is new")
    share_of_rows = FiniteField(help_text="0 to 1")
    share_of_change = FiniteField(
        allow_null=True, help_text="above 1 where other rows moved back, null where the whole did not move"
    )
    is_new = serializers.BooleanField(help_text="no past window had such rows")
    same_rows = serializers.ListField(
        child=serializers.CharField(), help_text="names by other columns that nearly the same rows have"
    )
    line = serializers.ListField(
        child=FiniteField(), help_text="the slice in the past windows and now, the oldest first"
    )
    rest_line = serializers.ListField(child=FiniteField(), help_text="all other rows")
    assertion = serializers.CharField(help_text="of a test that holds each value of these columns to its own past")


class ColumnLeftOut(serializers.Serializer[Any]):
    """A column that was not searched."""

    column = serializers.CharField()
    reason = serializers.CharField()


class IncidentExplanation(serializers.Serializer[Any]):
    """Which rows explain the worst window of an incident, or why that is not known."""

    status = serializers.ChoiceField([status.value for status in SearchStatus])
    sentence = serializers.CharField(help_text="all of it in plain English")
    data_test = serializers.CharField(allow_null=True, help_text="the test whose window was looked into")
    window = WindowField(allow_null=True)
    read_at = serializers.DateTimeField(allow_null=True, help_text="when the data was read")
    metric = serializers.CharField(help_text="what was counted in each slice")
    expected = FiniteField(allow_null=True)
    seen = FiniteField(allow_null=True)
    past_windows = serializers.IntegerField(help_text="how many past windows it was compared with")
    slices = ExplainedSlice(many=True)
    columns_searched = serializers.ListField(child=serializers.CharField())
    columns_left_out = ColumnLeftOut(many=True)
    more_left_out = serializers.IntegerField(help_text="how many more columns were not searched")


class EvidenceRow(serializers.Serializer[Any]):
    """Another incident that might explain a value, and whether it does."""

    incident = serializers.IntegerField(source="alert.incident.pk", default=None, allow_null=True)
    dataset = serializers.CharField()
    category = serializers.CharField()
    explains = serializers.BooleanField(help_text="false: the value is told apart from it")
    reason = serializers.CharField(help_text="why, in plain English")


class WholeIncident(IncidentRow):
    """An incident with its windows, its timeline and the users who reported it."""

    spoilt_windows = serializers.SerializerMethodField(
        help_text="the newest 200 bad windows; the unhealed ones come first"
    )
    more_windows = serializers.SerializerMethodField(help_text="how many windows are not listed")
    explanation = serializers.SerializerMethodField(help_text="which rows explain it, found by Assay itself")
    evidence = serializers.SerializerMethodField(help_text="what might explain a value, and whether it does")
    ending = serializers.SerializerMethodField(help_text="the decision of a user that is being carried out, or null")
    timeline = serializers.SerializerMethodField(help_text="what has happened, the oldest first")
    reports = Claim(many=True, source="all_reports")
    silences = serializers.SerializerMethodField(help_text="the mutes that hold back notices of the incident")
    notices = serializers.SerializerMethodField(
        help_text="the newest 200 messages about the incident, the oldest of them first"
    )

    class Meta(IncidentRow.Meta):
        fields = (
            *IncidentRow.Meta.fields,
            *("spoilt_windows", "more_windows", "explanation", "evidence", "ending", "timeline", "reports", "silences"),
            "notices",
        )  # type: ignore[assignment]

    @extend_schema_field(NoticeRow(many=True))
    def get_notices(self, row: Incident) -> Any:
        newest = Notice.objects.filter(alert=row.alert_id).order_by("-pk")[:MOST_NOTICES] if row.alert_id else ()
        return NoticeRow(reversed(newest), many=True).data

    @extend_schema_field(SpoiltWindowRow(many=True))
    def get_spoilt_windows(self, row: Incident) -> Any:
        windows = row.spoilt_windows.select_related("data_test").order_by("healed_at", "-window_start")
        return SpoiltWindowRow(windows[:MOST_WINDOWS], many=True).data

    def get_more_windows(self, row: Incident) -> int:
        return max(0, row.spoilt_windows.count() - MOST_WINDOWS)

    @extend_schema_field(IncidentExplanation)
    def get_explanation(self, row: Incident) -> Any:
        return IncidentExplanation(incident_explanation(row, Veil(clock.now()))).data

    @extend_schema_field(EvidenceRow(many=True))
    def get_evidence(self, row: Incident) -> Any:
        return EvidenceRow(evidence_of(row.alert, Veil(clock.now())) if row.alert else (), many=True).data

    @extend_schema_field(EndingRow(allow_null=True))
    def get_ending(self, row: Incident) -> Any:
        under_way = row.endings.filter(ended_at__isnull=True).first()  # an incident has one at a time
        return EndingRow(under_way).data if under_way else None

    @extend_schema_field(EntryRow(many=True))
    def get_timeline(self, row: Incident) -> Any:
        return EntryRow(timeline_of(row, Veil(clock.now())), many=True).data

    @extend_schema_field(SilenceRow(many=True))
    def get_silences(self, row: Incident) -> Any:
        return SilenceRow(silences_of(row.alert) if row.alert else (), many=True).data


class IncidentQuery(Filters):
    """Filters of the incidents."""

    dataset = DatasetField(required=False)
    category = serializers.ChoiceField(Category.choices, required=False)
    kind = serializers.ChoiceField(EntryKind.choices, required=False)
    is_past = serializers.BooleanField(required=False, allow_null=True, default=None)
    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    owner = serializers.CharField(required=False, max_length=200)
    assigned_to = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=LONGEST_NAME,
        help_text="who is to work on the incident; empty: nobody",
    )
    open = serializers.BooleanField(required=False, allow_null=True, default=None, source="resolved_at__isnull")


class Annotation(Shape):
    """What the owner knows of an incident; fields that are left out stay as they are."""

    root_cause = serializers.CharField(required=False, allow_blank=True, max_length=10_000)
    eta = InstantField(required=False)
    backfill = serializers.CharField(required=False, allow_blank=True, max_length=200)
    text = serializers.CharField(required=False, allow_blank=True, max_length=10_000)


class Assignment(Shape):
    """Who is to work on an incident."""

    to = serializers.CharField(
        allow_blank=True, max_length=LONGEST_NAME, help_text="a user, an owner or a team; empty: nobody"
    )


class Nothing(Shape):
    """An empty body."""


class Acceptance(Shape):
    """Why an incident is accepted and will not be repaired."""

    reason = serializers.CharField(max_length=10_000)


class Force(Acceptance):
    """Why an incident was a false positive, and how far that reaches."""

    scope = serializers.ChoiceField(WAIVER_SCOPES, default=WaiverScope.WINDOW.value)
    until = InstantField(required=False, help_text="of scope test: when later windows count again; by tier if left out")


class Incidents(NumberedRows):
    """Incidents, the newest first."""

    kind, nouns = "incident", ("incident with its windows and its timeline", "incidents")
    query, serializer_class = IncidentQuery, IncidentRow
    queryset = Incident.objects.select_related("dataset", "alert__cause__incident").order_by("-pk")

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        """Of a single incident the whole."""
        return IncidentRow if self.action == "list" else WholeIncident

    @extend_schema(request=Annotation)
    @action(detail=True, methods=["post"])
    def annotations(self, request: Request, pk: str) -> Response:
        """Annotate an incident: root cause, ETA, state of the backfill, a note."""
        return self.act(services.annotate, **self.read_body(Annotation))

    @extend_schema(request=Nothing)
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, pk: str) -> Response:
        """Acknowledge an incident: you work on it."""
        return self.act(services.acknowledge, **self.read_body(Nothing))

    @extend_schema(request=Assignment)
    @action(detail=True, methods=["post"])
    def assign(self, request: Request, pk: str) -> Response:
        """Assign an incident to somebody, who gets one notice.

        Whoever assigns an incident to themselves acknowledges it. The timeline says by which channels the notice goes,
        or that no address is known.
        """
        return self.act(services.assign, **self.read_body(Assignment))

    @extend_schema(request=Nothing)
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, pk: str) -> Response:
        """Run the tests of every bad window of an incident now."""
        return self.act(services.rerun, **self.read_body(Nothing))

    @extend_schema(request=Force)
    @action(detail=True, methods=["post"], url_path="force-resolve")
    def force_resolve(self, request: Request, pk: str) -> Response:
        """End an incident that was a false positive."""
        body = self.read_body(Force)
        return self.act(services.force_resolve, **{**body, "scope": WaiverScope(body["scope"])})

    @extend_schema(request=Acceptance)
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, pk: str) -> Response:
        """End an incident that is real and will not be repaired."""
        return self.act(services.accept, **self.read_body(Acceptance))

    def act(self, service: Any, **fields: Any) -> Response:
        """Carry out a service on the incident, and answer what it refuses."""
        reopened = "If it is bad again it has an open incident: GET /api/v1/incidents?dataset=…&open=true."
        with (
            refusing(services.UnableToResolve, mend="Look at the incident's timeline: GET it again.", code=409),
            refusing(services.HasEnded, mend=reopened, code=409),
            refusing(services.UnknownPerson, where="to"),
            refusing(services.WrongTime, where="eta"),
            refusing(services.WrongEnd, where="until"),
        ):
            return super().act(service, **fields)
