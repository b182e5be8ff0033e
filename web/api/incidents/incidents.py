"""Incidents: what is bad, and what users do about it."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.models import Notice
from alerting.services import silences_of
from alerting.state import Delivery
from alerting.waivers.rules import WaiverScope
from assay import clock
from assay.models import Category
from execution_engine.runs.shown_results import Veil
from incident_manager import services
from incident_manager.models import Ending, Entry, EntryKind, Incident, Report, SpoiltWindow
from web.api.conventions.base import Rows
from web.api.conventions.fields import DatasetField, InstantField, Row, Shape, WindowField
from web.api.conventions.problems import Wrong, conflict
from web.shown.headline import shown_timeline

from .silences import SilenceRow

MOST_NOTICES = 200
MOST_WINDOWS = 200
LONGEST_NAME = 128  # as of owners in catalogs
WAIVER_SCOPES = [scope.value for scope in WaiverScope]


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

    class Meta:
        model = Incident
        fields = (
            "id", "dataset", "category", "kind", "tier", "owner", "team", "detected_at", "resolved_at", "resolution",
            "acknowledged_at", "acknowledged_by", "assigned_to", "root_cause", "eta", "backfill", "cause",
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


class WholeIncident(IncidentRow):
    """An incident with its windows, its timeline and the users who reported it."""

    spoilt_windows = serializers.SerializerMethodField(
        help_text="the newest 200 bad windows; the unhealed ones come first"
    )
    more_windows = serializers.SerializerMethodField(help_text="how many windows are not listed")
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
            "spoilt_windows",
            "more_windows",
            "ending",
            "timeline",
            "reports",
            "silences",
            "notices",
        )  # type: ignore[assignment]

    @extend_schema_field(NoticeRow(many=True))
    def get_notices(self, row: Incident) -> Any:
        """Who was told, and who was not."""
        newest = Notice.objects.filter(alert=row.alert_id).order_by("-pk")[:MOST_NOTICES] if row.alert_id else ()
        return NoticeRow(reversed(newest), many=True).data

    @extend_schema_field(SpoiltWindowRow(many=True))
    def get_spoilt_windows(self, row: Incident) -> Any:
        """As many as a reader goes through."""
        windows = row.spoilt_windows.select_related("data_test").order_by("healed_at", "-window_start")
        return SpoiltWindowRow(windows[:MOST_WINDOWS], many=True).data

    def get_more_windows(self, row: Incident) -> int:
        """The others."""
        return max(0, row.spoilt_windows.count() - MOST_WINDOWS)

    @extend_schema_field(EndingRow(allow_null=True))
    def get_ending(self, row: Incident) -> Any:
        """The one under way; an incident has one at a time."""
        under_way = row.endings.filter(ended_at__isnull=True).first()
        return EndingRow(under_way).data if under_way else None

    @extend_schema_field(EntryRow(many=True))
    def get_timeline(self, row: Incident) -> Any:
        """The entries, without values that must not be shown any more."""
        return EntryRow(shown_timeline(row, Veil(clock.now())), many=True).data

    @extend_schema_field(SilenceRow(many=True))
    def get_silences(self, row: Incident) -> Any:
        """The silences, the oldest first."""
        return SilenceRow(silences_of(row.alert) if row.alert else (), many=True).data


class IncidentQuery(Shape):
    """Filters of the incidents."""

    dataset = DatasetField(required=False)
    category = serializers.ChoiceField(Category.choices, required=False)
    kind = serializers.ChoiceField(EntryKind.choices, required=False)
    tier = serializers.IntegerField(required=False, min_value=0, max_value=5)
    owner = serializers.CharField(required=False, max_length=200)
    assigned_to = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=LONGEST_NAME,
        help_text="who is to work on the incident; empty: nobody",
    )
    open = serializers.BooleanField(required=False, allow_null=True, default=None)


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


class Incidents(Rows):
    """Incidents, the newest first."""

    kind = "incident"
    serializer_class = IncidentRow
    queryset = Incident.objects.select_related("dataset", "alert__cause__incident").order_by("-pk")
    lookup_value_regex = r"\d+"

    @extend_schema(parameters=[IncidentQuery])
    def list(self, request: Request) -> Response:
        """List the incidents that match the filters."""
        wanted = self.asked(IncidentQuery)
        is_open = wanted.pop("open")
        if is_open is not None:
            wanted["resolved_at__isnull"] = is_open
        return self.page_of(self.get_queryset().filter(**wanted))

    @extend_schema(responses=WholeIncident)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one incident with its windows and its timeline."""
        return Response(WholeIncident(self.get_object()).data)

    @extend_schema(request=Annotation, responses=WholeIncident)
    @action(detail=True, methods=["post"])
    def annotations(self, request: Request, pk: str) -> Response:
        """Annotate an incident: root cause, ETA, state of the backfill, a note."""
        return self._act(services.annotate, **self.given(Annotation))

    @extend_schema(request=Nothing, responses=WholeIncident)
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, pk: str) -> Response:
        """Acknowledge an incident: you work on it."""
        return self._act(services.acknowledge, **self.given(Nothing))

    @extend_schema(request=Assignment, responses=WholeIncident)
    @action(detail=True, methods=["post"])
    def assign(self, request: Request, pk: str) -> Response:
        """Assign an incident to somebody, who gets one notice.

        Whoever assigns an incident to themselves acknowledges it. The timeline says by which channels the notice goes,
        or that no address is known.
        """
        return self._act(services.assign, **self.given(Assignment))

    @extend_schema(request=Nothing, responses=WholeIncident)
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, pk: str) -> Response:
        """Run the tests of every bad window of an incident now."""
        return self._act(services.rerun, **self.given(Nothing))

    @extend_schema(request=Force, responses=WholeIncident)
    @action(detail=True, methods=["post"], url_path="force-resolve")
    def force_resolve(self, request: Request, pk: str) -> Response:
        """End an incident that was a false positive."""
        given = self.given(Force)
        return self._act(services.force_resolve, **{**given, "scope": WaiverScope(given["scope"])})

    @extend_schema(request=Acceptance, responses=WholeIncident)
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, pk: str) -> Response:
        """End an incident that is real and will not be repaired."""
        return self._act(services.accept, **self.given(Acceptance))

    def _act(self, service: Callable[..., object], **given: Any) -> Response:
        incident = self.get_object()
        try:
            with self.changing(str(self.action), incident.pk, given):
                service(incident, **given, author=self.author, now=clock.now())
        except services.WrongEnd as wrong:
            raise Wrong(str(wrong), where="until") from None
        except services.WrongTime as wrong:
            raise Wrong(str(wrong), where="eta") from None
        except services.UnknownPerson as unknown:
            raise Wrong(str(unknown), where="to") from None
        except services.HasEnded as ended:
            mend = "If it is bad again it has an open incident: GET /api/v1/incidents?dataset=…&open=true."
            raise conflict(str(ended), mend=mend) from None
        except services.UnableToResolve as unable:
            raise conflict(str(unable), mend="Look at the incident's timeline: GET it again.") from None
        return Response(WholeIncident(self.get_object()).data)
