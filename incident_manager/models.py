"""Incidents and their spoilt windows, timeline, users' reports and look-ups."""

from django.db import models

from alerting.models import WAIVER_KINDS, Alert
from alerting.state import WaiverKind, WaiverScope
from assay.models import Category, Claimable, Dataset, DataTest, Severity
from assay.time.windows import partition_name
from execution_engine.models import Windowed

from .publication_state import PublicationState


class EntryKind(models.TextChoices):
    """Who found it."""

    DETECTED = "detected"
    REPORTED = "reported"


class Resolution(models.TextChoices):
    """How an incident, or one spoilt window, ended."""

    AUTO = "auto"  # the test held
    FORCED = "forced"  # a false positive
    ACCEPTED = "accepted"  # real, will not be repaired
    REDEFINED = "redefined"  # holds only by a new revision
    WITHDRAWN = "withdrawn"  # the test, the window or the claim is gone
    FIXED = "fixed"  # of a report
    REJECTED = "rejected"  # of a report

    @property
    def word(self) -> str:
        """The word that people read for it."""
        return "false positive" if self is Resolution.FORCED else self.value


class Incident(models.Model):
    """What is wrong with one dataset in one category, from the first FAIL until nothing is spoilt."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="incidents")
    category = models.CharField(max_length=20, choices=Category.choices)
    kind = models.CharField(max_length=10, choices=EntryKind.choices, default=EntryKind.DETECTED)
    open_key = models.CharField(max_length=190, unique=True, null=True)
    is_past = models.BooleanField(default=False)  # only back-fills of the past have found it: it counts in no score
    alert = models.OneToOneField(Alert, models.SET_NULL, null=True, blank=True, related_name="incident")
    tier = models.PositiveSmallIntegerField()  # tier, owner and team as they were at detection
    owner = models.CharField(max_length=200)
    team = models.CharField(max_length=200, blank=True)
    detected_at = models.DateTimeField(db_index=True)
    resolved_at = models.DateTimeField(null=True, blank=True, db_index=True)
    resolution = models.CharField(max_length=10, blank=True, choices=Resolution.choices)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True)
    assigned_to = models.CharField(max_length=200, blank=True)  # who is to work on it; does, once acknowledged
    root_cause = models.TextField(blank=True)
    eta = models.DateTimeField(null=True, blank=True)
    backfill = models.CharField(max_length=200, blank=True)  # state of the repair, in the owner's words

    class Meta:
        indexes = [
            models.Index(fields=("dataset", "category", "resolved_at")),
            models.Index(fields=("dataset", "resolved_at")),  # what is open, or was lately, of a page of datasets
        ]

    def __str__(self) -> str:
        return f"incident {self.pk}: {self.category} of {self.dataset_id}"

    def all_reports(self) -> "models.QuerySet[Report]":
        """The report that opened it, and those that joined it."""
        return Report.objects.filter(models.Q(incident=self) | models.Q(joined=self)).distinct().order_by("pk")


class Episode(models.Model):
    """One time an incident was open; a re-opened incident has several."""

    incident = models.ForeignKey(Incident, models.CASCADE, related_name="episodes")
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=("closed_at", "opened_at", "incident"))]  # of all that a range is asked for

    def __str__(self) -> str:
        return f"episode of incident {self.incident_id}"


class Ending(Claimable):
    """A user's word that ends an incident, and the windows that it was given for, which are ended piece by piece."""

    incident = models.ForeignKey(Incident, models.CASCADE, related_name="endings")
    kind = models.CharField(max_length=10, choices=WAIVER_KINDS)
    scope = models.CharField(max_length=10, choices=[(scope.value, scope.value) for scope in WaiverScope])
    until = models.DateTimeField(null=True, blank=True)  # later windows are ignored till then; null: by tier
    reason = models.TextField()
    author = models.CharField(max_length=200)
    said_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)

    def __str__(self) -> str:
        return f"incident {self.incident_id} {self.kind} by {self.author}"

    @property
    def how(self) -> Resolution:
        """How its windows end."""
        return Resolution.FORCED if self.kind == WaiverKind.FORCED else Resolution.ACCEPTED

    def left(self) -> "models.QuerySet[SpoiltWindow]":
        """The windows that are not ended yet."""
        return self.windows.filter(healed_at__isnull=True)


class SpoiltWindow(Windowed):
    """Data that must not be used: one test's window in one datacenter (or in all), until it is healed."""

    incident = models.ForeignKey(Incident, models.CASCADE, related_name="spoilt_windows")
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="spoilt_windows")
    data_test = models.ForeignKey(DataTest, models.CASCADE, null=True, blank=True, related_name="spoilt_windows")
    datacenter = models.CharField(max_length=60, blank=True)  # empty: all
    severity = models.CharField(max_length=4, choices=Severity.choices)
    whole_table = models.BooleanField(default=False)
    partitions = models.JSONField(default=list)  # [[start, end], …] of the worst, when a whole-table test knows them
    spoilt_at = models.DateTimeField()
    healed_at = models.DateTimeField(null=True, blank=True, db_index=True)
    how = models.CharField(max_length=10, blank=True, choices=Resolution.choices)
    ending = models.ForeignKey(Ending, models.SET_NULL, null=True, blank=True, related_name="windows")

    class Meta:
        indexes = [models.Index(fields=("dataset", "healed_at", "window_start"))]

    def __str__(self) -> str:
        return f"{self.dataset_id} {self.window.text} spoilt"


