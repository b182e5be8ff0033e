"""Runs, the measurements they ask for, the scans that take these, and the watch over what data looks like."""

from datetime import datetime, timedelta
from typing import Any

from django.db import models

from assay.models import Claimable, Dataset, DataTest, Revision
from assay.time.windows import Window
from execution_engine.metrics.spec import MetricSpec

from .exact import Number, from_json
from .outcome import Outcome

LATE_AFTER = timedelta(minutes=15)
MAX_ATTEMPTS = 3  # of a run or scan whose worker dies
WHOLE_TABLE = "whole_table"  # in the JSON of what is measured: the rows that lie in no partition belong to it


def late_at(*, due_at: datetime, requested_at: datetime) -> datetime:
    """When a run that has given nothing is missed; one made up for after an outage is not late from the start."""
    return max(due_at, requested_at) + LATE_AFTER


class Windowed(models.Model):
    """A row about one window, ``[window_start, window_end)`` in UTC."""

    window_start = models.DateTimeField()
    window_end = models.DateTimeField()

    class Meta:
        abstract = True

    @property
    def window(self) -> Window:
        """The window as a value."""
        return Window(start=self.window_start, end=self.window_end)


class RunReason(models.TextChoices):
    """Why a run was made."""

    SCHEDULE = "schedule"
    TRIGGER = "trigger"
    CHECK = "check"
    MANUAL = "manual"
    REVISION = "revision"
    BACKTEST = "backtest"
    BACKFILL = "backfill"  # of a range of partitions, each by itself: what it finds is of the past


class Run(Windowed, Claimable):
    """One revision of a data test over one window. It has exactly one terminal outcome."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="runs")
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="runs")
    reason = models.CharField(max_length=10, choices=RunReason.choices)
    slot = models.CharField(max_length=190, unique=True)  # what makes this run once: reason and occasion
    turn = models.PositiveSmallIntegerField(default=5)  # execution_engine.planning.schedules.turn
    requested_at = models.DateTimeField()
    due_at = models.DateTimeField()  # when it may be planned
    accept_from = models.DateTimeField(null=True, blank=True)  # measurements before this instant are too old
    as_of = models.JSONField(default=dict)  # the snapshot of each DATASET@DATACENTER, or an instant of "*"; empty: now
    late_at = models.DateTimeField(null=True, blank=True)  # a scheduled one is missed if silent by then
    planned_at = models.DateTimeField(null=True, blank=True)
    ready_at = models.DateTimeField(null=True, blank=True)  # all its measurements are in
    evaluated_at = models.DateTimeField(null=True, blank=True, db_index=True)
    judged_at = models.DateTimeField(null=True, blank=True, db_index=True)
    outcome = models.CharField(max_length=6, blank=True, choices=[(o.value, o.value) for o in Outcome])
    error_reason = models.CharField(max_length=40, blank=True)  # execution_engine.outcome.Reason
    transient = models.BooleanField(default=False)
    sentence = models.TextField(blank=True)  # what people read of the outcome
    value = models.FloatField(null=True, blank=True)
    exact = models.CharField(max_length=100, blank=True)  # all digits of the value, where its float loses some
    excess = models.FloatField(null=True, blank=True)  # how far beyond the bound; comparable within a revision
    operands = models.JSONField(default=dict)
    findings = models.JSONField(default=dict)  # details worth telling: lost keys, worst partitions
    snapshots = models.JSONField(default=dict)  # of the tables with a log that it read, by DATASET@DATACENTER
    measured_at = models.DateTimeField(null=True, blank=True)  # of the latest of its measurements

    class Meta:
        indexes = [
            models.Index(fields=("data_test", "window_start", "measured_at")),
            # of what is pending, in the order of the claims: nothing is sorted, however many runs have ended
            models.Index(fields=("planned_at", "turn", "due_at")),
            models.Index(fields=("evaluated_at", "late_at")),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; a new scheduled run has its ``late_at``."""
        if self.pk is None and self.reason == RunReason.SCHEDULE:
            self.late_at = late_at(due_at=self.due_at, requested_at=self.requested_at)
        super().save(*args, **kwargs)

    def __str__(self) -> str:
        return f"run {self.pk} of test {self.data_test_id} over {self.window.text}: {self.outcome or 'pending'}"


