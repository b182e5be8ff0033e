"""What could not be generated, and when its owner hears of it again."""

from django.db import models

from assay.models import Category, Claimable, Dataset


class Gap(Claimable):
    """A standard test that a dataset lacks, with the reason; reported weekly to the owner until it is closed."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="gaps")
    category = models.CharField(max_length=20, choices=Category.choices)
    reason = models.CharField(max_length=500)
    mendable = models.BooleanField(default=True)  # metadata would mend it: it counts against coverage and is reported
    since = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    next_report_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null once closed

    def __str__(self) -> str:
        return f"{self.dataset_id} lacks {self.category}: {self.reason}"
