"""The one row of the retention: when rows that have had their time are removed next, and how far that has come."""

from django.db import models

from .claimable import Claimable


class Pruning(Claimable):
    """While it exists, the stage *prune* goes through all tables once a day."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    due_at = models.DateTimeField(db_index=True)
    table = models.CharField(max_length=20, blank=True)  # that the pass under way has come to; empty: none is
    cursors = models.JSONField(default=dict)  # the ids up to which tables were gone through, by name
    removed = models.JSONField(default=dict)  # rows by table, of the pass under way or the last one
    ended_at = models.DateTimeField(null=True, blank=True)  # of the last whole pass

    def __str__(self) -> str:
        return f"pruning due at {self.due_at:%Y-%m-%d %H:%M}"
