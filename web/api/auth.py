"""Get a token for a name and a password, and give it back."""

from drf_spectacular.utils import extend_schema
from knox.models import AuthToken
from rest_framework import serializers
from rest_framework.authentication import BasicAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from web.api.base import Api


class TokenAnswer(serializers.Serializer[object]):
    """A token and its end."""

    token = serializers.CharField()
    expiry = serializers.DateTimeField()


class Login(Api):
    """POST with HTTP basic authentication."""

    authentication_classes = [BasicAuthentication]

    @extend_schema(request=None, responses=TokenAnswer)
    def post(self, request: Request) -> Response:
        """A new token."""
        row, token = AuthToken.objects.create(request.user)
        return Response(TokenAnswer({"token": token, "expiry": row.expiry}).data)


class Logout(Api):
    """End the token that is sent."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """Nothing: the token is gone."""
        if isinstance(request.auth, AuthToken):
            request.auth.delete()
        return Response(status=204)
