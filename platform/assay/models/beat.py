"""The schedulers' signs of life."""

from django.db import models


class Beat(models.Model):
    """When the scheduler of one host has swept last, in the database's real time."""

    host = models.CharField(max_length=190, unique=True)
    pid = models.PositiveIntegerField()
    swept_at = models.DateTimeField(db_index=True)
    interval = models.DurationField()  # between two of its sweeps

    def __str__(self) -> str:
        return f"scheduler {self.pid} on {self.host}, swept at {self.swept_at:%Y-%m-%d %H:%M:%S}"
