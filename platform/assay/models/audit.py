"""What was changed, by whom."""

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models


class UnableToRewrite(TypeError):
    """The audit is only ever added to."""


class AuditEntries(models.QuerySet["AuditEntry"]):
    """Entries, which can be read and added to."""

    def update(self, **kwargs: Any) -> int:
        """Never."""
        raise UnableToRewrite("Entries of the audit cannot be changed: add one that says what is right.")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Never."""
        raise UnableToRewrite("Entries of the audit cannot be removed.")


class AuditEntry(models.Model):
    """One change, written in its transaction. Triggers keep the table from anything but new rows (migration 0006)."""

    at = models.DateTimeField(db_index=True)  # the database's real time, also in a replay
    actor = models.CharField(max_length=200)
    via = models.CharField(max_length=60)  # session, password, command, or token and its id
    action = models.CharField(max_length=60)
    object_kind = models.CharField(max_length=30)
    object_id = models.CharField(max_length=250)
    before = models.JSONField(null=True, encoder=DjangoJSONEncoder)  # what is another after it; null: there was none
    after = models.JSONField(null=True, encoder=DjangoJSONEncoder)  # null: there is none any more
    given = models.JSONField(default=dict, encoder=DjangoJSONEncoder)  # what the change was asked with
    ip = models.CharField(max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    objects = AuditEntries.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=("object_kind", "object_id", "at"), name="audit_by_object"),
            models.Index(fields=("actor", "at"), name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_kind} {self.object_id}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the entry; one that is there cannot be saved again."""
        if not self._state.adding:
            raise UnableToRewrite("Entries of the audit cannot be changed: add one that says what is right.")
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Never."""
        raise UnableToRewrite("Entries of the audit cannot be removed.")
