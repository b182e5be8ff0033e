"""Tokens as they are sent: under knox's own scheme, and as OpenLineage's clients send them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from knox.auth import TokenAuthentication as KnoxAuthentication
from rest_framework.request import Request

from assay.models import AccessToken

MARKED_EVERY = timedelta(minutes=1)


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc]
    """A token that has not ended, of a user who is still active; when it was used last is kept to a minute."""

    def authenticate_credentials(self, token: bytes) -> tuple[Any, AccessToken]:
        """The user and the token; what is no text is no token."""
        found: tuple[Any, AccessToken] = super().authenticate_credentials(token.decode(errors="replace").encode())
        mark_used(found[1])
        return found

    def _cleanup_token(self, auth_token: AccessToken) -> bool:
        """Whether it has ended: reading removes none, and looks at no other."""
        return auth_token.expiry is not None and auth_token.expiry < timezone.now()


class BearerAuthentication(TokenAuthentication):
    """The same tokens under the scheme that OpenLineage's clients send."""

    def authenticate_header(self, request: Request) -> str:
        """The scheme."""
        return "Bearer"


def mark_used(token: AccessToken) -> None:
    """Write down that a token was used, once a minute at most."""
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - MARKED_EVERY:
        AccessToken.objects.filter(pk=token.pk).update(last_used_at=now)
