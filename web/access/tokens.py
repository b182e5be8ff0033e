"""Tokens as they are sent: in a header under knox's scheme or OpenLineage's, or as a key in the address."""

from datetime import timedelta
from functools import lru_cache
from hmac import compare_digest
from typing import Any

from django.core import signing
from django.db import connection
from django.utils import timezone
from knox.auth import TokenAuthentication as KnoxAuthentication
from knox.crypto import hash_token
from knox.settings import CONSTANTS
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from assay.database.statements import PreparedRows
from assay.models import AccessToken

MARKED_EVERY = timedelta(minutes=1)


class TokenAuthentication(KnoxAuthentication):  # type: ignore[misc]
    """A token that has not ended, of a user who is still active; when it was used last is kept to a minute."""

    def authenticate_credentials(self, token: bytes) -> tuple[Any, AccessToken]:
        """The user and the token; what is no text is no token."""
        text = token.decode(errors="replace")
        for row in _tokens(connection.vendor).rows(text[: CONSTANTS.TOKEN_KEY_LENGTH]):
            if not self._cleanup_token(row) and compare_digest(hash_token(text), row.digest):
                pair: tuple[Any, AccessToken] = self.validate_user(row)
                mark_used(row)
                return pair
        raise AuthenticationFailed("Invalid token.")

    def _cleanup_token(self, auth_token: AccessToken) -> bool:
        """Whether it has ended: reading removes none, and looks at no other."""
        return auth_token.expiry is not None and auth_token.expiry < timezone.now()


@lru_cache
def _tokens(vendor: str) -> PreparedRows[AccessToken]:
    """Tokens by their public part, with their users and what these are here: each request asks for one."""
    return PreparedRows(AccessToken.objects.filter(token_key="key"), "key", related=("user", "user__member"))


class BearerAuthentication(TokenAuthentication):
    """The same tokens under the scheme that OpenLineage's clients send."""

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def mark_used(token: AccessToken) -> None:
    """Write down that a token was used, once a minute at most."""
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - MARKED_EVERY:
        AccessToken.objects.filter(pk=token.pk).update(last_used_at=now)


# Keys in addresses, for programs that can send no header: a browser that shows a badge, a calendar.
#
# A key is the public id of a token under our signature: it opens feeds alone, with what the token may, and ends with
# it.

PARAMETER = "key"


def address_key(token: AccessToken) -> str:
    """The key of a token."""
    return _signer().sign(token.token_key)


class KeyInAddress(BaseAuthentication):
    """Whoever's token a key in the address is of; nobody where there is none."""

    def authenticate(self, request: Request) -> tuple[Any, AccessToken] | None:
        """The user and the token; raises AuthenticationFailed."""
        if not (key := request.query_params.get(PARAMETER, "")):
            return None
        try:
            id_ = _signer().unsign(key)
        except signing.BadSignature:
            raise AuthenticationFailed("The key in the address is not valid.") from None
        token = AccessToken.objects.filter(token_key=id_).first()
        if token is None or token.expiry < timezone.now() or not token.user.is_active:
            raise AuthenticationFailed("The token of the key in the address has ended.")
        mark_used(token)
        return token.user, token


def _signer() -> signing.Signer:
    return signing.Signer(salt=__name__)
