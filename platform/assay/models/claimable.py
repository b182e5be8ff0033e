"""Rows that are queues: the lease, epoch and attempts that every claimable row carries."""

from django.db import models


class Claimable(models.Model):
    """A row that a stage claims. What is pending, and when it is due, the stage itself says (``assay.queue.flow``)."""

    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    epoch = models.PositiveIntegerField(default=0, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True
