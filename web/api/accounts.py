"""Who may ask: tokens, members, and the audit of what they changed."""

from collections import defaultdict
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BasicAuthentication
from rest_framework.mixins import RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response

from assay.access import Action, Role, TokenScope
from assay.accounts import make_token, member_as_json, revoke_token, set_member
from assay.config import config
from assay.models import AccessToken, AuditEntry, Dataset
from assay.models.access import every_scope
from web.access.changes import origin_of
from web.access.tokens import address_key
from web.access.who import hidden_datasets, may

from .base import Api, Rows
from .catalog import Datasets
from .data_tests import DataTests, Suggestions
from .fields import Fields, Filters, InstantField, Row, Shape
from .gate import GateOverrides, Publications
from .incidents import Incidents, Silences
from .problems import Wrong, conflict
from .reports import Reports
from .runs import Quarantines, Runs


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


class TokenQuery(Filters):
    """Whose tokens to list; an admin may name others."""

    user = serializers.CharField(required=False, max_length=150, source="user__username")


class NewToken(Shape):
    """A token to make: its name, its scopes and its life in days."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField([scope.value for scope in TokenScope]), min_length=1, max_length=len(TokenScope)
    )
    days = serializers.IntegerField(min_value=1, max_value=36_500)


class Tokens(Rows):
    """Tokens, the newest first. Making one takes the password or a session: a token makes no tokens."""

    nouns = "token", "tokens"
    dataset_path = ""
    query = TokenQuery
    serializer_class = TokenRow
    queryset = AccessToken.objects.order_by("-created", "pk")
    lookup_field = "token_key"
    lookup_url_kwarg = "id"
    lookup_value_regex = r"[0-9a-zA-Z]+"
    authentication_classes = [*Api.authentication_classes, BasicAuthentication]

    def get_queryset(self) -> QuerySet[Any]:
        """The tokens of whoever asks; for an admin those of everybody."""
        rows: QuerySet[Any] = super().get_queryset()
        return rows if may(self.request, Action.MANAGE) else rows.filter(user=self.request.user)

    @extend_schema(request=NewToken, responses={201: MadeToken})
    def create(self, request: Request) -> Response:
        """Make a token for yourself, with a name, a life and a few scopes.

        This takes the password or a session: a token makes no tokens. The answer alone shows the token.
        """
        body = self.read_body(NewToken)
        life = timedelta(days=body.pop("days"))
        if life.days > config().token_days:
            raise Wrong(f"A token lives at most {config().token_days} days.", where="days")
        row, token = make_token(request.user, **body, life=life, origin=origin_of(request))  # type: ignore[arg-type]
        row.token, row.address_key = token, address_key(row)
        return Response(MadeToken(row).data, status=201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Revoke a token: requests with it are refused from now on."""
        revoke_token(self.get_object(), origin=origin_of(request))
        return Response(status=204)


class MemberRow(serializers.Serializer[Any]):
    """A user with their role."""

    name = serializers.CharField()
    role = serializers.ChoiceField([role.value for role in Role])
    teams = serializers.ListField(child=serializers.CharField())
    active = serializers.BooleanField()
    superuser = serializers.BooleanField()

    def to_representation(self, instance: User) -> dict[str, Any]:
        return super().to_representation(member_as_json(instance))


class NewMember(Shape):
    """Changes to a member; fields that are left out stay as they are."""

    role = serializers.ChoiceField([role.value for role in Role], required=False)
    teams = serializers.ListField(child=serializers.CharField(max_length=200), required=False, max_length=100)
    active = serializers.BooleanField(required=False)


class Members(Rows, RetrieveModelMixin):
    """Members: people and services, by name."""

    nouns = "member", "members"
    dataset_path = ""
    serializer_class = MemberRow
    queryset = User.objects.select_related("member").order_by("username")
    lookup_field = "username"
    lookup_url_kwarg = "name"
    lookup_value_regex = "[^/]+"

    @extend_schema(request=NewMember)
    def update(self, request: Request, name: str) -> Response:
        """Give a user a role and teams, or shut them out."""
        body, user = self.read_body(NewMember), self.get_object()
        if user.is_superuser:
            raise conflict(f"{user} is a superuser, and so an admin.", mend="Change that where Assay runs.")
        role = Role(body["role"]) if "role" in body else None
        set_member(user, role=role, teams=body.get("teams"), is_active=body.get("active"), origin=origin_of(request))
        return self.show()


# what belongs to a dataset, and is known by its id
RESOURCES: tuple[type[Rows], ...] = (
    *(DataTests, Suggestions, GateOverrides, Publications),
    *(Incidents, Quarantines, Reports, Runs, Silences),
)
BY_KIND = {resource.kind: resource for resource in RESOURCES}


class AuditRow(Row):
    """An entry of the audit; ``before`` and ``after`` hold what the change altered, null where no row is."""

    kind = serializers.CharField(source="object_kind")
    key = serializers.CharField(source="object_id")

    class Meta:
        model = AuditEntry
        fields = ("id", "at", "actor", "via", "action", "kind", "key", "before", "after", "given", "ip", "request_id")


class AuditQuery(Filters):
    """Filters of the entries of the audit."""

    actor = serializers.CharField(required=False, max_length=200)
    action = serializers.CharField(required=False, max_length=60, help_text="such as incident.accept")
    kind = serializers.CharField(required=False, max_length=30, help_text="such as incident", source="object_kind")
    key = serializers.CharField(
        required=False, max_length=250, help_text="a number, or a dataset's name", source="object_id"
    )

    def get_fields(self) -> Fields:
        """The fields, with the two that are no names in Python."""
        sources = {"from": "at__gte", "to": "at__lt"}
        return super().get_fields() | {n: InstantField(required=False, source=path) for n, path in sources.items()}


class Audit(Rows):
    """Entries of the audit, the newest first.

    An entry of a dataset that you may not see says who did what and when, and not what was changed.
    """

    nouns = "entry of the audit", "entries of the audit"
    dataset_path = ""
    query = AuditQuery
    serializer_class = AuditRow
    queryset = AuditEntry.objects.order_by("-pk")

    def get_paginated_response(self, data: Any) -> Response:
        """One page, without the content of entries on datasets that whoever asks may not see.

        Of a row that is gone nobody can tell whose it was: its entries are without content too.
        """
        if not (hidden := hidden_datasets(self.request)):
            return super().get_paginated_response(data)
        names = [name.casefold() for name in Dataset.objects.filter(pk__in=hidden).values_list("full_name", flat=True)]
        keys = defaultdict[str, set[str]](set)
        for entry in data:
            keys[entry["kind"]].add(entry["key"])
        visible: dict[str, set[str]] = {}
        for kind in keys.keys() & BY_KIND.keys():
            resource = BY_KIND[kind]
            assert resource.queryset is not None
            rows = resource.queryset.all().filter(pk__in=[key for key in keys[kind] if key.isdecimal()])
            rows = rows.exclude(**{f"{resource.dataset_path}__in": hidden})
            visible[kind] = {str(pk) for pk in rows.values_list("pk", flat=True)}
        for entry in data:
            kind, key = entry["kind"], entry["key"]
            if kind in visible:
                is_hidden = key not in visible[kind]
            elif kind == Datasets.kind:
                is_hidden = key.casefold() in names
            else:  # backtests and pipelines have no rows of their own: what was given names the datasets
                is_hidden = any(name in str(entry["given"]).casefold() for name in names)
            if is_hidden:
                entry |= {"before": None, "after": None, "given": {}}
        return super().get_paginated_response(data)
