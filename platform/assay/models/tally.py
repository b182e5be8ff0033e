"""Counters of what has ended, which outlive the rows that they have counted."""

from django.db import models


class Tallied(models.TextChoices):
    """What is counted, and what its label tells."""

    RUNS = "runs"  # by outcome
    NOTICES = "notices"  # by what became of them
    SUPPRESSED = "suppressed"  # notices, by why nobody was told
    SCANS = "scans"  # by datacenter: those that ended well
    SCANS_FAILED = "scans_failed"  # by datacenter
    SCAN_SECONDS = "scan_seconds"  # by datacenter
    VALUES = "values"  # of scans, by what read them: footers or kernels
    VALUES_LEFT = "values_left"  # to Spark, by what kept the kernels from them
    PRUNED = "pruned"  # by table: rows that had had their time


class Tally(models.Model):
    """A part of one counter: the sum over its slots is the count. Amounts only ever grow."""

    kind = models.CharField(max_length=20, choices=Tallied.choices)
    label = models.CharField(max_length=60)
    slot = models.PositiveSmallIntegerField()  # so that those who count at once seldom wait for each other
    amount = models.FloatField(default=0.0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("kind", "label", "slot"), name="one_tally_per_slot")]

    def __str__(self) -> str:
        return f"{self.kind} {self.label}: {self.amount:g}"