class Scan(Windowed, Claimable):
    """All measurements of one (dataset, datacenter, window) wanted now, taken in as few passes as they allow."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="scans")
    datacenter = models.CharField(max_length=60)
    open_key = models.CharField(max_length=190, unique=True, null=True)  # one that has not begun per place and window
    turn = models.PositiveSmallIntegerField(default=5)  # execution_engine.planning.schedules.turn
    owner = models.CharField(max_length=200, blank=True)
    engine = models.CharField(max_length=60, blank=True)  # what is busy with it: execution_engine.storage.engine_name
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)  # who has begun it last; empty: no worker of the service
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)
    spark_jobs = models.PositiveIntegerField(default=0)
    read_by = models.JSONField(default=dict)  # execution_engine.read_by; empty: nothing was noted
    taken = models.PositiveIntegerField(default=0)  # measurements taken from the data
    reused = models.PositiveIntegerField(default=0)  # measurements found still true
    seconds = models.FloatField(default=0.0)
    error = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)  # of its window's data when it was read

    class Meta:
        indexes = [
            models.Index(fields=("ended_at", "datacenter", "turn")),  # of what is pending, in the order of the claims
            models.Index(fields=("datacenter", "lease_until")),  # of what runs: one that has ended has no lease
        ]

    def __str__(self) -> str:
        return f"scan {self.pk} of {self.dataset_id}@{self.datacenter} {self.window.text}"


class Measurement(Windowed):
    """One metric of one dataset in one datacenter over one window; wanted until ``measured_at`` is set."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="measurements")
    datacenter = models.CharField(max_length=60)
    spec = models.JSONField()
    spec_hash = models.CharField(max_length=32)
    spec_text = models.TextField()
    requested_at = models.DateTimeField()
    accept_from = models.DateTimeField(null=True, blank=True)
    as_of = models.CharField(max_length=60, blank=True)  # the snapshot or the instant to read; empty: as it is now
    inputs = models.ManyToManyField("self", symmetrical=False, related_name="users", blank=True)
    scan = models.ForeignKey(Scan, models.SET_NULL, null=True, blank=True, related_name="measurements")
    measured_at = models.DateTimeField(null=True, blank=True, db_index=True)
    value = models.FloatField(null=True, blank=True)
    exact = models.CharField(max_length=100, blank=True)  # all digits of the value, where its float loses some
    state = models.BinaryField(null=True, blank=True)
    state_path = models.CharField(max_length=300, blank=True, db_index=True)  # in the state store, when above 64 kB
    state_length = models.PositiveBigIntegerField(default=0)
    state_checksum = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict)
    failure_reason = models.CharField(max_length=40, blank=True)
    failure_detail = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    snapshot = models.CharField(max_length=60, blank=True)  # of a table with a log, as people call it

    class Meta:
        indexes = [models.Index(fields=("dataset", "datacenter", "window_start", "spec_hash", "measured_at"))]

    def __str__(self) -> str:
        return f"{self.spec_text} of {self.dataset_id}@{self.datacenter} {self.window.text} = {self.value}"

    @property
    def metric(self) -> MetricSpec:
        """What is measured."""
        return MetricSpec.from_json(self.spec)

    @property
    def is_of_whole_table(self) -> bool:
        """Whether the rows that lie in no partition belong to it, beside those of its window."""
        return bool(self.spec.get(WHOLE_TABLE))

    @property
    def number(self) -> Number | None:
        """The value with every digit."""
        return from_json(self.exact or self.value)


