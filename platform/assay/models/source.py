"""The sources of catalogs."""

from django.db import models

from .claimable import Claimable


class Source(Claimable):
    """A file or a folder that tells of datasets, lineage and tests, under a name of its own."""

    name = models.CharField(max_length=100, unique=True)
    place = models.CharField(max_length=1000, blank=True)  # where it was read last

    def __str__(self) -> str:
        return f"{self.name!r} ({self.place})" if self.place else repr(self.name)


class Pull(Claimable):
    """The one row of the scheduled read of a catalog: when it is read next, and what is wrong with it, if anything."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    due_at = models.DateTimeField(db_index=True)
    read_at = models.DateTimeField(null=True, blank=True)  # the last time that all was right
    failing_since = models.DateTimeField(null=True, blank=True)
    fault = models.TextField(blank=True)  # why the last read was refused; empty: it was not
    tell_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: on-call knows
    told_since = models.DateTimeField(null=True, blank=True)  # the failing of which on-call was told

    def __str__(self) -> str:
        return f"read of the catalog due at {self.due_at:%Y-%m-%d %H:%M}"
