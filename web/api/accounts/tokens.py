"""Tokens with a name, a life and as few scopes as needed: made and revoked by whom they are for; admins see all."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BasicAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from assay.access import Action, TokenScope
from assay.accounts import make_token, revoke_token
from assay.config import config
from assay.models import AccessToken
from web.access.changes import origin_of
from web.access.tokens import address_key
from web.access.who import may
from web.api.conventions.base import Api, Rows
from web.api.conventions.fields import Shape
from web.api.conventions.problems import Wrong


class TokenRow(serializers.Serializer[Any]):
    """A token, without what would let others use it."""

    id = serializers.CharField(source="token_key")
    user = serializers.CharField(source="user.username")
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    created = serializers.DateTimeField()
    expiry = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


class MadeToken(TokenRow):
    """A new token, which no other answer shows."""

    token = serializers.CharField()
    address_key = serializers.CharField(help_text="for addresses of badges and calendars: ?key=…; ends with the token")


class TokenQuery(Shape):
    """Whose tokens to list; an admin may name others."""

    user = serializers.CharField(required=False, max_length=150)


class NewToken(Shape):
    """A token to make: its name, its scopes and its life in days."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField([scope.value for scope in TokenScope]), min_length=1, max_length=len(TokenScope)
    )
    days = serializers.IntegerField(min_value=1, max_value=36_500)


class Tokens(Rows):
    """Tokens, the newest first. Making one takes the password or a session: a token makes no tokens."""

    dataset_path = ""
    serializer_class = TokenRow
    queryset = AccessToken.objects.order_by("-created", "pk")
    lookup_field = "token_key"
    lookup_url_kwarg = "id"
    lookup_value_regex = r"[0-9a-zA-Z]+"
    authentication_classes = [*Api.authentication_classes, BasicAuthentication]

    def get_queryset(self) -> QuerySet[Any]:
        """The tokens of whoever asks; for an admin those of everybody."""
        found: QuerySet[Any] = super().get_queryset()
        return found if may(self.request, Action.MANAGE) else found.filter(user=self.request.user)

    @extend_schema(parameters=[TokenQuery])
    def list(self, request: Request) -> Response:
        """List your tokens, the newest first; an admin sees those of everybody."""
        asked, rows = self.asked(TokenQuery), self.get_queryset()
        return self.page_of(rows.filter(user__username=asked["user"]) if "user" in asked else rows)

    @extend_schema(request=NewToken, responses={201: MadeToken})
    def create(self, request: Request) -> Response:
        """Make a token for yourself, with a name, a life and a few scopes.

        This takes the password or a session: a token makes no tokens. The answer alone shows the token.
        """
        given = self.given(NewToken)
        if given["days"] > config().token_days:
            raise Wrong(f"A token lives at most {config().token_days} days.", where="days")
        row, token = make_token(
            request.user,  # type: ignore[arg-type]
            name=given["name"],
            scopes=given["scopes"],
            life=timedelta(days=given["days"]),
            origin=origin_of(request),
        )
        row.token, row.address_key = token, address_key(row)
        return Response(MadeToken(row).data, status=201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Revoke a token: requests with it are refused from now on."""
        revoke_token(self.get_object(), origin=origin_of(request))
        return Response(status=204)
