"""The one row of the digests: when teams are told of their week next."""

from django.db import models

from .claimable import Claimable


class DigestRound(Claimable):
    """While it exists, the stage *digest* looks once a day which teams' day it is."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"digests due at {self.due_at:%Y-%m-%d %H:%M}"
