"""Templates of rules, what could not be generated, and what a dataset's past suggests: offered, taken or rejected."""

from django.db import models

from assay.models import Category, Claimable, Dataset, DataTest


class RuleTemplate(models.Model):
    """A rule that makes tests of many datasets, as its source tells it; ``DataTest.template`` is its name."""

    name = models.CharField(max_length=128, unique=True)
    source = models.CharField(max_length=100, db_index=True)
    said = models.JSONField()  # assay.catalog.profile.TemplateProfile
    author = models.CharField(max_length=200, blank=True)  # who wrote it by page or API; empty: its source
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Gap(Claimable):
    """A test that a dataset lacks, with the reason; standard ones are reported weekly to the owner until closed."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="gaps")
    category = models.CharField(max_length=20, choices=Category.choices)
    template = models.CharField(max_length=128, blank=True, default="")  # that cannot make a test; empty: standard
    reason = models.CharField(max_length=500)
    mendable = models.BooleanField(default=True)  # metadata would mend it: it counts against coverage and is reported
    since = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    next_report_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null once closed

    def __str__(self) -> str:
        return f"{self.dataset_id} lacks {self.category}: {self.reason}"


class PastReading(Claimable):
    """A dataset's past, to be read for suggestions because somebody asked; one row a dataset, the newest."""

    dataset = models.OneToOneField(Dataset, models.CASCADE, related_name="past_reading")
    datacenter = models.CharField(max_length=60)  # where its files are read
    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=200, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: it waits, or is under way
    windows = models.PositiveIntegerField(default=0)  # that were read
    first_window = models.CharField(max_length=120, blank=True)  # the key of the oldest of them
    last_window = models.CharField(max_length=120, blank=True)
    problem = models.CharField(max_length=500, blank=True)  # why nothing came of it

    def __str__(self) -> str:
        return f"the past of {self.dataset_id}"


class OfferState(models.TextChoices):
    """What became of a suggestion."""

    OFFERED = "offered"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Offer(models.Model):
    """A suggestion that is kept for people; those that nobody has decided of are replaced by the next reading."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="offers")
    rule = models.CharField(max_length=60)
    columns = models.JSONField(default=list)  # names, none where it is about rows
    assertion = models.TextField()
    why = models.TextField()
    cost = models.CharField(max_length=60)
    fitted = models.PositiveIntegerField()  # windows
    held = models.PositiveIntegerField()  # of the windows that tried it
    tried = models.PositiveIntegerField()
    offered_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=OfferState.choices, default=OfferState.OFFERED)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=1000, blank=True)  # why it was rejected
    data_test = models.ForeignKey(DataTest, models.SET_NULL, null=True, blank=True, related_name="offers")

    class Meta:
        indexes = [models.Index(fields=("dataset", "state"))]

    def __str__(self) -> str:
        return f"{self.dataset_id}: {self.assertion}"
