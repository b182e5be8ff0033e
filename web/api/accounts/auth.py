"""Get a token for a name and a password, and give it back."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BasicAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from assay.accounts import make_token, revoke_token
from assay.models import AccessToken
from assay.models.access import every_scope
from web.access.changes import origin_of
from web.api.conventions.base import Api


class TokenAnswer(serializers.Serializer[object]):
    """A new token, and when it ends."""

    token = serializers.CharField()
    expiry = serializers.DateTimeField()


class Login(Api):
    """POST name and password for a token."""

    authentication_classes = [BasicAuthentication]

    @extend_schema(request=None, responses=TokenAnswer)
    def post(self, request: Request) -> Response:
        """Get a token for a name and a password.

        Name and password are sent as HTTP basic authentication, without a token. The token may do all that its user
        may, for ten hours.
        """
        assert request.user.is_authenticated
        row, token = make_token(request.user, name="login", scopes=every_scope(), life=None, origin=origin_of(request))
        return Response(TokenAnswer({"token": token, "expiry": row.expiry}).data)


class Logout(Api):
    """Requests with the token are refused from now on."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """End the token that the request is sent with."""
        if isinstance(request.auth, AccessToken):
            revoke_token(request.auth, origin=origin_of(request), action="token.logout")
        return Response(status=204)
