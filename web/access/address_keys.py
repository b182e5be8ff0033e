"""Keys in addresses, for programs that can send no header: a browser that shows a badge, a calendar.

A key is the public id of a token under our signature: it opens feeds alone, with what the token may, and ends with it.
"""

from typing import Any

from django.core import signing
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from assay.models import AccessToken

from .authentication import mark_used

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
