"""Who people and services are here, and the tokens they send."""

from typing import Any

from django.conf import settings
from django.db import models
from knox.models import AbstractAuthToken, AuthTokenManager

from assay.access.roles import Role, TokenScope


class Member(models.Model):
    """The role and the teams of one user; who has no row is a viewer, and a superuser is always an admin."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="member")
    role = models.CharField(
        max_length=10, choices=[(role.value, role.value) for role in Role], default=Role.VIEWER.value
    )
    teams = models.JSONField(default=list)  # names, as datasets name theirs

    def __str__(self) -> str:
        return f"{self.user_id}: {self.role}"


class AccessTokens(AuthTokenManager):  # type: ignore[misc]
    """Tokens with all that a request asks about them, in one statement."""

    def get_queryset(self) -> models.QuerySet[Any]:
        """The rows, each with its user and the user's role."""
        found: models.QuerySet[Any] = super().get_queryset()
        return found.select_related("user__member")


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
