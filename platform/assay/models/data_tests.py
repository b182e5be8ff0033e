"""Data tests and their revisions."""

from django.db import models

from .catalog import Dataset
from .operation import Claimable


class Category(models.TextChoices):
    """What a test is about: seed 004's, the schema, and what is watched without a rule."""

    FRESHNESS = "freshness"
    COMPLETENESS = "completeness"
    DUPLICATES = "duplicates"
    CONSISTENCY = "consistency"
    SCHEMA = "schema"
    COLUMN = "column"
    ANOMALY = "anomaly"
    NOVELTY = "novelty"
    METRIC = "metric"
    CUSTOM = "custom"


class Origin(models.TextChoices):
    """Who wrote a test."""

    GENERATED = "generated"
    USER = "user"


class Severity(models.TextChoices):
    """Whether a broken test blocks pipelines or only tells."""

    HARD = "hard"
    SOFT = "soft"


class CatchUp(models.TextChoices):
    """Which of the slots that an outage swallowed are run after it."""

    LATEST = "latest"
    ALL = "all"  # the newest of them, up to a bound
    NONE = "none"


class Scope(models.TextChoices):
    """Whether a test judges one partition at a time or the whole table."""

    PARTITION = "partition"
    TABLE = "table"


class DataTest(Claimable):
    """One test of one dataset. What it asserts is in its newest revision."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="data_tests")
    name = models.CharField(max_length=300)
    category = models.CharField(max_length=20, choices=Category.choices)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.PARTITION)
    datacenter = models.CharField(max_length=60)  # where it runs
    spoils = models.CharField(max_length=60, blank=True)  # where what it finds missing is spoilt; empty: its own
    created_at = models.DateTimeField()
    source = models.CharField(max_length=100, blank=True, db_index=True)  # where it is written; empty: page or API
    template = models.CharField(max_length=128, blank=True, default="", db_index=True)  # that makes it; empty: none
    missing_since = models.DateTimeField(null=True, blank=True)  # gone from its source, or no longer made
    retired_at = models.DateTimeField(null=True, blank=True)
    revision = models.ForeignKey("assay.Revision", models.SET_NULL, null=True, related_name="+")  # the newest
    next_due_at = models.DateTimeField(null=True, blank=True)  # of the window below
    next_window_start = models.DateTimeField(null=True, blank=True)
    next_window_end = models.DateTimeField(null=True, blank=True)
    judges_from = models.DateTimeField(null=True, blank=True)  # partitions that begin earlier are never judged
    skipped_slots = models.PositiveIntegerField(default=0)  # that were due and never run, by the catch-up policy

    class Meta:
        constraints = [models.UniqueConstraint(fields=("dataset", "name"), name="one_name_per_dataset")]
        indexes = [
            models.Index(fields=("next_due_at", "dataset")),  # of what is due, in the order of the claims
            models.Index(fields=("origin", "name")),  # of what a search looks through
        ]

    def __str__(self) -> str:
        return f"{self.dataset.full_name}/{self.name}"

    @property
    def spoilt_datacenter(self) -> str:
        """Where data is spoilt when the test breaks."""
        return self.spoils or self.datacenter


class Revision(Claimable):
    """What a test asserted from ``created_at`` on; never changed once written."""

    data_test = models.ForeignKey(DataTest, models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    assertion = models.TextField()
    tree = models.JSONField()  # execution_engine.language.serialise
    severity = models.CharField(max_length=4, choices=Severity.choices)
    schedule = models.CharField(max_length=120)  # "partition", "weekly", or a cron line in the dataset's zone
    sustain = models.DurationField()
    catch_up = models.CharField(max_length=6, choices=CatchUp.choices, default=CatchUp.LATEST)
    declared = models.CharField(max_length=32, blank=True, default="")  # a print of the columns that it holds data to
    keep_rows = models.JSONField(default=dict, blank=True)  # assay.catalog.profile.RowsTarget; empty: nowhere
    created_at = models.DateTimeField()
    author = models.CharField(max_length=200, blank=True)
    rejudged_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: standings must be judged anew

    class Meta:
        constraints = [models.UniqueConstraint(fields=("data_test", "number"), name="one_number_per_test")]

    def __str__(self) -> str:
        return f"{self.data_test_id} r{self.number}"
