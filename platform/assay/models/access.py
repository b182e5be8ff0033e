"""Who people and services are here, and the tokens they send."""

from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from knox.models import AbstractAuthToken, AuthTokenManager

from assay.access import Role, TokenScope

from .catalog import Dataset


class Member(models.Model):
    """What one user is, follows and wishes; who has no row is a viewer, and a superuser is always an admin."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="member")
    role = models.CharField(
        max_length=10, choices=[(role.value, role.value) for role in Role], default=Role.VIEWER.value
    )
    teams = models.JSONField(default=list)  # names, as datasets name theirs
    followed_datasets = models.ManyToManyField(Dataset, related_name="followers")
    hears_at_once = models.BooleanField(default=False)  # of incidents of what they follow; else by the digest

    def __str__(self) -> str:
        return f"{self.user_id}: {self.role}"


class AccessTokens(AuthTokenManager):  # type: ignore[misc]
    """Tokens with all that a request asks about them, in one statement."""

    def get_queryset(self) -> models.QuerySet[Any]:
        """The rows, each with its user and the user's role."""
        rows: models.QuerySet[Any] = super().get_queryset()
        return rows.select_related("user__member")


def every_scope() -> list[str]:
    """What the token of a login may be used for."""
    return [scope.value for scope in TokenScope]


class AccessToken(AbstractAuthToken):  # type: ignore[misc]
    """A token: only its hash is kept. ``scopes`` narrow what its user's role allows."""

    name = models.CharField(max_length=100, default="login")
    scopes = models.JSONField(default=every_scope)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to a minute

    objects = AccessTokens()

    def __str__(self) -> str:
        return f"{self.name} ({self.token_key})"


# What was changed, by whom.


# Triggers keep its table from anything but new rows, whoever writes to it: on SQLite and on MariaDB or MySQL.

REFUSAL = "the audit is only ever added to"
FORBIDDEN = ("update", "delete")


def forbid_changes(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """From now on rows of ``table`` can only be added. Whoever remakes the table must do this again."""
    permit_changes(editor, table)  # so that it may be done twice
    is_sqlite = editor.connection.vendor == "sqlite"
    body = "BEGIN SELECT RAISE(ABORT, '{}'); END" if is_sqlite else "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{}'"
    refuse = body.format(REFUSAL)
    for what in FORBIDDEN:
        editor.execute(f"CREATE TRIGGER {table}_no_{what} BEFORE {what} ON {table} FOR EACH ROW {refuse}")
    if is_sqlite:  # whose REPLACE removes a row without telling the trigger of removals
        there = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)"
        editor.execute(f"CREATE TRIGGER {table}_no_insert BEFORE INSERT ON {table} FOR EACH ROW {there} {refuse}")


def permit_changes(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """Undo ``forbid_changes``."""
    for what in (*FORBIDDEN, "insert"):
        editor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{what}")


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
    """One change, written in its transaction. Triggers keep the table from anything but new rows."""

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