class Entry(models.Model):
    """One line of an incident's timeline."""

    incident = models.ForeignKey(Incident, models.CASCADE, related_name="timeline")
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)  # a user, or "assay"
    event = models.CharField(max_length=30)
    text = models.TextField(blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.event}"


class ReportState(models.TextChoices):
    """Where a user's claim stands."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    FIXED = "fixed"
    WITHDRAWN = "withdrawn"
    JOINED = "joined"  # wholly covered by incidents that a test or another report opened


CONFIRMED = (ReportState.CONFIRMED, ReportState.FIXED)  # the data was bad


class Saw(models.TextChoices):
    """What a reporter saw, in the words of who reads data."""

    LATE = "late"
    ROWS_MISSING = "rows missing"
    ROWS_TWICE = "rows twice"
    COPIES_DIFFER = "copies differ"
    VALUES_WRONG = "values wrong"
    SOMETHING_ELSE = "something else"

    @property
    def category(self) -> Category:
        """The category whose tests should have seen it too."""
        return SEEN_BY[self]


SEEN_BY = {
    Saw.LATE: Category.FRESHNESS,
    Saw.ROWS_MISSING: Category.COMPLETENESS,
    Saw.ROWS_TWICE: Category.DUPLICATES,
    Saw.COPIES_DIFFER: Category.CONSISTENCY,
    Saw.VALUES_WRONG: Category.CUSTOM,
    Saw.SOMETHING_ELSE: Category.CUSTOM,
}


class Report(Windowed, Claimable):
    """A user's claim that the data of a window is bad."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="reports")
    datacenter = models.CharField(max_length=60, blank=True)
    reporter = models.CharField(max_length=200)
    description = models.TextField()
    saw = models.CharField(max_length=20, choices=Saw.choices, default=Saw.SOMETHING_ELSE)
    state = models.CharField(max_length=10, choices=ReportState.choices, default=ReportState.OPEN)
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=200, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    joined = models.ManyToManyField(Incident, related_name="joined_reports", blank=True)  # the known part
    incident = models.OneToOneField(
        Incident, models.SET_NULL, null=True, blank=True, related_name="report"
    )  # the uncovered part
    offered = models.ForeignKey(DataTest, models.SET_NULL, null=True, blank=True, related_name="+")  # the missing test
    next_step_at = models.DateTimeField(null=True, blank=True, db_index=True)

    def __str__(self) -> str:
        return f"report {self.pk} on {self.dataset_id} {self.window.text}"


class LookUp(Windowed):
    """One range of one dataset that a consumer asked about; it stays as it was answered."""

    query = models.UUIDField(db_index=True)  # the look-ups of one question share it
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="look_ups")
    datacenter = models.CharField(max_length=60, blank=True)
    at = models.DateTimeField(db_index=True)
    failed = models.BooleanField()
    incidents = models.JSONField(default=list)  # ids of those whose spoilt windows it overlapped

    def __str__(self) -> str:
        return f"look-up of {self.dataset_id} {self.window.text}"


class GateOverride(Windowed):
    """A user's word that pipelines may read a window although the gate would block; it ends by itself."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="gate_overrides")
    pipeline = models.CharField(max_length=200, blank=True)  # empty: all
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    author = models.CharField(max_length=200)
    reason = models.TextField()

    class Meta:
        indexes = [models.Index(fields=("dataset", "ends_at"))]

    def __str__(self) -> str:
        return f"override of {self.dataset_id} {self.window.text}"

    @property
    def description(self) -> str:
        """Who may read what until when, and why."""
        who = f"pipeline {self.pipeline}" if self.pipeline else "every pipeline"
        what = partition_name(self.window, self.dataset.partitioning)
        return f"{who} may read {what} until {self.ends_at:%Y-%m-%d %H:%M} UTC: {self.reason}"


class Publication(Windowed):
    """A pointer that was, or is to be, moved to the audited data of a window; the row is written before it moves."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="publications")
    datacenter = models.CharField(max_length=60)
    partition = models.CharField(max_length=100)
    pointer = models.CharField(max_length=500)  # as it was named: manifest:…, signal:… or sql:…
    open_key = models.CharField(max_length=64, unique=True, null=True)  # one at a time for each pointer and window
    state = models.CharField(max_length=10, choices=[(state.value, state.value) for state in PublicationState])
    fingerprint = models.CharField(max_length=64)  # of the data that was audited
    document = models.JSONField()  # what readers see: files, tests, verdict, checksum
    author = models.CharField(max_length=200)
    audited_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    why_not = models.TextField(blank=True)  # of one that was undone

    class Meta:
        indexes = [models.Index(fields=("dataset", "state", "window_start"))]

    def __str__(self) -> str:
        return f"publication of {self.dataset_id} {self.partition}: {self.state}"