class Suspect(Windowed):
    """A metric whose measurement over a window ended abnormally; gone once it gives a value there."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="suspects")
    datacenter = models.CharField(max_length=60)
    spec_hash = models.CharField(max_length=32)
    spec_text = models.TextField()
    ends = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=40)  # of the last end
    detail = models.TextField(blank=True)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    quarantined_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("dataset", "datacenter", "spec_hash", "window_start", "window_end"), name="one_suspect_each"
            )
        ]

    def __str__(self) -> str:
        state = "quarantined" if self.quarantined_at else "suspect"
        return f"{self.spec_text} of {self.dataset_id}@{self.datacenter} {self.window.text}: {state}, {self.ends} ends"


class PartState(models.Model):
    """The state of one metric over one partition, or over the union of several: what longer windows are merged of."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="part_states")
    datacenter = models.CharField(max_length=60)
    spec_hash = models.CharField(max_length=32)
    key = models.CharField(max_length=100, blank=True)  # of the partition; empty: of a union
    fingerprint = models.CharField(max_length=64)
    prints = models.JSONField(default=dict)  # of a union: the fingerprints of its partitions, by key
    kept_at = models.DateTimeField()
    state = models.BinaryField(null=True, blank=True)
    state_path = models.CharField(max_length=300, blank=True, db_index=True)  # in the state store, when above 64 kB
    state_length = models.PositiveBigIntegerField(default=0)
    state_checksum = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("dataset", "datacenter", "spec_hash", "key", "fingerprint"), name="one_state_each"
            )
        ]

    def __str__(self) -> str:
        return f"state {self.spec_hash} of {self.dataset_id}@{self.datacenter} {self.key or 'union'}"


class Ask(models.Model):
    """A run asks for a measurement, as the value of one operand of its assertion."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="asks")
    measurement = models.ForeignKey(Measurement, models.CASCADE, related_name="asks")
    operand = models.TextField()

    def __str__(self) -> str:
        return f"run {self.run_id}: {self.operand}"


class Watch(Windowed, Claimable):
    """When to look next at the fingerprint of a window's data in one datacenter, without reading it."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="watches")
    datacenter = models.CharField(max_length=60)
    fingerprint = models.CharField(max_length=64, blank=True)
    closely = models.BooleanField(default=False)  # WARN, FAIL or UNKNOWN: every five minutes
    seen_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)  # when its newest file came, as far as is known
    next_look_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("dataset", "datacenter", "window_start", "window_end"), name="one_watch_per_window"
            )
        ]
        indexes = [models.Index(fields=("datacenter", "next_look_at"))]

    def __str__(self) -> str:
        return f"watch {self.dataset_id}@{self.datacenter} {self.window.text}"


class BlastRadius(models.Model):
    """What stands on a dataset, and what it stands on, through any number of steps; none for one without edges."""

    dataset = models.OneToOneField(Dataset, models.CASCADE, related_name="blast_radius")
    downstreams = models.PositiveIntegerField(db_index=True)
    by_tier = models.JSONField()  # how many of them are of each tier, from 0 on
    roots = models.PositiveIntegerField()  # datasets without an upstream that it stands on
    depth = models.PositiveIntegerField()  # the most steps from a root

    def __str__(self) -> str:
        return f"{self.downstreams} on {self.dataset_id}"

    @property
    def important(self) -> int:
        """How many of the downstreams are of tier 0 or 1."""
        return sum(self.by_tier[:2])


class Heartbeat(Claimable):
    """The commits of a dataset at home: how far they are read, when to look next, and what its two vital signs are.

    A sign that cannot be judged has a note that says why.
    """

    dataset = models.OneToOneField(Dataset, models.CASCADE, related_name="heartbeat")
    datacenter = models.CharField(max_length=60)
    place = models.CharField(max_length=32, blank=True)  # whose commits these are: of another place they begin anew
    mark = models.TextField(blank=True)  # execution_engine.engines.protocol.CommitLog
    fault = models.TextField(blank=True)  # why its commits cannot be read; empty: they can
    next_look_at = models.DateTimeField(null=True, blank=True, db_index=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    last_commit_at = models.DateTimeField(null=True, blank=True)
    expected_at = models.DateTimeField(null=True, blank=True)
    late_at = models.DateTimeField(null=True, blank=True, db_index=True)  # from then on its silence is unusual
    arrival_note = models.CharField(max_length=200, blank=True)
    volume = models.JSONField(default=dict)  # execution_engine.vitals.volume.Volume, where there is one
    is_unusual = models.BooleanField(default=False, db_index=True)  # whether its volume is
    volume_note = models.CharField(max_length=200, blank=True)
    folders = models.JSONField(default=dict)  # of a table without partitions: how they would cut it, see heartbeats
    obsolete_since = models.DateTimeField(null=True, blank=True, db_index=True)  # execution_engine.obsolete

    class Meta:
        indexes = [models.Index(fields=("datacenter", "next_look_at"))]

    def __str__(self) -> str:
        return f"heartbeat of {self.dataset_id}@{self.datacenter}"


class TableCommit(models.Model):
    """One commit of a dataset at home, as its storage tells of it (``execution_engine.vitals.commits.Commit``)."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="commits")
    at = models.DateTimeField()
    rows_added = models.BigIntegerField(null=True, blank=True)
    rows_removed = models.BigIntegerField(null=True, blank=True)
    files_added = models.BigIntegerField(null=True, blank=True)
    files_removed = models.BigIntegerField(null=True, blank=True)
    bytes_added = models.BigIntegerField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=("dataset", "at"))]

    def __str__(self) -> str:
        return f"commit of {self.dataset_id} at {self.at:%Y-%m-%d %H:%M}"


class Exclusion(Windowed):
    """A window whose measurements enter no history: ``holder`` found it spoilt, and has not taken that back."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="exclusions")
    datacenter = models.CharField(max_length=60, blank=True)  # empty: in every datacenter
    holder = models.CharField(max_length=60)
    data_test = models.ForeignKey(DataTest, models.CASCADE, null=True, related_name="+")  # that found it spoilt

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("dataset", "datacenter", "window_start", "window_end", "holder"), name="one_exclusion_each"
            )
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id}@{self.datacenter or '*'} {self.window.text} excluded by {self.holder}"


class AcceptedPast(models.Model):
    """What one test of novelty compares batches with: those that were accepted, so that none is read again."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="accepted_pasts")
    operand = models.CharField(max_length=32)  # the hash of the profile that it compares
    batches = models.JSONField(default=list)  # start, measurement, what became of it: the oldest first
    kept_at = models.DateTimeField()
    state = models.BinaryField(null=True, blank=True)
    state_path = models.CharField(max_length=300, blank=True, db_index=True)  # in the state store, when above 64 kB
    state_length = models.PositiveBigIntegerField(default=0)
    state_checksum = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("data_test", "operand"), name="one_past_each")]

    def __str__(self) -> str:
        return f"past of test {self.data_test_id}: {len(self.batches)} batches"


class Release(Windowed):
    """A window that a test found novel, and that a user said is right: others like it are no news; or is wrong."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="releases")
    until = models.DateTimeField(null=True, blank=True)  # from then on it is news again
    is_wrong = models.BooleanField(default=False)  # the user said that the data is bad: it never joins a past

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("data_test", "window_start", "window_end"), name="one_release_each")
        ]

    def __str__(self) -> str:
        return f"{self.window.text} is right for test {self.data_test_id}"


class RowsExport(Windowed, Claimable):
    """The rows that broke a test on one window, in a store; due when they are to be written or removed."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="rows_exports")
    datacenter = models.CharField(max_length=60)
    place = models.CharField(max_length=30)  # what the folder of the window is called
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")  # whose rows must be there
    requested_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    written_at = models.DateTimeField(null=True, blank=True)  # null: the rows of the run are not there yet
    folder = models.TextField(blank=True)  # path or URL
    rows = models.PositiveIntegerField(default=0)
    is_cut = models.BooleanField(default=False)  # there are more than the test keeps
    note = models.TextField(blank=True)  # why there are none, or not all
    sample = models.JSONField(default=list)  # a few of them, without sensitive columns

    class Meta:
        constraints = [models.UniqueConstraint(fields=("data_test", "place"), name="one_rows_export_per_window")]

    def __str__(self) -> str:
        return f"rows of test {self.data_test_id} on {self.place}: {self.rows or self.note or 'pending'}"
